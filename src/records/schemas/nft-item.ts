import { z } from 'zod';
import { digits, flag, requiredInt64, text } from './scalar.ts';
import { freeForm } from './free-form.ts';

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
