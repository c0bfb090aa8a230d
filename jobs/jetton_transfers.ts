import * as z from 'zod';
import { optionalAddress, digits, freeForm, text } from '../src/records/members.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { CROSS_CHECKED, defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { jetton_transfers } from '../src/tables/ton/jettons-and-nfts.ts';
import { transferMembers, transferPosition } from '../src/records/tokens.ts';

/**
 * One element of `jetton_transfers` of GET /api/v3/jetton/transfers: a transfer that left its sender's jetton
 * wallet. Servers omit those of aborted transactions. Payloads are bags of cells in base64; `decoded_…` is
 * the output of the server's decoder.
 */
export const jettonTransfer = z.strictObject({
  ...transferMembers,
  source: optionalAddress,
  destination: optionalAddress,
  amount: digits,
  source_wallet: optionalAddress,
  jetton_master: optionalAddress,
  forward_ton_amount: digits,
  forward_payload: text,
  decoded_forward_payload: freeForm,
});

/** The message with which an owner tells its jetton wallet to send (TEP-74). */
const JETTON_TRANSFER = '0x0f8a7ea5';

export default defineJob({
  title: 'Transfers of jettons (fungible tokens)',
  core: true,
  path: '/api/v3/jetton/transfers',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'jetton_transfers',
  index: { columns: 'jetton_transfers (tx_now, tx_lt)', of: 'utime' },
  // Servers sort by time alone: transfers of one second come in any order.
  paginator: forward({ order: 'partial' }),
  record: jettonTransfer,
  position: transferPosition,
  tables: { jetton_transfers },
  rows: oneRow(jetton_transfers, jettonTransfer),
  // There is no checksum: an hour later, a reading from another replica has to agree.
  maturitySeconds: 3600,
  checks: {
    'cross-checks': {
      transaction: 'transaction_hash',
      made: { opcode: JETTON_TRANSFER, account: 'source_wallet' },
    },
    'second-reading': true,
  },
  grade: CROSS_CHECKED,
});
