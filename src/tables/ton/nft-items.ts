import { boolean, index, jsonb } from 'drizzle-orm/pg-core';
import { address, hash, int8, loadedAt, wide } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const nft_items = ton.table(
  'nft_items',
  {
    address: address().primaryKey(),
    init: boolean(),
    index: wide(),
    collection_address: address(),
    owner_address: address(),
    real_owner: address(),
    on_sale: boolean(),
    sale_contract_address: address(),
    auction_contract_address: address(),
    content: jsonb(),
    code_hash: hash(),
    data_hash: hash(),
    last_transaction_lt: int8().notNull(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [
    index('nft_items_owner_index').on(t.owner_address),
    index('nft_items_collection_index').on(t.collection_address, t.index),
    // For the distinct codes, and the items of one code: see etl.seen_telemints.
    index('nft_items_code_index').on(t.code_hash, t.address),
  ],
);

describe(nft_items, {
  comment:
    'NFT items: one row for each item contract, as it was when it was read last. A newer state replaces an older one.',
  from: 'nft_items[].*',
  columns: {
    address: 'Account of the item, raw form: the key.',
    init: 'True if the item has been given its owner and content.',
    index: 'Number of the item within its collection, up to 256 bits.',
    collection_address: 'Collection of the item, raw form; null if it belongs to none.',
    owner_address:
      'Account that owns the item: while it is on sale, the contract of the sale. Raw form; null if it has no owner.',
    real_owner: 'Account that offers the item for sale, raw form; null if it is not on sale.',
    on_sale: 'True if the owner is a contract of a sale or an auction; false in a telemint auction.',
    sale_contract_address: 'Contract of the sale that the item is in, raw form; null if it is in none.',
    auction_contract_address:
      'Contract of the auction that the item is in, raw form; null if it is in none. Auctions of user names and numbers (telemint) are the item itself, and are not told here.',
    content:
      'Everything that the item says about itself on chain, or the URL of it; null if the indexer could not read it.',
    code_hash: "Hash of the item's code, base64.",
    data_hash: "Hash of the item's data, base64.",
    last_transaction_lt: "Logical time of the item's transaction that left this state.",
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});
