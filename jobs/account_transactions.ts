import { defineCollection, backward } from '../src/dataset/collection.ts';
import { account_messages, account_transactions } from '../src/tables/ton/account-transactions.ts';
import { nodeTransaction, nodeTransactionRows } from '../src/records/transaction.ts';

export default defineCollection({
  title:
    'Every transaction of watched accounts as nodes return it: raw data, parts of the fee, texts of messages',
  limitations: 'accounts that are not watched; transactions that not even archival nodes keep',
  tables: { account_transactions, account_messages },
  walks: [
    backward({
      method: 'getTransactions',
      // Other nodes keep two days.
      params: { archival: true },
      shape: 'array',
      position: { lt: 'transaction_id.lt', hash: 'transaction_id.hash' },
      record: nodeTransaction,
      id: ['account', 'transaction_id.lt'],
      rows: nodeTransactionRows,
    }),
  ],
});
