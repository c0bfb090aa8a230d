import { jettonBurn } from '../src/records/schemas/jetton-burn.ts';
import { transferPosition } from '../src/records/schemas/transfer-position.ts';
import { jetton_burns } from '../src/db/schema/jetton-burns.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { jettonBurnRow } from '../src/records/rows/jetton-burn.ts';

/** The message with which an owner tells its jetton wallet to burn (TEP-74). */
const JETTON_BURN = '0x595f07bc';

export default defineJob({
  title: 'Jettons that their owners destroyed',
  path: '/api/v3/jetton/burns',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'jetton_burns',
  // Servers sort by time alone: burns of one second come in any order.
  paginator: forward({ order: 'partial' }),
  record: jettonBurn,
  position: transferPosition,
  tables: { jetton_burns },
  rows: (record, extra) => ({ jetton_burns: [jettonBurnRow(record, extra)] }),
  // No checksum: an hour later a reading of another replica has to agree.
  maturity: 3600,
  checks: {
    'cross-checks': {
      transaction: 'transaction_hash',
      made: { opcode: JETTON_BURN, account: 'jetton_wallet' },
    },
    'second-reading': true,
  },
  grade: CROSS_CHECKED,
});
