import * as z from 'zod';
import { account, requiredDigits } from '../src/records/members.ts';
import { defineCollection, sample } from '../src/dataset/collection.ts';
import { rowLayoutOf } from '../src/dataset/declaration/record.ts';
import { top_accounts } from '../src/tables/ton/account-states.ts';

/** One element of the response of GET /api/v3/topAccountsByBalance. */
export const accountBalance = z.strictObject({ account, balance: requiredDigits });

const rowLayout = rowLayoutOf(top_accounts, accountBalance);

export default defineCollection({
  title: 'The thousand accounts with the greatest balances, a snapshot each time',
  limitations: 'balances between two snapshots, and accounts beyond the thousandth',
  onRequest: true,
  tables: { top_accounts },
  walks: [
    sample({
      path: '/api/v3/topAccountsByBalance',
      index: 'latest_account_states (balance desc)',
      params: { limit: 1000, offset: 0 },
      shape: 'array',
      everySeconds: 60,
      record: accountBalance,
      id: ['account'],
      rows: (record, extra, put, { at, rank }) =>
        put(rowLayout, record, { taken_at: at, rank: rank + 1 }, extra),
    }),
  ],
});
