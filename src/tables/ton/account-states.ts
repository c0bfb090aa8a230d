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
