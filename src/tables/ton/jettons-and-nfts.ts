import { index } from 'drizzle-orm/pg-core';
import {
  address,
  amount,
  boolean,
  commentIn,
  count8,
  digitsOf,
  hash,
  int8,
  integer,
  jsonb,
  moment,
  restColumns,
  text,
  texts,
  tonTable,
  utime,
  wide,
} from '../describe.ts';

const FILLED_LATER = ['trace_id', 'decoded_custom_payload', 'decoded_forward_payload', 'extra'] as const;

export const nft_sales = tonTable('nft_sales', {
  comment:
    'Sales and auctions of NFT items: one row for each contract that offers one, as it was when it was looked up last. The item is a row of nft_items.',
  from: 'nft_sales[].*',
  columns: {
    address: address(
      'Contract of the sale or auction, raw form: the key. Of telemint it is the item.',
    ).primaryKey(),
    type: text(
      'Kind of sale: getgems_sale, getgems_auction or telemint. It decides the members of details.',
    ).notNull(),
    nft_address: address('Item that is offered, raw form; null if the server does not tell.'),
    nft_owner_address: address('Account that offers the item, raw form; null if the server does not tell.'),
    marketplace_address: address('Account of the marketplace, raw form; null if there is none.'),
    created_at: moment('When the sale was made, UTC; null if the contract does not say.'),
    last_transaction_lt: int8(
      "Logical time of the contract's transaction that left this state; null if the server does not tell.",
    ),
    code_hash: hash("Hash of the sale contract's code, base64; null if the server does not tell."),
    data_hash: hash("Hash of the sale contract's data, base64; null if the server does not tell."),
    details: jsonb('Price, bids, fees and royalties, by type. From nft_sales[].details.'),
    ...restColumns(),
  },
  indexes: (t) => [index('nft_sales_item_index').on(t.nft_address)],
  conflict: { kind: 'replace' },
});

