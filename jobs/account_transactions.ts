import { extTransaction } from '../src/records/schemas/v2.ts';
import { backward as history, defineCollection } from '../src/dataset/collection.ts';
import { account_messages, account_transactions } from '../src/db/schema/account-transactions.ts';
import { backward } from '../src/dataset/paginators/backward.ts';
import { toldRows } from '../src/records/rows/v2.ts';

export default defineCollection({
  title:
    'Every transaction of watched accounts as nodes tell it: raw data, parts of the fee, texts of messages',
  blind: 'accounts that nobody watches; transactions that not even archival nodes keep',
  tables: { account_transactions, account_messages },
  walks: [
    history({
      endpoint: { method: 'getTransactions' },
      // Other nodes keep two days.
      params: { archival: true },
      shape: 'array',
      paginator: backward(),
      place: { lt: 'transaction_id.lt', hash: 'transaction_id.hash' },
      record: extTransaction,
      id: ['account', 'transaction_id.lt'],
      rows: (record, extra) => ({ ...toldRows(record, extra) }),
    }),
  ],
});
