import { text } from 'drizzle-orm/pg-core';
import { address, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { etl } from '../schemas.ts';

export const watch = etl.table('watch', {
  address: address().primaryKey(),
  note: text().notNull().default(''),
  added_at: moment().notNull().defaultNow(),
});

describe(watch, {
  comment: 'Accounts to be read by name, for the datasets that read one account or pool at a time.',
  key: ['address'],
  conflict: { kind: 'keep' },
  partitioned: false,
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
  key: ['address'],
  conflict: { kind: 'replace' },
  partitioned: false,
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
