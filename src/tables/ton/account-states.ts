import { index } from 'drizzle-orm/pg-core';
import {
  address,
  amount,
  boolean,
  count8,
  counts,
  hash,
  int8,
  integer,
  jsonb,
  moment,
  restColumns,
  text,
  texts,
  tonTable,
} from '../describe.ts';

export const top_accounts = tonTable('top_accounts', {
  comment: 'The accounts with the greatest balances, a snapshot each time that it was asked for.',
  columns: {
    taken_at: moment('When the snapshot was taken, wall time, UTC, written by the program.').notNull(),
    rank: integer(
      'Place among the accounts, from 1; accounts of one balance come in any order. Counted, and written by the program.',
    ).notNull(),
    account: address('Account with that balance, raw form. From account of topAccountsByBalance.').notNull(),
    balance: amount(
      'Nanotons on the account at that moment. From balance of topAccountsByBalance.',
    ).notNull(),
    ...restColumns(
      'Members of topAccountsByBalance that this version of the program has no column for; null if there are none.',
    ),
  },
  key: ['taken_at', 'rank'],
  conflict: { kind: 'keep' },
});

export const extended_account_states = tonTable('extended_account_states', {
  comment:
    'Watched accounts as nodes take them apart (v2), one row for each masterchain block at which one was looked at: of wallets the kind, the seqno and the key.',
  from: 'result.* of getExtendedAddressInformation',
  columns: {
    address: address('Account that was looked at, raw form.').notNull(),
    mc_seqno: integer(
      'Masterchain block whose state was looked at; null if the node names a block of a shard. From result.block_id.seqno of getExtendedAddressInformation.',
    ),
    sync_utime: moment('Block time, UTC, of that masterchain block.').notNull(),
    balance: amount('Nanotons on the account then; null only if not sent.'),
    extra_currencies: jsonb(
      'Extra currencies on the account then, an array of id and amount. From result.extra_currencies of getExtendedAddressInformation.',
    ),
    last_transaction_lt: int8(
      'Logical time of its last transaction then; 0 if there was none. From result.last_transaction_id.lt of getExtendedAddressInformation.',
    ).notNull(),
    last_transaction_hash: hash(
      'Hash of its last transaction then, base64. From result.last_transaction_id.hash of getExtendedAddressInformation.',
    ).notNull(),
    kind: text(
      'What the node takes the account for: wallet.v4.accountState, raw.accountState, … From result.account_state of getExtendedAddressInformation.',
    ).notNull(),
    wallet_id: count8(
      'Number of the wallet among those of its key; null if the kind has none. From result.account_state, its wallet_id, of getExtendedAddressInformation.',
    ),
    seqno: integer(
      'Number that the wallet expects of its next order; null if the kind has none. From result.account_state, its seqno, of getExtendedAddressInformation.',
    ),
    public_key: text(
      "The wallet's public key; null if the node does not tell it. From result.account_state, its public_key, of getExtendedAddressInformation.",
    ),
    account_state: jsonb(
      'Everything that the node tells of the state by its kind: code, data, limits.',
    ).notNull(),
    revision: integer("Version of the contract's code as the node counts it; null only if not sent."),
    block_root_hash: hash(
      'Root hash of that masterchain block, base64. From result.block_id.root_hash of getExtendedAddressInformation.',
    ).notNull(),
    block_file_hash: hash(
      'File hash of that masterchain block, base64. From result.block_id.file_hash of getExtendedAddressInformation.',
    ).notNull(),
    ...restColumns(
      'Members of the result of getExtendedAddressInformation that this version of the program has no column for; null if there are none.',
    ),
  },
  key: ['address', 'block_root_hash'],
  conflict: { kind: 'replace' },
});

const state = (table: string, when: string) => ({
  account_state_hash: hash(`Hash of the whole state, base64; null only if not sent. ${when}`),
  balance: amount(`Nanotons on the account; null only if not sent. ${when}`),
  extra_currencies: jsonb(
    `Amounts of extra currencies by currency id; {} if there are none. ${when} From accounts[].extra_currencies.`,
  ),
  status: text(`Status: active, uninit, frozen or nonexist; null only if not sent. ${when}`),
  frozen_hash: hash(`Hash of the state that a frozen account had, base64; else null. ${when}`),
  last_transaction_hash: hash(
    `Hash of the transaction that left this state, base64; null only if not sent. ${when}`,
  ),
  data_hash: hash(`Hash of the contract's data, base64; null if nothing is deployed. ${when}`),
  code_hash: hash(`Hash of the contract's code, base64; null if nothing is deployed. ${when}`),
  data_boc: text(
    `The contract's data as a bag of cells, base64; null if ETL_ACCOUNT_BOCS was not yes. ${when}`,
  ),
  code_boc: text(
    `The contract's code as a bag of cells, base64; null if ETL_ACCOUNT_BOCS was not yes. ${when}`,
  ),
  contract_methods: counts(`Ids of the get-methods that the code has; null if they are not known. ${when}`),
  interfaces: texts(`What kinds of contract the indexer takes it for; null if it has not looked. ${when}`),
  suspended: boolean(
    `True if the network holds the account by vote; null if the server does not tell. ${when}`,
  ),
  ...restColumns(
    `Members of accounts[] that this version of the program has no column for in ${table}; null if there are none.`,
  ),
});

export const account_states = tonTable('account_states', {
  comment:
    'Accounts as they were when they were looked up last: one row each. A newer state replaces an older one, which stays in account_state_changes.',
  from: 'accounts[].*',
  columns: {
    address: address('Account whose state it is, raw form: the key.').primaryKey(),
    last_transaction_lt: int8(
      'Logical time of the transaction that left this state; 0 if there was none.',
    ).notNull(),
    ...state('account_states', 'As looked up last.'),
  },
  indexes: (t) => [index('account_states_code_index').on(t.code_hash)],
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const account_state_changes = tonTable('account_state_changes', {
  comment:
    'Every state that a look-up has found an account in: a row each time that it had moved since. States between two look-ups are not here; transactions have their hashes.',
  from: 'accounts[].*',
  columns: {
    address: address('Account that was found in this state, raw form.').notNull(),
    last_transaction_lt: int8(
      'Logical time of the transaction that left the state that was found; 0 if there was none.',
    ).notNull(),
    ...state('account_state_changes', 'As of this state.'),
    first_seen: moment(
      'When a look-up found the account in this state for the first time, wall time, UTC: written by the program.',
    ).notNull(),
  },
  key: ['address', 'last_transaction_lt'],
  conflict: { kind: 'keep' },
});
