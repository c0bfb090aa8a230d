import { extTransaction } from '../src/records/schemas/v2.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import {
  account_messages,
  account_transactions,
  message_locations,
} from '../src/db/schema/account-transactions.ts';
import { oneByOne } from '../src/dataset/paginators/lookup.ts';
import { locationRow, toldRows } from '../src/records/rows/v2.ts';

export default defineCollection({
  title: 'Where messages were received whose receiving transaction is not stored, and that transaction',
  blind:
    'messages from outside the chain, which have no sender to ask by, and messages that are still under way',
  onRequest: true,
  tables: { message_locations, account_transactions, account_messages },
  walks: [
    lookup({
      endpoint: { method: 'tryLocateTx' },
      shape: 'one',
      paginator: oneByOne(),
      record: extTransaction,
      id: ['account', 'transaction_id.lt'],
      rows: (record, extra, { key }) => ({
        message_locations: [locationRow(record, key)],
        ...toldRows(record, extra),
      }),
      answers: { key: 'account' },
      subjects: {
        watched: false,
        ofRange: true,
        seenIn: [
          {
            relation: 'etl.unlocated_messages',
            key: 'hash',
            fields: ['source', 'destination', 'created_lt'],
            time: 'utime',
          },
        ],
      },
    }),
  ],
});
