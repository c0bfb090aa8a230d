import { bigint, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const extended_account_states = ton.table(
  'extended_account_states',
  {
    address: address().notNull(),
    mc_seqno: integer(),
    sync_utime: moment().notNull(),
    balance: amount(),
    extra_currencies: jsonb(),
    last_transaction_lt: int8().notNull(),
    last_transaction_hash: hash().notNull(),
    kind: text().notNull(),
    wallet_id: bigint({ mode: 'number' }),
    seqno: integer(),
    public_key: text(),
    account_state: jsonb().notNull(),
    revision: integer(),
    block_root_hash: hash().notNull(),
    block_file_hash: hash().notNull(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.address, t.block_root_hash] })],
);

describe(extended_account_states, {
  comment:
    'Watched accounts as nodes take them apart (v2), one row for each masterchain block at which one was looked at: of wallets the kind, the seqno and the key.',
  from: 'result.* of getExtendedAddressInformation',
  columns: {
    address: 'Account that was looked at, raw form.',
    mc_seqno:
      'Masterchain block whose state was looked at; null if the node names a block of a shard. From result.block_id.seqno of getExtendedAddressInformation.',
    sync_utime: 'Block time, UTC, of that masterchain block.',
    balance: 'Nanotons on the account then; null only if not sent.',
    extra_currencies:
      'Extra currencies on the account then, an array of id and amount. From result.extra_currencies of getExtendedAddressInformation.',
    last_transaction_lt:
      'Logical time of its last transaction then; 0 if there was none. From result.last_transaction_id.lt of getExtendedAddressInformation.',
    last_transaction_hash:
      'Hash of its last transaction then, base64. From result.last_transaction_id.hash of getExtendedAddressInformation.',
    kind: 'What the node takes the account for: wallet.v4.accountState, raw.accountState, … From result.account_state of getExtendedAddressInformation.',
    wallet_id:
      'Number of the wallet among those of its key; null if the kind has none. From result.account_state, its wallet_id, of getExtendedAddressInformation.',
    seqno:
      'Number that the wallet expects of its next order; null if the kind has none. From result.account_state, its seqno, of getExtendedAddressInformation.',
    public_key:
      "The wallet's public key; null if the node does not tell it. From result.account_state, its public_key, of getExtendedAddressInformation.",
    account_state: 'Everything that the node tells of the state by its kind: code, data, limits.',
    revision: "Version of the contract's code as the node counts it; null only if not sent.",
    block_root_hash:
      'Root hash of that masterchain block, base64. From result.block_id.root_hash of getExtendedAddressInformation.',
    block_file_hash:
      'File hash of that masterchain block, base64. From result.block_id.file_hash of getExtendedAddressInformation.',
    extra:
      'Members of the result of getExtendedAddressInformation that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'replace' },
});
