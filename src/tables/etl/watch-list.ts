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
  comment:
    'Accounts that somebody wants to be read by name: for the datasets that answer for one account or pool at a time.',
  key: ['address'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    address: 'Account that is watched, raw form (workchain:HEX), whatever form it was given in.',
    note: 'Why the account is watched, in the words of whoever added it; may be empty.',
    added_at: 'When the account was put on the watch list, on the clock of the database.',
  },
});
