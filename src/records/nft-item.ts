import * as z from 'zod';
import { account, optionalAddress, optionalHash } from './members/form.ts';
import { extraOutside, extraWithin, orNull, type Extra } from '../dataset/declaration/record.ts';
import type { RowsOf } from '../dataset/declaration/row-layout.ts';
import type { nft_collections } from '../tables/ton/nft-collections.ts';
import type { nft_items } from '../tables/ton/nft-items.ts';
import { flag, freeForm, requiredInt64, wideDigits } from './members/scalar.ts';
import { contentText } from './members/token-content.ts';

/** One element of `nft_collections` of GET /api/v3/nft/collections, and `collection` of an item. */
export const nftCollection = z.strictObject({
  address: account,
  owner_address: optionalAddress,
  last_transaction_lt: requiredInt64,
  next_item_index: wideDigits,
  collection_content: freeForm,
  data_hash: optionalHash,
  code_hash: optionalHash,
});

export type NftCollection = z.output<typeof nftCollection>;

/** One element of `nft_items` of GET /api/v3/nft/items. */
export const nftItem = z.strictObject({
  address: account,
  init: flag,
  index: wideDigits,
  collection_address: optionalAddress,
  owner_address: optionalAddress,
  content: freeForm,
  last_transaction_lt: requiredInt64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  collection: nftCollection.nullish(),
  on_sale: flag,
  sale_contract_address: optionalAddress,
  auction_contract_address: optionalAddress,
  real_owner: optionalAddress,
});

export type NftItem = z.output<typeof nftItem>;

type CollectionRow = typeof nft_collections.$inferInsert;

/** The rows of an item: its own, and its collection's if the item contains it. */
type ItemRows = RowsOf<{ nft_items: typeof nft_items; nft_collections: typeof nft_collections }>;

export function nftCollectionRow(record: NftCollection, extra: Extra): CollectionRow {
  return { ...record, name: contentText(record.collection_content, 'name'), extra: orNull(extra) };
}

export function nftItemRows({ collection, ...columns }: NftItem, extra: Extra): ItemRows {
  return {
    nft_items: [{ ...columns, extra: extraOutside(extra, ['collection']) }],
    nft_collections:
      collection == null ? [] : [nftCollectionRow(collection, extraWithin(extra, 'collection') ?? {})],
  };
}
