import { jettonTransfer } from '../src/records/schemas/jetton-transfer.ts';
import { transferPosition } from '../src/records/schemas/transfer-position.ts';
import { jetton_transfers } from '../src/db/schema/jetton-transfers.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { jettonTransferRow } from '../src/records/rows/jetton-transfer.ts';

/** The message with which an owner tells its jetton wallet to send (TEP-74). */
const JETTON_TRANSFER = '0x0f8a7ea5';

export default defineJob({
  title: 'Transfers of jettons (fungible tokens)',
  core: true,
  path: '/api/v3/jetton/transfers',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'jetton_transfers',
  // Servers sort by time alone: transfers of one second come in any order.
  paginator: forward({ order: 'partial' }),
  record: jettonTransfer,
  position: transferPosition,
  tables: { jetton_transfers },
  rows: (record, extra) => ({ jetton_transfers: [jettonTransferRow(record, extra)] }),
  // No checksum: an hour later a reading of another replica has to agree.
  maturity: 3600,
  checks: {
    'cross-checks': {
      transaction: 'transaction_hash',
      made: { opcode: JETTON_TRANSFER, account: 'source_wallet' },
    },
    'second-reading': true,
  },
  grade: CROSS_CHECKED,
});
