import { bigint, boolean, index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

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
  extra: jsonb(),
  loaded_at: loadedAt(),
});

const member = (table: string, words: string, name: string) =>
  `${words} ${table === 'account_states' ? 'As looked up last.' : 'As of this state.'} From accounts[].${name}.`;

const comments = (of: string) => ({
  account_state_hash: member(
    of,
    'Hash of the whole state, base64; null only if not sent.',
    'account_state_hash',
  ),
  balance: member(of, 'Nanotons on the account; null only if not sent.', 'balance'),
  extra_currencies: member(
    of,
    'Amounts of extra currencies by currency id; {} if there are none.',
    'extra_currencies',
  ),
  status: member(of, 'Status: active, uninit, frozen or nonexist; null only if not sent.', 'status'),
  frozen_hash: member(of, 'Hash of the state that a frozen account had, base64; else null.', 'frozen_hash'),
  last_transaction_hash: member(
    of,
    'Hash of the transaction that left this state, base64; null only if not sent.',
    'last_transaction_hash',
  ),
  data_hash: member(of, "Hash of the contract's data, base64; null if nothing is deployed.", 'data_hash'),
  code_hash: member(of, "Hash of the contract's code, base64; null if nothing is deployed.", 'code_hash'),
  data_boc: member(
    of,
    "The contract's data as a bag of cells, base64; null if ETL_ACCOUNT_BOCS was not yes.",
    'data_boc',
  ),
  code_boc: member(
    of,
    "The contract's code as a bag of cells, base64; null if ETL_ACCOUNT_BOCS was not yes.",
    'code_boc',
  ),
  contract_methods: member(
    of,
    'Ids of the get-methods that the code has; null if they are not known.',
    'contract_methods',
  ),
  interfaces: member(
    of,
    'What kinds of contract the indexer takes it for; null if it has not looked.',
    'interfaces',
  ),
  suspended: member(
    of,
    'True if the network holds the account by vote; null if the server does not tell.',
    'suspended',
  ),
  extra: `Members of accounts[] that this version of the program has no column for in ${of}; null if there are none.`,
});

export const account_states = ton.table(
  'account_states',
  { address: address().primaryKey(), last_transaction_lt: int8().notNull(), ...state() },
  (t) => [index('account_states_code_index').on(t.code_hash)],
);

describe(account_states, {
  comment:
    'Accounts as they were when they were looked up last: one row each. A newer state replaces an older one, which stays in account_state_changes.',
  columns: {
    address: 'Account whose state it is, raw form: the key. From accounts[].address.',
    last_transaction_lt:
      'Logical time of the transaction that left this state; 0 if there was none. From accounts[].last_transaction_lt.',
    ...comments('account_states'),
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
  columns: {
    address: 'Account that was found in this state, raw form. From accounts[].address.',
    last_transaction_lt:
      'Logical time of the transaction that left the state that was found; 0 if there was none. From accounts[].last_transaction_lt.',
    ...comments('account_state_changes'),
    first_seen:
      'When a look-up found the account in this state for the first time, wall time, UTC: written by the program.',
  },
  conflict: { kind: 'keep' },
});
