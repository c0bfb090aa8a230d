import { bigint, boolean, index, jsonb, primaryKey, text, integer } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, moment, describe, ton, restColumns } from '../describe.ts';

export const top_accounts = ton.table(
  'top_accounts',
  {
    taken_at: moment().notNull(),
    rank: integer().notNull(),
    account: address().notNull(),
    balance: amount().notNull(),
    ...restColumns(),
  },
  (t) => [primaryKey({ columns: [t.taken_at, t.rank] })],
);

describe(top_accounts, {
  comment: 'The accounts with the greatest balances, a snapshot each time that it was asked for.',
  columns: {
    taken_at: 'When the snapshot was taken, wall time, UTC, written by the program.',
    rank: 'Place among the accounts, from 1; accounts of one balance come in any order. Counted, and written by the program.',
    account: 'Account with that balance, raw form. From account of topAccountsByBalance.',
    balance: 'Nanotons on the account at that moment. From balance of topAccountsByBalance.',
    extra:
      'Members of topAccountsByBalance that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'keep' },
});

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
    ...restColumns(),
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

const state = () => ({
  account_state_hash: hash(),
  balance: amount(),
  extra_currencies: jsonb(),
  status: text(),
  frozen_hash: hash(),
  last_transaction_hash: hash(),
  data_hash: hash(),
  code_hash: hash(),
  data_boc: text(),
  code_boc: text(),
  contract_methods: bigint({ mode: 'number' }).array(),
  interfaces: text().array(),
  suspended: boolean(),
  ...restColumns(),
});

const comments = (table: string, when: string) => ({
  account_state_hash: `Hash of the whole state, base64; null only if not sent. ${when}`,
  balance: `Nanotons on the account; null only if not sent. ${when}`,
  extra_currencies: `Amounts of extra currencies by currency id; {} if there are none. ${when} From accounts[].extra_currencies.`,
  status: `Status: active, uninit, frozen or nonexist; null only if not sent. ${when}`,
  frozen_hash: `Hash of the state that a frozen account had, base64; else null. ${when}`,
  last_transaction_hash: `Hash of the transaction that left this state, base64; null only if not sent. ${when}`,
  data_hash: `Hash of the contract's data, base64; null if nothing is deployed. ${when}`,
  code_hash: `Hash of the contract's code, base64; null if nothing is deployed. ${when}`,
  data_boc: `The contract's data as a bag of cells, base64; null if ETL_ACCOUNT_BOCS was not yes. ${when}`,
  code_boc: `The contract's code as a bag of cells, base64; null if ETL_ACCOUNT_BOCS was not yes. ${when}`,
  contract_methods: `Ids of the get-methods that the code has; null if they are not known. ${when}`,
  interfaces: `What kinds of contract the indexer takes it for; null if it has not looked. ${when}`,
  suspended: `True if the network holds the account by vote; null if the server does not tell. ${when}`,
  extra: `Members of accounts[] that this version of the program has no column for in ${table}; null if there are none.`,
});

export const account_states = ton.table(
  'account_states',
  { address: address().primaryKey(), last_transaction_lt: int8().notNull(), ...state() },
  (t) => [index('account_states_code_index').on(t.code_hash)],
);

describe(account_states, {
  comment:
    'Accounts as they were when they were looked up last: one row each. A newer state replaces an older one, which stays in account_state_changes.',
  from: 'accounts[].*',
  columns: {
    address: 'Account whose state it is, raw form: the key.',
    last_transaction_lt: 'Logical time of the transaction that left this state; 0 if there was none.',
    ...comments('account_states', 'As looked up last.'),
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const account_state_changes = ton.table(
  'account_state_changes',
  {
    address: address().notNull(),
    last_transaction_lt: int8().notNull(),
    ...state(),
    first_seen: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.address, t.last_transaction_lt] })],
);

describe(account_state_changes, {
  comment:
    'Every state that a look-up has found an account in: a row each time that it had moved since. States between two look-ups are not here; transactions have their hashes.',
  from: 'accounts[].*',
  columns: {
    address: 'Account that was found in this state, raw form.',
    last_transaction_lt:
      'Logical time of the transaction that left the state that was found; 0 if there was none.',
    ...comments('account_state_changes', 'As of this state.'),
    first_seen:
      'When a look-up found the account in this state for the first time, wall time, UTC: written by the program.',
  },
  conflict: { kind: 'keep' },
});
