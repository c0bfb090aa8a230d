import { boolean, integer, jsonb, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt } from '../columns.ts';
import { describe, membersWithoutColumn } from '../describe.ts';
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
  columns: {
    address: 'Account of the jetton master, raw form: the key. From jetton_masters[].address.',
    total_supply:
      'Units of the jetton in existence, to be divided by 10^decimals. From jetton_masters[].total_supply; null only if not sent.',
    mintable:
      'True if more of the jetton can be minted. From jetton_masters[].mintable; null only if not sent.',
    admin_address:
      'Account that may mint and change the jetton, raw form; null if there is none. From jetton_masters[].admin_address.',
    name: 'Name of the jetton, in the words of its maker; null if the content has none on chain. From jetton_masters[].jetton_content, its name.',
    symbol:
      'Ticker of the jetton; null if the content has none on chain. From jetton_masters[].jetton_content, its symbol.',
    decimals:
      'Decimal places of amounts of the jetton; null if the content does not say a number, which wallets read as 9. From jetton_masters[].jetton_content, its decimals.',
    jetton_content:
      'Everything that the master says about itself on chain, or the URL of it; null if the indexer could not read it. From jetton_masters[].jetton_content.',
    jetton_wallet_code_hash:
      "Hash of the code of this jetton's wallets, base64. From jetton_masters[].jetton_wallet_code_hash; null only if not sent.",
    code_hash:
      "Hash of the master's own code, base64. From jetton_masters[].code_hash; null only if not sent.",
    data_hash:
      "Hash of the master's own data, base64. From jetton_masters[].data_hash; null only if not sent.",
    last_transaction_lt:
      "Logical time of the master's transaction that left this state. From jetton_masters[].last_transaction_lt.",
    extra: membersWithoutColumn('jetton_masters[]'),
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});
