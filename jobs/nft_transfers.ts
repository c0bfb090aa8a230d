import * as z from 'zod';
import { optionalAddress, digits, freeForm, text } from '../src/records/members.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { CROSS_CHECKED, defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { nft_transfers } from '../src/tables/ton/jettons-and-nfts.ts';
import { transferMembers, transferPosition } from '../src/records/tokens.ts';

/** One element of `nft_transfers` of GET /api/v3/nft/transfers, including those of aborted transactions. */
export const nftTransfer = z.strictObject({
  ...transferMembers,
  nft_address: optionalAddress,
  nft_collection: optionalAddress,
  old_owner: optionalAddress,
  new_owner: optionalAddress,
  forward_amount: digits,
  forward_payload: text,
  decoded_forward_payload: freeForm,
});

/** The message with which an owner tells its item to change hands (TEP-62). */
const NFT_TRANSFER = '0x5fcc3d14';

export default defineJob({
  title: 'Changes of owner of NFT items',
  path: '/api/v3/nft/transfers',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'nft_transfers',
  index: { columns: 'nft_transfers (tx_now, tx_lt)', of: 'utime' },
  // Servers sort by time alone: transfers of one second come in any order.
  paginator: forward({ order: 'partial' }),
  record: nftTransfer,
  position: transferPosition,
  tables: { nft_transfers },
  rows: oneRow(nft_transfers, nftTransfer),
  // There is no checksum: an hour later, a reading from another replica has to agree.
  maturitySeconds: 3600,
  checks: {
    'cross-checks': {
      transaction: 'transaction_hash',
      made: { opcode: NFT_TRANSFER, account: 'nft_address' },
    },
    'second-reading': true,
  },
  grade: CROSS_CHECKED,
});
