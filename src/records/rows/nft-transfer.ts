import type { NftTransfer } from '../schemas/nft-transfer.ts';
import type { nft_transfers } from '../../db/schema/nft-transfers.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The row of an item's change of owner; all its members are columns. */
export function nftTransferRow(
  { transaction_now, ...columns }: NftTransfer,
  extra: Extra,
): typeof nft_transfers.$inferInsert {
  return { utime: formatTime(transaction_now), ...columns, extra: orNull(extra) };
}
