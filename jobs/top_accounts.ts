import { accountBalance } from '../src/records/schemas/account-balance.ts';
import { defineCollection, sample } from '../src/dataset/collection.ts';
import { top_accounts } from '../src/db/schema/top-accounts.ts';

export default defineCollection({
  title: 'The thousand accounts with the greatest balances, a snapshot each time',
  blind: 'balances between two snapshots, and accounts beyond the thousandth',
  onRequest: true,
  tables: { top_accounts },
  walks: [
    sample({
      endpoint: { path: '/api/v3/topAccountsByBalance' },
      params: { limit: 1000, offset: 0 },
      shape: 'array',
      every: 60,
      record: accountBalance,
      id: ['account'],
      rows: (record, extra, { at, rank }) => ({
        top_accounts: [
          { taken_at: at, rank: rank + 1, ...record, extra: Object.keys(extra).length > 0 ? extra : null },
        ],
      }),
    }),
  ],
});
