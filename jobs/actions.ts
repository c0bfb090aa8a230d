import { CROSS_CHECKED } from '../src/dataset/grade.ts';
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
    // With transactions the server fills only the first few of a page and does not say so.
    include_transactions: false,
    x_no_address_book: true,
    x_no_metadata: true,
  },
  list: 'actions',
  // There is none on trace_end_utime: by seconds alone each page would look through and sort the whole table.
  index: { columns: 'actions (trace_end_lt)', of: 'lt' },
  // The order is total, but the set is not: rows that vanish between two pages would shift an offset.
  // What the logical times leave is sorted by second, so a request asks for about a page.
  paginator: forward({ order: 'partial', narrow: 60 }),
  record: action,
  position: { utime: 'trace_end_utime', lt: 'trace_end_lt', id: ['trace_id', 'action_id'] },
  tables: { actions, action_accounts, action_transactions },
  rows: actionRows,
  // Actions are found by workers that begin a second after a trace has ended and may fall behind; a trace is done over,
  // its actions deleted and inserted anew, while its later messages arrive. An hour later both are over.
  replacesRows: true,
  maturitySeconds: 3600,
  checks: { actions: true, 'second-reading': true },
  grade: CROSS_CHECKED,
});
