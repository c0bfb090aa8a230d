import { boolean, integer, jsonb, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const jetton_masters = ton.table('jetton_masters', {
  address: address().primaryKey(),
  total_supply: amount(),
  mintable: boolean(),
  admin_address: address(),
  name: text(),
  symbol: text(),
  decimals: integer(),
  jetton_content: jsonb(),
  jetton_wallet_code_hash: hash(),
  code_hash: hash(),
  data_hash: hash(),
  last_transaction_lt: int8().notNull(),
  extra: jsonb(),
  loaded_at: loadedAt(),
});

describe(jetton_masters, {
  comment:
    'Jettons (fungible tokens): one row for each master contract, as it was when it was read last. A newer state replaces an older one.',
  from: 'jetton_masters[].*',
  columns: {
    address: 'Account of the jetton master, raw form: the key.',
    total_supply: 'Units of the jetton in existence, to be divided by 10^decimals.',
    mintable: 'True if more of the jetton can be minted.',
    admin_address: 'Account that may mint and change the jetton, raw form; null if there is none.',
    name: 'Name of the jetton, in the words of its maker; null if the content has none on chain. From jetton_masters[].jetton_content, its name.',
    symbol:
      'Ticker of the jetton; null if the content has none on chain. From jetton_masters[].jetton_content, its symbol.',
    decimals:
      'Decimal places of amounts of the jetton; null if the content does not say a number, which wallets read as 9. From jetton_masters[].jetton_content, its decimals.',
    jetton_content:
      'Everything that the master says about itself on chain, or the URL of it; null if the indexer could not read it.',
    jetton_wallet_code_hash: "Hash of the code of this jetton's wallets, base64.",
    code_hash: "Hash of the master's own code, base64.",
    data_hash: "Hash of the master's own data, base64.",
    last_transaction_lt: "Logical time of the master's transaction that left this state.",
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});
