import { boolean, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, hash, int8, loadedAt, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

const said = () => ({
  name: text(),
  description: text(),
  image: text(),
  uri: text(),
  content: jsonb(),
  is_indexed: boolean(),
  is_nsfw: boolean(),
  is_scam: boolean(),
  last_transaction_lt: int8().notNull(),
  first_seen: moment().notNull(),
  loaded_at: loadedAt(),
});

const comments = (of: string, token: string) => ({
  address: `Account of the ${token} that is described, raw form: as in ${of}.`,
  source: `Who describes the ${token}: chain (its contract) or indexer (its metadata, on chain and off).`,
  name: `Name of the ${token} in this version; null if the source says none.`,
  description: `What the maker of the ${token} said of it in this version; null if the source says nothing.`,
  image: `URL of the picture of the ${token} in this version; null if the source says none.`,
  uri: `Where the rest of the description of the ${token} lies; null if the source says none.`,
  content: `All that the source said of the ${token} in this version: content of the contract, or an element of token_info. Null if it could not be read.`,
  is_indexed: `False if the indexer had not yet fetched what lies off chain of the ${token}; null for the source chain.`,
  is_nsfw: `True if the picture of the ${token} was marked as unfit; null if the source does not tell.`,
  is_scam: `True if the ${token} was marked as fraud; null if the source does not tell.`,
  last_transaction_lt: `Logical time of the transaction that left the state with which the ${token} was described first so; 0 for the source indexer.`,
  first_seen: `When the program read this version of the ${token} for the first time, wall time, UTC.`,
  loaded_at: `When this row of ${of} was written by the program, wall time, UTC.`,
});

export const jetton_descriptions = ton.table(
  'jetton_descriptions',
  {
    address: address().notNull(),
    source: text().notNull(),
    symbol: text(),
    decimals: integer(),
    mintable: boolean(),
    admin_address: address(),
    jetton_wallet_code_hash: hash(),
    code_hash: hash(),
    ...said(),
  },
  (t) => [primaryKey({ columns: [t.address, t.source, t.first_seen] })],
);

describe(jetton_descriptions, {
  comment:
    'How jettons described themselves: a row each time that a reading found another description than the reading before, by source. jetton_metadata joins both sources and says until when each version held.',
  columns: {
    ...comments('jetton_descriptions', 'jetton'),
    symbol: 'Ticker of the jetton in this version; null if the source says none.',
    decimals: 'Decimal places of amounts of the jetton in this version; null if the source says no number.',
    mintable: 'True if more of the jetton could be minted; null for the source indexer.',
    admin_address:
      'Account that could mint and change the jetton, raw form; null if there was none, and for the source indexer.',
    jetton_wallet_code_hash:
      "Hash of the code of the jetton's wallets in this version, base64; null for the source indexer.",
    code_hash: "Hash of the master's own code in this version, base64; null for the source indexer.",
  },
  key: ['address', 'source', 'first_seen'],
  owner: 'jetton_masters',
  conflict: { kind: 'version', by: 'last_transaction_lt' },
  partitioned: false,
});

export const nft_descriptions = ton.table(
  'nft_descriptions',
  { address: address().notNull(), type: text().notNull(), source: text().notNull(), ...said() },
  (t) => [primaryKey({ columns: [t.address, t.type, t.source, t.first_seen] })],
);

describe(nft_descriptions, {
  comment:
    'How NFT items and their collections described themselves: a row each time that a reading found another description than the reading before, by source. nft_metadata joins both sources and says until when each version held.',
  columns: {
    ...comments('nft_descriptions', 'item or collection'),
    type: 'What is described: item or collection.',
  },
  key: ['address', 'type', 'source', 'first_seen'],
  owner: 'nft_items',
  conflict: { kind: 'version', by: 'last_transaction_lt' },
  partitioned: false,
});
