import { z } from 'zod';
import { extraOutside, extraWithin, orNull, type Extra } from '../dataset/record.ts';
import type { RowsOf } from '../dataset/job.ts';
import type { nft_collections } from '../db/schema/nft-collections.ts';
import type { nft_items } from '../db/schema/nft-items.ts';
import { digits, flag, freeForm, requiredInt64, text } from './scalar.ts';
import { contentText } from './token-content.ts';

/** One element of `nft_collections` of GET /api/v3/nft/collections, and `collection` of an item. */
export const nftCollection = z.strictObject({
  address: z.string(),
  owner_address: text,
  last_transaction_lt: requiredInt64,
  next_item_index: digits,
  collection_content: freeForm,
  data_hash: text,
  code_hash: text,
});

export type NftCollection = z.output<typeof nftCollection>;

/** One element of `nft_items` of GET /api/v3/nft/items. */
export const nftItem = z.strictObject({
  address: z.string(),
  init: flag,
  index: digits,
  collection_address: text,
  owner_address: text,
  content: freeForm,
  last_transaction_lt: requiredInt64,
  code_hash: text,
  data_hash: text,
  collection: nftCollection.nullish(),
  on_sale: flag,
  sale_contract_address: text,
  auction_contract_address: text,
  real_owner: text,
});

export type NftItem = z.output<typeof nftItem>;

type CollectionRow = typeof nft_collections.$inferInsert;

/** The rows of an item: its own, and its collection's where the item brings it. */
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
