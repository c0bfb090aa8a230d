import { account, optionalAddress, optionalHash } from '../src/records/members/form.ts';
import { z } from 'zod';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import type { RowsOf } from '../src/dataset/rows.ts';
import { extraOutside, extraWithin, type Extra } from '../src/dataset/record.ts';
import { nft_collections } from '../src/db/schema/ton/nft-collections.ts';
import { nft_items } from '../src/db/schema/ton/nft-items.ts';
import { nft_sales } from '../src/db/schema/ton/nft-sales.ts';
import { nftItem, nftItemRows } from '../src/records/nft-item.ts';
import { freeForm, int64, momentOf, seconds } from '../src/records/members/scalar.ts';

/** One element of `nft_sales` of GET /api/v3/nft/sales. */
export const nftSale = z.strictObject({
  type: z.string(),
  address: account,
  nft_address: optionalAddress,
  nft_owner_address: optionalAddress,
  marketplace_address: optionalAddress,
  created_at: seconds,
  last_transaction_lt: int64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  details: freeForm,
  nft_item: nftItem.nullish(),
});

const tables = { nft_sales, nft_items, nft_collections };

export default defineCollection({
  title: 'Sales and auctions of NFT items: price, bids, fees, royalties',
  limitations: 'sales that ended between two readings of the item; bids between two look-ups',
  tables,
  walks: [
    lookup({
      path: '/api/v3/nft/sales',
      shape: { member: 'nft_sales' },
      batch: { param: 'address' },
      record: nftSale,
      id: ['address'],
      rows: saleRows,
      answers: { key: 'address', lt: 'last_transaction_lt' },
      refreshSeconds: 3600,
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.nft_items', key: 'sale_contract_address', time: 'loaded_at' },
          { relation: 'ton.nft_items', key: 'auction_contract_address', time: 'loaded_at' },
        ],
      },
    }),
  ],
});

/** The rows of a sale: its own, and those of the item that it offers, where it brings it. */
function saleRows(
  { nft_item: item, created_at, ...columns }: z.output<typeof nftSale>,
  extra: Extra,
): RowsOf<typeof tables> {
  const own = { ...columns, created_at: momentOf(created_at), extra: extraOutside(extra, ['nft_item']) };
  const items = item == null ? {} : nftItemRows(item, extraWithin(extra, 'nft_item') ?? {});
  return { nft_sales: [own], ...items };
}
