import { boolean, index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import {
  address,
  amount,
  count8,
  hash,
  int8,
  moment,
  utime,
  describe,
  ton,
  restColumns,
} from '../describe.ts';

export const nominator_pool_events = ton.table(
  'nominator_pool_events',
  {
    utime: utime(),
    tx_lt: int8().notNull(),
    tx_hash: hash().notNull(),
    pool_address: address().notNull(),
    validator_address: address(),
    type: text().notNull(),
    amount: amount(),
    balance_delta: amount(),
    balance_before: amount(),
    balance_after: amount(),
    query_id: amount(),
    cycle_start: moment(),
    validator_reward_share: count8(),
    ...restColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.tx_lt, t.tx_hash] }),
    // The dataset is read and covered for each pool.
    index('nominator_pool_events_pool').on(t.pool_address, t.utime),
  ],
);

describe(nominator_pool_events, {
  comment:
    "Changes of a validator's own money in a nominator pool: rewards, penalties, deposits, withdrawals, one row an event. Read from GET /api/v3/staking/nominatorPools/validatorEvents, which some servers do not have, for each pool that is watched or indexed: coverage is kept for each pool. A row never changes. There is no checksum for them: each second is read twice.",
  from: 'events[].* of nominatorPools/validatorEvents',
  columns: {
    utime: "Block time, UTC, of the pool's transaction.",
    tx_lt: "Logical time of the pool's transaction.",
    tx_hash: "Hash of the pool's transaction, base64: identity of the event.",
    pool_address: 'Nominator pool that the event belongs to, raw form.',
    validator_address: 'Validator whose money changed, raw form.',
    type: "What changed the validator's money: reward, penalty, deposit or withdrawal.",
    amount: 'Size of the event, nanotons, never below zero.',
    balance_delta: "Change of the validator's money in the pool, nanotons; below zero where it became less.",
    balance_before: "The validator's money in the pool before the event, nanotons.",
    balance_after: "The validator's money in the pool after the event, nanotons.",
    query_id:
      'Number that the sender chose to tell its requests apart, up to 64 bits; null if the event has none.',
    cycle_start:
      'Start of the validation cycle that the reward or penalty is for, UTC; null for deposits and withdrawals.',
    validator_reward_share: "Share of the pool's rewards that the validator keeps, in units of 1/10000.",
  },
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const nominator_events = ton.table(
  'nominator_events',
  {
    utime: utime(),
    tx_lt: int8().notNull(),
    tx_hash: hash().notNull(),
    nominator_address: address().notNull(),
    type: text().notNull(),
    pool_address: address().notNull(),
    amount: amount(),
    balance_delta: amount(),
    pending_balance_delta: amount(),
    balance_before: amount(),
    balance_after: amount(),
    pending_balance_before: amount(),
    pending_balance_after: amount(),
    withdraw_request_before: boolean(),
    withdraw_request_after: boolean(),
    ...restColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.tx_lt, t.tx_hash, t.nominator_address, t.type] }),
    // The dataset is read and covered for each pool.
    index('nominator_events_pool').on(t.pool_address, t.utime),
  ],
);

describe(nominator_events, {
  comment:
    "Changes of a nominator's money in a nominator pool: rewards, deposits, withdrawals, one row an event. Read from GET /api/v3/staking/nominatorPools/nominatorEvents, which some servers do not have, for each pool that is watched or indexed: coverage is kept for each pool. A row never changes. There is no checksum for them: each second is read twice.",
  from: 'events[].* of nominatorPools/nominatorEvents',
  columns: {
    utime: "Block time, UTC, of the pool's transaction.",
    tx_lt: "Logical time of the pool's transaction.",
    tx_hash:
      "Hash of the pool's transaction, base64: one transaction may change the money of many nominators.",
    nominator_address: 'Nominator whose money changed, raw form.',
    type: "What changed the nominator's money: reward (below zero after a fine), deposit, withdrawal, pending_deposit_activation or withdrawal_request.",
    pool_address: 'Nominator pool that holds the money, raw form.',
    amount: 'Size of the event, nanotons; below zero only for a reward after a fine.',
    balance_delta: "Change of the nominator's money that is at work in the pool, nanotons.",
    pending_balance_delta: "Change of the nominator's money that waits for the next cycle, nanotons.",
    balance_before: "The nominator's money at work before the event, nanotons.",
    balance_after: "The nominator's money at work after the event, nanotons.",
    pending_balance_before: "The nominator's waiting money before the event, nanotons.",
    pending_balance_after: "The nominator's waiting money after the event, nanotons.",
    withdraw_request_before: 'True if the nominator had asked for its money before the event.',
    withdraw_request_after: 'True if the nominator still asks for its money after the event.',
  },
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const nominator_pools = ton.table('nominator_pools', {
  address: address().primaryKey(),
  validator_address: address(),
  validator_amount: amount(),
  validator_reward_share: count8(),
  stake_amount_sent: amount(),
  state: count8(),
  nominators_count: count8(),
  max_nominators_count: count8(),
  min_validator_stake: amount(),
  min_nominator_stake: amount(),
  active_nominators: jsonb(),
  ...restColumns(),
});

describe(nominator_pools, {
  comment:
    'Nominator pools with their nominators: one row each, as it was when it was looked up last. Read from GET /api/v3/staking/nominatorPools/pool, which some servers do not have. The view nominators has a row for each nominator.',
  from: '*',
  columns: {
    address:
      'Account of the nominator pool, raw form: the key. The response does not name it; written by the program, which asked for it.',
    validator_address: 'Validator that the pool works for, raw form.',
    validator_amount: "The validator's own money in the pool, nanotons.",
    validator_reward_share: "Share of the pool's rewards that the validator keeps, in units of 1/10000.",
    stake_amount_sent: 'Stake that the pool has sent to the elector, nanotons; 0 if it has none there.',
    state: 'State of the pool: 0 waits, 1 has sent its stake, 2 takes part in a cycle.',
    nominators_count: 'How many nominators the pool has.',
    max_nominators_count: 'How many nominators the pool takes at most.',
    min_validator_stake: 'Least money of its own that the validator must have in the pool, nanotons.',
    min_nominator_stake: 'Least money that a nominator must have in the pool, nanotons.',
    active_nominators:
      'Nominators of the pool as a JSON array: address, balance (at work) and pending_balance (waits for the next cycle), nanotons; null if the API sends none.',
    extra:
      'Members of nominatorPools/pool that this version of the program has no column for, by dotted path; null if there are none.',
  },
  conflict: { kind: 'replace' },
});
