import { jettonTransfer } from '../src/api/schemas/jetton-transfer.ts';
import { transferPosition } from '../src/api/schemas/transfer-position.ts';
import { jetton_transfers } from '../src/db/schema/jetton-transfers.ts';
import { defineJob } from '../src/job.ts';
import { forward } from '../src/paginators/forward.ts';
import { jettonTransferRow } from '../src/rows/jetton-transfer.ts';

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
});
