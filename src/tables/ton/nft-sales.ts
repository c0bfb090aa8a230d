import { index, jsonb, text } from 'drizzle-orm/pg-core';
import { address, hash, int8, loadedAt, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

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
    extra: jsonb(),
    loaded_at: loadedAt(),
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
