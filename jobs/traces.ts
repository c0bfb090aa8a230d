import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { action_accounts, action_transactions, actions } from '../src/tables/ton/actions.ts';
import { messages } from '../src/tables/ton/messages.ts';
import { trace_nodes, traces } from '../src/tables/ton/traces.ts';
import { transactions } from '../src/tables/ton/transactions.ts';
import { trace, traceRows } from '../src/records/trace.ts';

export default defineJob({
  title: 'Finished chains of messages as trees, with their transactions and messages',
  core: true,
  path: '/api/v3/traces',
  params: { include_actions: false, x_no_address_book: true, x_no_metadata: true },
  list: 'traces',
  index: { columns: 'traces (end_utime desc, trace_id desc)', of: 'utime' },
  // A trace contains about ten transactions. For more traces than this, a server takes longer than its own
  // limit of 3 s.
  paginator: forward({ order: 'total', maxSize: 200 }),
  record: trace,
  position: { utime: 'end_utime', lt: 'end_lt', id: ['trace_id'] },
  tables: { traces, trace_nodes, transactions, messages, actions, action_accounts, action_transactions },
  rows: traceRows,
  // The traces that ended in the block.
  byBlock: { path: '/api/v3/traces', param: 'mc_seqno' },
  alsoHolds: { dataset: 'transactions', countedBy: 'blocks' },
  checks: { traces: true },
  grade: {
    grade: 'proved',
    proves:
      'all transactions that a complete trace counts are stored; no finished trace of stored transactions is missing',
    limitations: 'changed values of a trace other than its number of transactions',
  },
});
