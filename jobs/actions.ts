import { CROSS_CHECKED } from '../src/dataset/checks.ts';
import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { action_accounts, action_transactions, actions } from '../src/tables/ton/actions.ts';
import { actionTypes } from '../src/records/action-types.ts';
import { action, actionRows } from '../src/records/action.ts';

export default defineJob({
  title: 'What people did: transfers, swaps, stakes, sales, with the accounts that took part',
  path: '/api/v3/actions',
  params: {
    supported_action_types: actionTypes,
    include_accounts: true,
    // With transactions, the server silently fills only the first few of a page.
    include_transactions: false,
    x_no_address_book: true,
    x_no_metadata: true,
  },
  list: 'actions',
  // There is no index on trace_end_utime: with seconds alone, each page would scan and sort the whole table.
  index: { columns: 'actions (trace_end_lt)', of: 'lt' },
  // The order is total, but the set is not: rows that vanish between two pages would shift an offset. The
  // server sorts all rows within the logical times by second, so a request spans about one page.
  paginator: forward({ order: 'partial', narrow: 60 }),
  record: action,
  position: { utime: 'trace_end_utime', lt: 'trace_end_lt', id: ['trace_id', 'action_id'] },
  tables: { actions, action_accounts, action_transactions },
  rows: actionRows,
  // Workers detect actions a second after a trace has ended, or later if they fall behind. While later
  // messages of a trace arrive, its actions are deleted and inserted again. An hour later both are over.
  replacesRows: true,
  maturitySeconds: 3600,
  checks: { actions: true, 'second-reading': true },
  grade: CROSS_CHECKED,
});
