import { text, integer } from 'drizzle-orm/pg-core';
import { address, moment, describe, etl } from '../describe.ts';

export const ton_proxies = etl.table('ton_proxies', {
  address: address().primaryKey(),
  dex: text(),
  note: text(),
});

describe(ton_proxies, {
  comment:
    'Jetton masters that stand for TON, beside those that the program knows: rows that people add. The view ton_proxies has both.',
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
  columns: {
    address: 'Contract of the stable jetton, raw form (workchain:HEX) in upper case.',
    symbol: 'Ticker of the stable jetton, such as USDT.',
    decimals: 'Decimal places of amounts of the stable jetton.',
  },
});

export const watch = etl.table('watch', {
  address: address().primaryKey(),
  note: text().notNull().default(''),
  added_at: moment().notNull().defaultNow(),
});

describe(watch, {
  comment: 'Accounts to be read by name, for the datasets that read one account or pool at a time.',
  columns: {
    address: 'Account that is watched, raw form (workchain:HEX), whatever form it was given in.',
    note: 'Why the account is watched, in the words of the person who added it; may be empty.',
    added_at: 'When the account was put on the watch list, on the clock of the database.',
  },
});

export const labels = etl.table('labels', {
  address: address().primaryKey(),
  label: text().notNull(),
  category: text(),
  organization: text(),
  imported_from: text().notNull(),
  imported_at: moment().notNull().defaultNow(),
});

describe(labels, {
  comment: 'Names of accounts that a person has loaded: `labels import` fills it from CSV files.',
  columns: {
    address: 'Account that has the label, raw form (workchain:HEX), whatever form the file had.',
    label: 'What to call the account.',
    category:
      'What kind of account it is, in the words of the file, such as CEX; null if the file says none.',
    organization: 'Whose account it is, in the words of the file; null if the file says none.',
    imported_from: 'Name of the file that the label came from, without its folder.',
    imported_at: 'When the label was loaded, on the clock of the database.',
  },
});
