import { boolean, index, jsonb, text, primaryKey } from 'drizzle-orm/pg-core';
import {
  address,
  hash,
  int8,
  wide,
  describe,
  ton,
  amount,
  commentIn,
  transferColumns,
  moment,
  restColumns,
} from '../describe.ts';

export const nft_sales = ton.table(
  'nft_sales',
  {
    address: address().primaryKey(),
    type: text().notNull(),
    nft_address: address(),
    nft_owner_address: address(),
    marketplace_address: address(),
    created_at: moment(),
    last_transaction_lt: int8(),
    code_hash: hash(),
    data_hash: hash(),
    details: jsonb(),
    ...restColumns(),
  },
  (t) => [index('nft_sales_item_index').on(t.nft_address)],
);

describe(nft_sales, {
  comment:
    'Sales and auctions of NFT items: one row for each contract that offers one, as it was when it was looked up last. The item is a row of nft_items.',
  from: 'nft_sales[].*',
  columns: {
    address: 'Contract of the sale or auction, raw form: the key. Of telemint it is the item.',
    type: 'Kind of sale: getgems_sale, getgems_auction or telemint. It decides the members of details.',
    nft_address: 'Item that is offered, raw form; null if the server does not tell.',
    nft_owner_address: 'Account that offers the item, raw form; null if the server does not tell.',
    marketplace_address: 'Account of the marketplace, raw form; null if there is none.',
    created_at: 'When the sale was made, UTC; null if the contract does not say.',
    last_transaction_lt:
      "Logical time of the contract's transaction that left this state; null if the server does not tell.",
    code_hash: "Hash of the sale contract's code, base64; null if the server does not tell.",
    data_hash: "Hash of the sale contract's data, base64; null if the server does not tell.",
    details: 'Price, bids, fees and royalties, by type. From nft_sales[].details.',
  },
  conflict: { kind: 'replace' },
});

export const nft_transfers = ton.table(
  'nft_transfers',
  {
    ...transferColumns(),
    nft_address: address(),
    nft_collection: address(),
    old_owner: address(),
    new_owner: address(),
    response_destination: address(),
    forward_amount: amount(),
    custom_payload: text(),
    decoded_custom_payload: jsonb(),
    forward_payload: text(),
    decoded_forward_payload: jsonb(),
    comment: commentIn('decoded_forward_payload'),
    ...restColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.transaction_lt, t.transaction_hash] }),
    // The history of one item, and what one owner got, newest first.
    index('nft_transfers_nft_address').on(t.nft_address, t.utime),
    index('nft_transfers_new_owner').on(t.new_owner, t.utime),
  ],
);

describe(nft_transfers, {
  comment:
    'Changes of owner of NFT items, one row for each transaction of an item that was asked to change hands, aborted ones included. Read from GET /api/v3/nft/transfers; a row never changes. There is no checksum for them: each second is read twice.',
  from: 'nft_transfers[].*',
  columns: {
    utime:
      'Block time, UTC, of the transaction in which the item changed hands. From nft_transfers[].transaction_now.',
    transaction_lt: "Logical time of the item's transaction; not unique across items.",
    transaction_hash: "Hash of the item's transaction, base64: identity of the change of owner.",
    transaction_aborted: 'True if the transaction of the item failed, so that it kept its owner.',
    trace_id:
      'Trace that the change of owner is part of, base64; null if the server did not know it, filled when it comes.',
    query_id: 'Number that the old owner chose to tell its requests apart, up to 64 bits.',
    nft_address: 'The item, on which the transaction ran, raw form.',
    nft_collection: 'Collection that the item belongs to, raw form; empty for an item without one.',
    old_owner: 'Owner that gave the item away, raw form; empty if the source does not know it.',
    new_owner: 'Owner that got the item, raw form; empty if the source does not know it.',
    response_destination:
      'Account that gets what is left of the coins attached to the request, raw form; null if there is none.',
    forward_amount:
      'Coins that go to the new owner with the notice of the item, nanotons; null if there are none.',
    custom_payload: 'Bag of cells, base64, for the item itself, of use to special items; null for most.',
    decoded_custom_payload:
      "What the server's decoder made of the payload for the item; null if it knows no shape.",
    forward_payload:
      'Bag of cells, base64, that goes to the new owner: a comment, or the order for a marketplace; null if there is none.',
    decoded_forward_payload:
      "What the server's decoder made of the payload for the new owner; null if it knows no shape.",
    comment:
      'Text comment that goes with the item. Null if there is none, or an encrypted or binary one; null, too, if the server did not decode the forward payload. From nft_transfers[].decoded_forward_payload.comment.',
  },
  conflict: {
    kind: 'fill',
    columns: ['trace_id', 'decoded_custom_payload', 'decoded_forward_payload', 'extra'],
  },
  partitioned: true,
});

export const nft_collections = ton.table('nft_collections', {
  address: address().primaryKey(),
  owner_address: address(),
  next_item_index: wide(),
  name: text(),
  collection_content: jsonb(),
  code_hash: hash(),
  data_hash: hash(),
  last_transaction_lt: int8().notNull(),
  ...restColumns(),
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
    ...restColumns(),
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
