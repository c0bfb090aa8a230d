import { boolean, integer, jsonb, text } from 'drizzle-orm/pg-core';
import { address, loadedAt } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const address_book = ton.table('address_book', {
  address: address().primaryKey(),
  user_friendly: text(),
  domain: text(),
  interfaces: text().array(),
  extra: jsonb(),
  loaded_at: loadedAt(),
});

describe(address_book, {
  comment:
    'Names of accounts, as the API named them last: from its address book, and from those that come with other responses. They change: never a key.',
  columns: {
    address: 'Account that is named, raw form: the key. From address_book, whose key it is.',
    user_friendly:
      'The form in which wallets show the account, base64url; null if the server has none. From address_book{}.user_friendly.',
    domain: 'A domain that leads to the account; null if there is none. From address_book{}.domain.',
    interfaces:
      'What kinds of contract the indexer takes the account for; null if it has not looked. From address_book{}.interfaces.',
    extra:
      'Members of an entry of address_book that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'replace' },
});

export const token_metadata = ton.table('token_metadata', {
  address: address().primaryKey(),
  is_indexed: boolean().notNull(),
  type: text(),
  name: text(),
  symbol: text(),
  decimals: integer(),
  description: text(),
  image: text(),
  nft_index: text(),
  valid: boolean(),
  is_nsfw: boolean(),
  is_scam: boolean(),
  token_info: jsonb(),
  extra: jsonb(),
  loaded_at: loadedAt(),
});

describe(token_metadata, {
  comment:
    'What the indexer found out about tokens, on chain and off: of jettons, collections and items, from its metadata and from those that come with other responses. It changes.',
  columns: {
    address: 'Account of the token, raw form: the key. From metadata, whose key it is.',
    is_indexed: 'False while the indexer has not fetched what lies off chain. From metadata{}.is_indexed.',
    type: 'Kind of token: jetton_masters, jetton_wallets, nft_collections or nft_items; null if nothing is known. From metadata{}.token_info[0].type.',
    name: "The token's name; null if it has none. From metadata{}.token_info[0].name.",
    symbol: "The jetton's ticker; null if it has none. From metadata{}.token_info[0].symbol.",
    decimals:
      'Decimal places of amounts; null if the metadata does not say a number. From metadata{}.token_info[0].extra.decimals.',
    description:
      'What its maker says of it; null if there is nothing. From metadata{}.token_info[0].description.',
    image: 'URL of its picture; null if it has none. From metadata{}.token_info[0].image.',
    nft_index:
      'Number of an item in its collection; null for other tokens. From metadata{}.token_info[0].nft_index.',
    valid:
      'False if what lies off chain could not be read; null if the server does not tell. From metadata{}.token_info[0].valid.',
    is_nsfw:
      'True if the picture is marked as unfit; null if the server does not tell. From metadata{}.token_info[0].is_nsfw.',
    is_scam:
      'True if the token is marked as fraud; null if the server does not tell. From metadata{}.token_info[0].is_scam.',
    token_info:
      'Everything that is known about it: mostly one object, two if an account is two kinds of token; null if the server sent none. From metadata{}.token_info.',
    extra:
      'Members of an entry of metadata that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'replace' },
});
