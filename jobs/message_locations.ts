import { timeOf } from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { givenLayout } from '../src/dataset/declaration/record.ts';
import {
  account_messages,
  account_transactions,
  message_locations,
} from '../src/tables/ton/account-transactions.ts';
import { nodeTransaction, nodeTransactionRows } from '../src/records/transaction.ts';

const locations = givenLayout(message_locations);

export default defineCollection({
  title: 'The receiving transactions of messages whose own is not stored',
  limitations:
    'messages from outside the chain, which cannot be looked up without a sender, and messages that have not arrived yet',
  onRequest: true,
  tables: { message_locations, account_transactions, account_messages },
  walks: [
    lookup({
      method: 'tryLocateTx',
      shape: 'one',
      record: nodeTransaction,
      id: ['account', 'transaction_id.lt'],
      rows: (record, extra, put, { key }) => {
        const { account, transaction_id, utime } = record;
        const { lt, hash: tx_hash } = transaction_id;
        put(locations, null, { hash: key, account, lt, tx_hash, utime: timeOf(utime) });
        nodeTransactionRows(record, extra, put);
      },
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
