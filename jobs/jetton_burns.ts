import * as z from 'zod';
import { optionalAddress, digits } from '../src/records/members.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { CROSS_CHECKED, defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { jetton_burns } from '../src/tables/ton/jettons-and-nfts.ts';
import { transferMembers, transferPosition } from '../src/records/tokens.ts';

/** One element of `jetton_burns` of GET /api/v3/jetton/burns, including those of aborted transactions. */
export const jettonBurn = z.strictObject({
  ...transferMembers,
  owner: optionalAddress,
  jetton_wallet: optionalAddress,
  jetton_master: optionalAddress,
  amount: digits,
});

/** The message with which an owner tells its jetton wallet to burn (TEP-74). */
const JETTON_BURN = '0x595f07bc';

export default defineJob({
  title: 'Jettons that their owners destroyed',
  path: '/api/v3/jetton/burns',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'jetton_burns',
  index: { columns: 'jetton_burns (tx_now, tx_lt)', of: 'utime' },
  // Servers sort by time alone: burns of one second come in any order.
  paginator: forward({ order: 'partial' }),
  record: jettonBurn,
  position: transferPosition,
  tables: { jetton_burns },
  rows: oneRow(jetton_burns, jettonBurn),
  // There is no checksum: an hour later, a reading from another replica has to agree.
  maturitySeconds: 3600,
  checks: {
    'cross-checks': {
      transaction: 'transaction_hash',
      made: { opcode: JETTON_BURN, account: 'jetton_wallet' },
    },
    'second-reading': true,
  },
  grade: CROSS_CHECKED,
});
