import { integer, jsonb, primaryKey } from 'drizzle-orm/pg-core';
import { address, amount, loadedAt, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const top_accounts = ton.table(
  'top_accounts',
  {
    taken_at: moment().notNull(),
    rank: integer().notNull(),
    account: address().notNull(),
    balance: amount().notNull(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.taken_at, t.rank] })],
);

describe(top_accounts, {
  comment: 'The accounts with the greatest balances, a snapshot each time that it was asked for.',
  columns: {
    taken_at: 'When the snapshot was taken, wall time, UTC, written by the program.',
    rank: 'Place among the accounts, from 1; accounts of one balance come in any order. Counted, and written by the program.',
    account: 'Account with that balance, raw form. From account of topAccountsByBalance.',
    balance: 'Nanotons on the account at that moment. From balance of topAccountsByBalance.',
    extra:
      'Members of topAccountsByBalance that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'keep' },
});
