import * as z from 'zod';
import {
  account,
  optionalAddress,
  optionalHash,
  hash,
  flag,
  freeForm,
  requiredInt64,
  wideDigits,
  digits,
  requiredSeconds,
  text,
} from './members.ts';
import {
  extraOutside,
  extraWithin,
  orNull,
  type Extra,
  type RowsOf,
  column,
  memberAt,
} from '../dataset/declaration/record.ts';
import type { nft_collections, nft_items } from '../tables/ton/jettons-and-nfts.ts';
import type { nft_descriptions } from '../tables/ton/address-book.ts';
import type { Asked } from '../dataset/collection.ts';
import type { PositionMembers } from '../dataset/job.ts';

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

/** A member of a token's on-chain content as text; null if it has no such text. */
export function contentText(content: unknown, name: string): string | null {
  const value = memberAt(content, [name]);
  return typeof value === 'string' ? value : null;
}

/** The decimals of a jetton, which contracts store as text; null if the value is not an integer from 0 to 255. */
export function contentDecimals(content: unknown): number | null {
  const value = memberAt(content, ['decimals']);
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  return /^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : null;
}

/** The members of a token's on-chain content that describe it, besides all of the content. */
export function contentDescription(content: unknown) {
  return {
    source: 'chain',
    name: contentText(content, 'name'),
    description: contentText(content, 'description'),
    image: contentText(content, 'image'),
    uri: contentText(content, 'uri'),
    content,
  };
}

/**
 * Members that transfers and burns have in common. Payloads are bags of cells in base64, some of which a decoder reads.
 */
export const transferMembers = {
  query_id: digits,
  transaction_hash: hash,
  transaction_lt: requiredInt64,
  transaction_now: column('utime', requiredSeconds),
  transaction_aborted: flag,
  response_destination: optionalAddress,
  custom_payload: text,
  decoded_custom_payload: freeForm,
  trace_id: optionalHash,
};

/** The position of a transfer or burn, which is that of its transaction. */
export const transferPosition = {
  utime: 'transaction_now',
  lt: 'transaction_lt',
  id: ['transaction_hash'],
} satisfies PositionMembers;
