import { index, jsonb, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, hash, int8, loadedAt } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const jetton_wallets = ton.table(
  'jetton_wallets',
  {
    address: address().primaryKey(),
    balance: amount(),
    owner: address(),
    jetton: address(),
    last_transaction_lt: int8().notNull(),
    code_hash: hash(),
    data_hash: hash(),
    mintless_amount: amount(),
    mintless_start_from: count8(),
    mintless_expire_at: count8(),
    mintless_custom_payload_api_uri: text().array(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [index('jetton_wallets_owner_index').on(t.owner), index('jetton_wallets_jetton_index').on(t.jetton)],
);

describe(jetton_wallets, {
  comment:
    'Who holds how much of which jetton: one row for each jetton wallet, as it was when it was read last. A newer state replaces an older one.',
  from: 'jetton_wallets[].*',
  columns: {
    address: 'Account of the jetton wallet, raw form: the key.',
    balance: 'Units of the jetton in the wallet, to be divided by 10^decimals of its master.',
    owner: 'Account to which the jettons belong, raw form.',
    jetton: 'Master of the jetton that the wallet holds, raw form.',
    last_transaction_lt: "Logical time of the wallet's transaction that left this state.",
    code_hash: "Hash of the jetton wallet's code, base64; null if it is not deployed.",
    data_hash: "Hash of the jetton wallet's data, base64; null if it is not deployed.",
    mintless_amount:
      'Units that the owner may still claim of a jetton that is minted by claims; null if it is none. From jetton_wallets[].mintless_info.amount.',
    mintless_start_from:
      'Since when they can be claimed, unix seconds; null if it is not given. From jetton_wallets[].mintless_info.start_from.',
    mintless_expire_at:
      'Until when they can be claimed, unix seconds; null if it is not given. From jetton_wallets[].mintless_info.expire_at.',
    mintless_custom_payload_api_uri:
      'URL of the proof for a claim; null if it is not given. From jetton_wallets[].mintless_info.custom_payload_api_uri.',
    extra:
      'Members of jetton_wallets[] that this version of the program has no column for, and a mintless_info of which every member is null; null if there are none.',
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});
