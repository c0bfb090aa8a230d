import { integer, text } from 'drizzle-orm/pg-core';
import { address, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { etl } from '../schemas.ts';

/** The migration that makes it fills it with what is known; whoever uses the database adds and deletes. */
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

export const labels = etl.table('labels', {
  address: address().primaryKey(),
  label: text().notNull(),
  category: text(),
  organization: text(),
  imported_from: text().notNull(),
  imported_at: moment().notNull().defaultNow(),
});

describe(labels, {
  comment: 'Names of accounts that a person has loaded: `labels import` fills it from files of CSV.',
  key: ['address'],
  conflict: { kind: 'replace' },
  partitioned: false,
  columns: {
    address: 'Account that has the label, raw form (workchain:HEX), whatever form the file had.',
    label: 'What to call the account.',
    category:
      'What kind of account it is, in the words of the file, such as CEX; null where the file says none.',
    organization: 'Whose account it is, in the words of the file; null where the file says none.',
    imported_from: 'Name of the file that the label came from, without its folder.',
    imported_at: 'When the label was loaded, on the clock of the database.',
  },
});
