import { accountStateFull } from '../src/records/schemas/account-state-full.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { account_state_changes, account_states } from '../src/db/schema/account-states.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { stateRows } from '../src/records/rows/account-state-full.ts';

export default defineCollection({
  title: 'Balance, status, code and last transaction of accounts, with every state that a look-up has found',
  blind: 'states between two look-ups; accounts that neither the watch list nor an indexed transaction names',
  tables: { account_states, account_state_changes },
  walks: [
    lookup({
      endpoint: { path: '/api/v3/accountStates' },
      params: ({ bocs }) => ({ include_boc: bocs }),
      shape: { member: 'accounts' },
      paginator: batches({ param: 'address' }),
      record: accountStateFull,
      id: ['address'],
      rows: (record, extra, { at }) => ({ ...stateRows(record, extra, at) }),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      // Watched accounts move without any indexed row that tells of it.
      refresh: 300,
      subjects: {
        watched: true,
        onlyIfSeen: true,
        seenIn: [{ relation: 'ton.transactions', key: 'account', lt: 'lt', time: 'utime' }],
      },
    }),
  ],
});
