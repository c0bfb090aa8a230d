import { nftTransfer } from '../src/records/schemas/nft-transfer.ts';
import { transferPosition } from '../src/records/schemas/transfer-position.ts';
import { nft_transfers } from '../src/db/schema/nft-transfers.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { nftTransferRow } from '../src/records/rows/nft-transfer.ts';

/** The message with which an owner tells its item to change hands (TEP-62). */
const NFT_TRANSFER = '0x5fcc3d14';

export default defineJob({
  title: 'Changes of owner of NFT items',
  path: '/api/v3/nft/transfers',
  params: { x_no_address_book: true, x_no_metadata: true },
  list: 'nft_transfers',
  // Servers sort by time alone: transfers of one second come in any order.
  paginator: forward({ order: 'partial' }),
  record: nftTransfer,
  position: transferPosition,
  tables: { nft_transfers },
  rows: (record, extra) => ({ nft_transfers: [nftTransferRow(record, extra)] }),
  // No checksum: an hour later a reading of another replica has to agree.
  maturity: 3600,
  checks: {
    'cross-checks': {
      transaction: 'transaction_hash',
      made: { opcode: NFT_TRANSFER, account: 'nft_address' },
    },
    'second-reading': true,
  },
  grade: CROSS_CHECKED,
});
