import * as z from 'zod';
import { account, optionalAddress, optionalHash } from './members/form.ts';
import { extraOutside, extraWithin, orNull, type Extra } from '../dataset/declaration/record.ts';
import type { RowsOf } from '../dataset/declaration/row-layout.ts';
import type { nft_collections } from '../tables/ton/nft-collections.ts';
import type { nft_items } from '../tables/ton/nft-items.ts';
import type { nft_descriptions } from '../tables/ton/address-book.ts';
import type { Asked } from '../dataset/walk.ts';
import { flag, freeForm, requiredInt64, wideDigits } from './members/scalar.ts';
import { contentDescription } from './members/token-content.ts';

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

type CollectionTables = {
  readonly nft_collections: typeof nft_collections;
  readonly nft_descriptions: typeof nft_descriptions;
};

/** The rows of a collection: its own, and its description. */
export function nftCollectionRows(
  record: NftCollection,
  extra: Extra,
  { at }: Pick<Asked, 'at'>,
): Required<RowsOf<CollectionTables>> {
  const { address, collection_content, last_transaction_lt } = record;
  const description = contentDescription(collection_content);
  return {
    nft_collections: [{ ...record, name: description.name, extra: orNull(extra) }],
    nft_descriptions: [{ address, type: 'collection', ...description, last_transaction_lt, first_seen: at }],
  };
}

/** The rows of an item: its own and its description, and those of its collection if the item contains it. */
export function nftItemRows(
  { collection, ...columns }: NftItem,
  extra: Extra,
  asked: Pick<Asked, 'at'>,
): RowsOf<CollectionTables & { readonly nft_items: typeof nft_items }> {
  const { address, content, last_transaction_lt } = columns;
  const description = contentDescription(content);
  const own = { address, type: 'item', ...description, last_transaction_lt, first_seen: asked.at };
  const parent =
    collection == null
      ? { nft_collections: [], nft_descriptions: [] }
      : nftCollectionRows(collection, extraWithin(extra, 'collection') ?? {}, asked);
  return {
    ...parent,
    nft_items: [{ ...columns, extra: extraOutside(extra, ['collection']) }],
    nft_descriptions: [own, ...parent.nft_descriptions],
  };
}