export const nft_transfers = tonTable('nft_transfers', {
  comment:
    'Changes of owner of NFT items, one row for each transaction of an item that was asked to change hands, aborted ones included. Read from GET /api/v3/nft/transfers; a row never changes. There is no checksum for them: each second is read twice.',
  from: 'nft_transfers[].*',
  columns: {
    utime: utime(
      'Block time, UTC, of the transaction in which the item changed hands. From nft_transfers[].transaction_now.',
    ),
    transaction_lt: int8("Logical time of the item's transaction; not unique across items.").notNull(),
    transaction_hash: hash(
      "Hash of the item's transaction, base64: identity of the change of owner.",
    ).notNull(),
    transaction_aborted: boolean('True if the transaction of the item failed, so that it kept its owner.'),
    trace_id: hash(
      'Trace that the change of owner is part of, base64; null if the server did not know it, filled when it comes.',
    ),
    query_id: amount('Number that the old owner chose to tell its requests apart, up to 64 bits.'),
    nft_address: address('The item, on which the transaction ran, raw form.'),
    nft_collection: address('Collection that the item belongs to, raw form; empty for an item without one.'),
    old_owner: address('Owner that gave the item away, raw form; empty if the source does not know it.'),
    new_owner: address('Owner that got the item, raw form; empty if the source does not know it.'),
    response_destination: address(
      'Account that gets what is left of the coins attached to the request, raw form; null if there is none.',
    ),
    forward_amount: amount(
      'Coins that go to the new owner with the notice of the item, nanotons; null if there are none.',
    ),
    custom_payload: text(
      'Bag of cells, base64, for the item itself, of use to special items; null for most.',
    ),
    decoded_custom_payload: jsonb(
      "What the server's decoder made of the payload for the item; null if it knows no shape.",
    ),
    forward_payload: text(
      'Bag of cells, base64, that goes to the new owner: a comment, or the order for a marketplace; null if there is none.',
    ),
    decoded_forward_payload: jsonb(
      "What the server's decoder made of the payload for the new owner; null if it knows no shape.",
    ),
    comment: commentIn(
      'decoded_forward_payload',
      'Text comment that goes with the item. Null if there is none, or an encrypted or binary one; null, too, if the server did not decode the forward payload. From nft_transfers[].decoded_forward_payload.comment.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'transaction_lt', 'transaction_hash'],
  indexes: (t) => [
    // The history of one item, and what one owner got, newest first.
    index('nft_transfers_nft_address').on(t.nft_address, t.utime),
    index('nft_transfers_new_owner').on(t.new_owner, t.utime),
  ],
  conflict: { kind: 'fill', columns: FILLED_LATER },
  partitioned: true,
});

export const nft_collections = tonTable('nft_collections', {
  comment:
    'Collections of NFT items: one row for each collection contract, as it was when it was read last. A newer state replaces an older one.',
  from: 'nft_collections[].*',
  columns: {
    address: address('Account of the collection, raw form: the key.').primaryKey(),
    owner_address: address('Account that owns the collection, raw form; null if it has no owner.'),
    next_item_index: wide(
      'Index that the next item gets, so mostly the number of items; -1 if items have no order.',
    ),
    next_item_index_text: digitsOf('next_item_index', 'nft_collections[].next_item_index'),
    name: text(
      'Name of the collection; null if the content has none on chain. From nft_collections[].collection_content, its name.',
    ),
    collection_content: jsonb(
      'Everything that the collection says about itself on chain, or the URL of it; null if the indexer could not read it.',
    ),
    code_hash: hash("Hash of the collection's code, base64."),
    data_hash: hash("Hash of the collection's data, base64."),
    last_transaction_lt: int8("Logical time of the collection's transaction that left this state.").notNull(),
    ...restColumns(),
  },
  owner: 'nft_collections',
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const nft_items = tonTable('nft_items', {
  comment:
    'NFT items: one row for each item contract, as it was when it was read last. A newer state replaces an older one.',
  from: 'nft_items[].*',
  columns: {
    address: address('Account of the item, raw form: the key.').primaryKey(),
    init: boolean('True if the item has been given its owner and content.'),
    index: wide('Number of the item within its collection, up to 256 bits.'),
    index_text: digitsOf('index', 'nft_items[].index'),
    collection_address: address('Collection of the item, raw form; null if it belongs to none.'),
    owner_address: address(
      'Account that owns the item: while it is on sale, the contract of the sale. Raw form; null if it has no owner.',
    ),
    real_owner: address('Account that offers the item for sale, raw form; null if it is not on sale.'),
    on_sale: boolean('True if the owner is a contract of a sale or an auction; false in a telemint auction.'),
    sale_contract_address: address(
      'Contract of the sale that the item is in, raw form; null if it is in none.',
    ),
    auction_contract_address: address(
      'Contract of the auction that the item is in, raw form; null if it is in none. Auctions of user names and numbers (telemint) are the item itself, and are not told here.',
    ),
    content: jsonb(
      'Everything that the item says about itself on chain, or the URL of it; null if the indexer could not read it.',
    ),
    code_hash: hash("Hash of the item's code, base64."),
    data_hash: hash("Hash of the item's data, base64."),
    last_transaction_lt: int8("Logical time of the item's transaction that left this state.").notNull(),
    ...restColumns(),
  },
  indexes: (t) => [
    index('nft_items_owner_index').on(t.owner_address),
    index('nft_items_collection_index').on(t.collection_address, t.index),
    // For the distinct codes, and the items of one code: see etl.seen_telemints.
    index('nft_items_code_index').on(t.code_hash, t.address),
  ],
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const jetton_burns = tonTable('jetton_burns', {
  comment:
    "Jettons that their owners destroyed, one row for each transaction of an owner's jetton wallet that burned some, aborted ones included. Read from GET /api/v3/jetton/burns; a row never changes. There is no checksum for them: each second is read twice.",
  from: 'jetton_burns[].*',
  columns: {
    utime: utime(
      "Block time, UTC, of the transaction in which the owner's jetton wallet burned the jettons. From jetton_burns[].transaction_now.",
    ),
    transaction_lt: int8(
      "Logical time of the owner's jetton wallet's transaction; not unique across wallets.",
    ).notNull(),
    transaction_hash: hash(
      "Hash of the owner's jetton wallet's transaction, base64: identity of the burn.",
    ).notNull(),
    transaction_aborted: boolean('True if the transaction of the burn failed, so that nothing was burned.'),
    trace_id: hash(
      'Trace that the burn is part of, base64; null if the server did not know it, filled when it comes.',
    ),
    query_id: amount('Number that the owner chose to tell its burns apart, up to 64 bits.'),
    owner: address('Owner of the burned jettons, raw form; empty if the source does not know it.'),
    jetton_wallet: address("The owner's jetton wallet, on which the transaction ran, raw form."),
    jetton_master: address('Contract of the burned jetton, raw form: which token it is.'),
    amount: amount("How many jettons were burned, in the jetton's smallest units."),
    response_destination: address(
      'Account that gets what is left of the coins attached to the burn, raw form; null if there is none.',
    ),
    custom_payload: text(
      'Bag of cells, base64, that goes along with the burn, of use to special jettons; null for most burns.',
    ),
    decoded_custom_payload: jsonb(
      "What the server's decoder made of the burn's payload; null if it knows no shape.",
    ),
    ...restColumns(),
  },
  key: ['utime', 'transaction_lt', 'transaction_hash'],
  indexes: (t) => [
    // The burns of one jetton, newest first, for its supply.
    index('jetton_burns_jetton_master').on(t.jetton_master, t.utime),
    // What one owner burned, for the owner's ledger.
    index('jetton_burns_owner').on(t.owner, t.utime),
  ],
  conflict: { kind: 'fill', columns: ['trace_id', 'decoded_custom_payload', 'extra'] },
  partitioned: true,
});

export const jetton_transfers = tonTable('jetton_transfers', {
  comment:
    "Transfers of jettons (fungible tokens), one row for each transaction of a sender's jetton wallet that sent some. Read from GET /api/v3/jetton/transfers, which leaves out those of aborted transactions; a row never changes. There is no checksum for them: each second is read twice.",
  from: 'jetton_transfers[].*',
  columns: {
    utime: utime(
      "Block time, UTC, of the transaction in which the sender's jetton wallet sent the jettons. From jetton_transfers[].transaction_now.",
    ),
    transaction_lt: int8(
      "Logical time of the sender's jetton wallet's transaction; not unique across wallets.",
    ).notNull(),
    transaction_hash: hash(
      "Hash of the sender's jetton wallet's transaction, base64: identity of the transfer.",
    ).notNull(),
    transaction_aborted: boolean(
      'True if the transaction of the transfer failed; the source gives only those that did not; null if an older server leaves it out.',
    ),
    trace_id: hash(
      'Trace that the transfer is part of, base64; null if the server did not know it, filled when it comes.',
    ),
    query_id: amount('Number that the sender chose to tell its transfers apart, up to 64 bits.'),
    source: address('Owner that sent the jettons, raw form; empty if the source does not know it.'),
    destination: address('Owner that is to get the jettons, raw form; empty if the source does not know it.'),
    amount: amount("How many jettons, in the jetton's smallest units (its metadata says how many decimals)."),
    source_wallet: address("The sender's jetton wallet, on which the transaction ran, raw form."),
    jetton_master: address('Contract of the jetton itself, raw form: which token it is.'),
    response_destination: address(
      'Account that gets what is left of the attached coins, raw form; null if there is none.',
    ),
    forward_ton_amount: amount(
      'Coins that go to the destination with the notice of the jettons, nanotons; null if there are none.',
    ),
    custom_payload: text(
      "Bag of cells, base64, for the sender's jetton wallet, of use to special jettons; null for most transfers.",
    ),
    decoded_custom_payload: jsonb(
      "What the server's decoder made of the custom payload; null if it knows no shape.",
    ),
    forward_payload: text(
      'Bag of cells, base64, that goes to the destination: a comment, or the order for an exchange; null if there is none.',
    ),
    decoded_forward_payload: jsonb(
      "What the server's decoder made of the forward payload, such as a comment's text; null if it knows no shape.",
    ),
    comment: commentIn(
      'decoded_forward_payload',
      'Text comment that goes with the jettons. Null if there is none, or an encrypted or binary one; null, too, if the server did not decode the forward payload. From jetton_transfers[].decoded_forward_payload.comment.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'transaction_lt', 'transaction_hash'],
  indexes: (t) => [
    // The transfers of one jetton, and those from and to one owner, newest first.
    index('jetton_transfers_jetton_master').on(t.jetton_master, t.utime),
    index('jetton_transfers_source').on(t.source, t.utime),
    index('jetton_transfers_destination').on(t.destination, t.utime),
  ],
  conflict: { kind: 'fill', columns: FILLED_LATER },
  partitioned: true,
});

export const jetton_wallets = tonTable('jetton_wallets', {
  comment:
    'Who holds how much of which jetton: one row for each jetton wallet, as it was when it was read last. A newer state replaces an older one.',
  from: 'jetton_wallets[].*',
  columns: {
    address: address('Account of the jetton wallet, raw form: the key.').primaryKey(),
    balance: amount('Units of the jetton in the wallet, to be divided by 10^decimals of its master.'),
    owner: address('Account to which the jettons belong, raw form.'),
    jetton: address('Master of the jetton that the wallet holds, raw form.'),
    last_transaction_lt: int8("Logical time of the wallet's transaction that left this state.").notNull(),
    code_hash: hash("Hash of the jetton wallet's code, base64; null if it is not deployed."),
    data_hash: hash("Hash of the jetton wallet's data, base64; null if it is not deployed."),
    mintless_amount: amount(
      'Units that the owner may still claim of a jetton that is minted by claims; null if it is none. From jetton_wallets[].mintless_info.amount.',
    ),
    mintless_start_from: count8(
      'Since when they can be claimed, unix seconds; null if it is not given. From jetton_wallets[].mintless_info.start_from.',
    ),
    mintless_expire_at: count8(
      'Until when they can be claimed, unix seconds; null if it is not given. From jetton_wallets[].mintless_info.expire_at.',
    ),
    mintless_custom_payload_api_uri: texts(
      'URL of the proof for a claim; null if it is not given. From jetton_wallets[].mintless_info.custom_payload_api_uri.',
    ),
    ...restColumns(
      'Members of jetton_wallets[] that this version of the program has no column for, and a mintless_info of which every member is null; null if there are none.',
    ),
  },
  indexes: (t) => [
    index('jetton_wallets_owner_index').on(t.owner),
    index('jetton_wallets_jetton_index').on(t.jetton),
  ],
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const jetton_masters = tonTable('jetton_masters', {
  comment:
    'Jettons (fungible tokens): one row for each master contract, as it was when it was read last. A newer state replaces an older one.',
  from: 'jetton_masters[].*',
  columns: {
    address: address('Account of the jetton master, raw form: the key.').primaryKey(),
    total_supply: amount('Units of the jetton in existence, to be divided by 10^decimals.'),
    mintable: boolean('True if more of the jetton can be minted.'),
    admin_address: address('Account that may mint and change the jetton, raw form; null if there is none.'),
    name: text(
      'Name of the jetton, in the words of its maker; null if the content has none on chain. From jetton_masters[].jetton_content, its name.',
    ),
    symbol: text(
      'Ticker of the jetton; null if the content has none on chain. From jetton_masters[].jetton_content, its symbol.',
    ),
    decimals: integer(
      'Decimal places of amounts of the jetton; null if the content does not say a number, which wallets read as 9. From jetton_masters[].jetton_content, its decimals.',
    ),
    jetton_content: jsonb(
      'Everything that the master says about itself on chain, or the URL of it; null if the indexer could not read it.',
    ),
    jetton_wallet_code_hash: hash("Hash of the code of this jetton's wallets, base64."),
    code_hash: hash("Hash of the master's own code, base64."),
    data_hash: hash("Hash of the master's own data, base64."),
    last_transaction_lt: int8("Logical time of the master's transaction that left this state.").notNull(),
    ...restColumns(),
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});
