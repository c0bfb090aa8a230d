import * as z from 'zod';
import {
  account,
  accountStatus,
  optionalHash,
  digits,
  extraCurrencies,
  flag,
  int64,
  requiredCount,
  text,
  texts,
} from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { elsewhere, rowLayoutOf } from '../src/dataset/declaration/record.ts';
import { account_state_changes, account_states } from '../src/tables/ton/account-states.ts';

/** One element of `accounts` of GET /api/v3/accountStates. */
export const accountStateFull = z.strictObject({
  address: account,
  account_state_hash: optionalHash,
  balance: digits,
  extra_currencies: extraCurrencies,
  status: accountStatus.nullish(),
  frozen_hash: optionalHash,
  last_transaction_hash: optionalHash,
  last_transaction_lt: elsewhere(int64),
  data_hash: optionalHash,
  code_hash: optionalHash,
  data_boc: text,
  code_boc: text,
  contract_methods: z.array(requiredCount).nullish(),
  interfaces: texts,
  suspended: flag,
});

const states = rowLayoutOf(account_states, accountStateFull);
const changes = rowLayoutOf(account_state_changes, accountStateFull);

export default defineCollection({
  title: 'Balance, status, code and last transaction of accounts, with every state that a look-up has found',
  limitations:
    'states between two look-ups; accounts that neither the watch list nor an indexed transaction names',
  tables: { account_states, account_state_changes },
  walks: [
    lookup({
      path: '/api/v3/accountStates',
      index: 'latest_account_states (account)',
      params: ({ bocs }) => ({ include_boc: bocs }),
      shape: { member: 'accounts' },
      batch: { param: 'address' },
      record: accountStateFull,
      id: ['address'],
      rows: (record, extra, put, { at }) => {
        const last_transaction_lt = record.last_transaction_lt ?? '0';
        put(states, record, { last_transaction_lt }, extra);
        put(changes, record, { last_transaction_lt, first_seen: at }, extra);
      },
      answers: { key: 'address', lt: 'last_transaction_lt' },
      // Watched accounts may move without an indexed row that shows it.
      refreshSeconds: 300,
      subjects: {
        watched: true,
        onlyIfSeen: true,
        seenIn: [{ relation: 'ton.transactions', key: 'account', lt: 'lt', time: 'utime' }],
      },
    }),
  ],
});
