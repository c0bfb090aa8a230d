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
  type Extra,
  type Put,
  column,
  elsewhere,
  givenLayout,
  memberAt,
  rowLayoutOf,
} from '../dataset/declaration/record.ts';
import { nft_collections, nft_items } from '../tables/ton/jettons-and-nfts.ts';
import { nft_descriptions } from '../tables/ton/address-book.ts';
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
  collection: elsewhere(nftCollection.nullish()),
  on_sale: flag,
  sale_contract_address: optionalAddress,
  auction_contract_address: optionalAddress,
  real_owner: optionalAddress,
});

export type NftItem = z.output<typeof nftItem>;

const collections = rowLayoutOf(nft_collections, nftCollection);
const items = rowLayoutOf(nft_items, nftItem);
const descriptions = givenLayout(nft_descriptions);

/** Puts the rows of a collection: its own, and its description. */
export function nftCollectionRows(
  record: NftCollection,
  extra: Extra,
  put: Put,
  { at }: Pick<Asked, 'at'>,
): void {
  const { address, collection_content, last_transaction_lt } = record;
  const description = contentDescription(collection_content);
  put(collections, record, { name: description.name }, extra);
  const own = { address, type: 'collection', last_transaction_lt, first_seen: at };
  put(descriptions, null, { ...description, ...own });
}

/** Puts the rows of an item: its own and its description, and those of its collection if the item contains it. */
export function nftItemRows(record: NftItem, extra: Extra, put: Put, asked: Pick<Asked, 'at'>): void {
  const { address, content, last_transaction_lt, collection } = record;
  put(items, record, {}, extraOutside(extra, ['collection']));
  const own = { address, type: 'item', last_transaction_lt, first_seen: asked.at };
  put(descriptions, null, { ...contentDescription(content), ...own });
  if (collection != null) nftCollectionRows(collection, extraWithin(extra, 'collection') ?? {}, put, asked);
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
