import { integer, text } from 'drizzle-orm/pg-core';
import { address } from '../columns.ts';
import { describe } from '../describe.ts';
import { etl } from '../schemas.ts';

export const ton_proxies = etl.table('ton_proxies', {
  address: address().primaryKey(),
  dex: text(),
  note: text(),
});

describe(ton_proxies, {
  comment:
    'Jetton masters that stand for TON, beside those that the program knows: rows that people add. The view ton_proxies has both.',
  key: ['address'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    address: 'Master of a jetton that is to count as TON, raw form: insert it with ton_address(…).',
    dex: 'Exchange that uses the proxy; null if it does not matter.',
    note: 'Why the jetton counts as TON, in the words of the person who added it.',
  },
});

/** The migration that creates it fills it with known jettons. Users of the database add and delete rows. */
export const stableJettons = etl.table('stable_jettons', {
  address: address().primaryKey(),
  symbol: text().notNull(),
  decimals: integer().notNull(),
});

describe(stableJettons, {
  comment:
    'Jettons that count as a dollar: prices in USD come from trades against them. Add and delete rows as you see fit.',
  key: ['address'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    address: 'Contract of the stable jetton, raw form (workchain:HEX) in upper case.',
    symbol: 'Ticker of the stable jetton, such as USDT.',
    decimals: 'Decimal places of amounts of the stable jetton.',
  },
});
