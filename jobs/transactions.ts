import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { messages, transactions } from '../src/tables/ton/transactions.ts';
import { transaction, transactionRows } from '../src/records/transaction.ts';

export default defineJob({
  title: 'Transactions of all accounts with all their phases, and their messages',
  core: true,
  path: '/api/v3/transactions',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'transactions',
  index: { columns: 'transactions (now, lt)', of: 'utime' },
  paginator: forward({ order: 'total' }),
  record: transaction,
  position: { utime: 'now', lt: 'lt', id: ['hash'] },
  tables: { transactions, messages },
  rows: transactionRows,
  byBlock: { path: '/api/v3/transactionsByMasterchainBlock', param: 'seqno' },
  checks: { transactions: true, messages: true, 'state-chain': true },
  grade: {
    grade: 'proved',
    proves:
      'all transactions that a block counts are stored, with all their messages; accounts’ chains of states are unbroken; balances agree with values and fees',
    limitations:
      'changed values that no balance depends on: message bodies, opcodes, gas, phases of the description, trace_id',
  },
});
