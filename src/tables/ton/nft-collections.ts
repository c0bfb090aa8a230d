import { jsonb, text } from 'drizzle-orm/pg-core';
import { address, hash, int8, loadedAt, wide } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const nft_collections = ton.table('nft_collections', {
  address: address().primaryKey(),
  owner_address: address(),
  next_item_index: wide(),
  name: text(),
  collection_content: jsonb(),
  code_hash: hash(),
  data_hash: hash(),
  last_transaction_lt: int8().notNull(),
  extra: jsonb(),
  loaded_at: loadedAt(),
});

describe(nft_collections, {
  comment:
    'Collections of NFT items: one row for each collection contract, as it was when it was read last. A newer state replaces an older one.',
  from: 'nft_collections[].*',
  columns: {
    address: 'Account of the collection, raw form: the key.',
    owner_address: 'Account that owns the collection, raw form; null if it has no owner.',
    next_item_index:
      'Index that the next item gets, so mostly the number of items; -1 if items have no order.',
    name: 'Name of the collection; null if the content has none on chain. From nft_collections[].collection_content, its name.',
    collection_content:
      'Everything that the collection says about itself on chain, or the URL of it; null if the indexer could not read it.',
    code_hash: "Hash of the collection's code, base64.",
    data_hash: "Hash of the collection's data, base64.",
    last_transaction_lt: "Logical time of the collection's transaction that left this state.",
  },
  owner: 'nft_collections',
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});
