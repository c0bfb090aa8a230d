import {
  address,
  boolean,
  hash,
  int8,
  integer,
  jsonb,
  loadedAt,
  moment,
  restColumns,
  text,
  texts,
  tonTable,
} from '../describe.ts';

export const address_book = tonTable('address_book', {
  comment:
    'Names of accounts, as the API named them last: from its address book, and from those that come with other responses. They change: never a key.',
  from: 'address_book{}.*',
  columns: {
    address: address(
      'Account that is named, raw form: the key. From address_book, whose key it is.',
    ).primaryKey(),
    user_friendly: text(
      'The form in which wallets show the account, base64url; null if the server has none.',
    ),
    domain: text('A domain that leads to the account; null if there is none.'),
    interfaces: texts('What kinds of contract the indexer takes the account for; null if it has not looked.'),
    ...restColumns(
      'Members of an entry of address_book that this version of the program has no column for; null if there are none.',
    ),
  },
  conflict: { kind: 'replace' },
});

export const token_metadata = tonTable('token_metadata', {
  comment:
    'What the indexer found out about tokens, on chain and off: of jettons, collections and items, from its metadata and from those that come with other responses. It changes.',
  from: 'metadata{}.token_info[0].*',
  columns: {
    address: address('Account of the token, raw form: the key. From metadata, whose key it is.').primaryKey(),
    is_indexed: boolean(
      'False while the indexer has not fetched what lies off chain. From metadata{}.is_indexed.',
    ).notNull(),
    type: text(
      'Kind of token: jetton_masters, jetton_wallets, nft_collections or nft_items; null if nothing is known.',
    ),
    name: text("The token's name; null if it has none."),
    symbol: text("The jetton's ticker; null if it has none."),
    decimals: integer(
      'Decimal places of amounts; null if the metadata does not say a number. From metadata{}.token_info[0].extra.decimals.',
    ),
    description: text('What its maker says of it; null if there is nothing.'),
    image: text('URL of its picture; null if it has none.'),
    nft_index: text('Number of an item in its collection; null for other tokens.'),
    valid: boolean('False if what lies off chain could not be read; null if the server does not tell.'),
    is_nsfw: boolean('True if the picture is marked as unfit; null if the server does not tell.'),
    is_scam: boolean('True if the token is marked as fraud; null if the server does not tell.'),
    token_info: jsonb(
      'Everything that is known about it: mostly one object, two if an account is two kinds of token; null if the server sent none. From metadata{}.token_info.',
    ),
    ...restColumns(
      'Members of an entry of metadata that this version of the program has no column for; null if there are none.',
    ),
  },
  conflict: { kind: 'replace' },
});

const said = (token: string, contract: string) => ({
  name: text(
    `Name of the ${token} in this version; null if the source says none. From metadata{}.token_info[0].name, or the content.`,
  ),
  description: text(
    `What the maker of the ${token} said of it in this version; null if that is nothing. From metadata{}.token_info[0].description, or the content.`,
  ),
  image: text(
    `URL of the picture of the ${token} in this version; null if the source says none. From metadata{}.token_info[0].image, or the content.`,
  ),
  uri: text(
    `Where the rest of the description of the ${token} lies; null if the source says none. From metadata{}.token_info[0].extra.uri, or the content.`,
  ),
  content: jsonb(
    `All that the source said of the ${token} in this version; null if it could not be read. From metadata{}.token_info, or the content of the contract.`,
  ),
  is_indexed: boolean(
    `False if the indexer had not yet fetched what lies off chain of the ${token}; null for the source chain. From metadata{}.is_indexed.`,
  ),
  is_nsfw: boolean(
    `True if the picture of the ${token} was marked as unfit; null if the source does not tell. From metadata{}.token_info[0].is_nsfw.`,
  ),
  is_scam: boolean(
    `True if the ${token} was marked as fraud; null if the source does not tell. From metadata{}.token_info[0].is_scam.`,
  ),
  last_transaction_lt: int8(
    `Logical time of the transaction that left the first state of the ${token} with this version; 0 for the source indexer. From ${contract}[].last_transaction_lt.`,
  ).notNull(),
  first_seen: moment(
    `When this version of the ${token} was read for the first time, wall time, UTC: written by the program.`,
  ).notNull(),
  loaded_at: loadedAt(),
});

export const jetton_descriptions = tonTable('jetton_descriptions', {
  comment:
    'How jettons described themselves: a row each time that a reading found another description than the reading before, by source. jetton_metadata joins both sources and says until when each version held.',
  from: 'jetton_masters[].*',
  columns: {
    address: address(
      'Account of the jetton that is described, raw form. From metadata, whose key it is, or jetton_masters[].address.',
    ).notNull(),
    source: text(
      'Who describes the jetton: chain (its contract) or indexer (its metadata, on chain and off); written by the program.',
    ).notNull(),
    symbol: text(
      'Ticker of the jetton in this version; null if the source says none. From metadata{}.token_info[0].symbol, or the content.',
    ),
    decimals: integer(
      'Decimal places of amounts of the jetton in this version; null if the source says no number. From metadata{}.token_info[0].extra.decimals, or the content.',
    ),
    mintable: boolean('True if more of the jetton could be minted; null for the source indexer.'),
    admin_address: address(
      'Account that could mint and change the jetton, raw form; null if there was none, and for the source indexer.',
    ),
    jetton_wallet_code_hash: hash(
      "Hash of the code of the jetton's wallets in this version, base64; null for the source indexer.",
    ),
    code_hash: hash("Hash of the master's own code in this version, base64; null for the source indexer."),
    ...said('jetton', 'jetton_masters'),
  },
  key: ['address', 'source', 'first_seen'],
  owner: 'jetton_masters',
  conflict: { kind: 'version', by: 'last_transaction_lt' },
});

export const nft_descriptions = tonTable('nft_descriptions', {
  comment:
    'How NFT items and their collections described themselves: a row each time that a reading found another description than the reading before, by source. nft_metadata joins both sources and says until when each version held.',
  columns: {
    address: address(
      'Account of the item or collection that is described, raw form. From metadata, whose key it is, or nft_items[].address.',
    ).notNull(),
    type: text(
      'What is described: item or collection. From metadata{}.token_info[0].type, or the list that names it.',
    ).notNull(),
    source: text(
      'Who describes the item or collection: chain (its contract) or indexer (its metadata, on chain and off); written by the program.',
    ).notNull(),
    ...said('item or collection', 'nft_items'),
  },
  key: ['address', 'type', 'source', 'first_seen'],
  owner: 'nft_items',
  conflict: { kind: 'version', by: 'last_transaction_lt' },
});
