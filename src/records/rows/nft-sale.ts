import type { NftSale } from '../schemas/nft-sale.ts';
import type { nft_sales } from '../../db/schema/nft-sales.ts';
import { extraOutside, extraWithin, type Extra } from '../../dataset/record.ts';
import { momentOf } from './moment.ts';
import { nftItemRows, type ItemRows } from './nft-item.ts';

/** The rows of a sale: its own, and those of the item that it offers, where it brings it. */
export interface SaleRows extends ItemRows {
  readonly nft_sales: readonly (typeof nft_sales.$inferInsert)[];
}

export function saleRows({ nft_item: item, created_at, ...columns }: NftSale, extra: Extra): SaleRows {
  const own = { ...columns, created_at: momentOf(created_at), extra: extraOutside(extra, ['nft_item']) };
  const items =
    item == null
      ? { nft_items: [], nft_collections: [] }
      : nftItemRows(item, extraWithin(extra, 'nft_item') ?? {});
  return { nft_sales: [own], ...items };
}
