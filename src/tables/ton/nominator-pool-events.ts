import { index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, hash, int8, loadedAt, moment, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

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
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.tx_lt, t.tx_hash] }),
    // Read and covered pool by pool.
    index('nominator_pool_events_pool').on(t.pool_address, t.utime),
  ],
);

describe(nominator_pool_events, {
  comment:
    "Changes of a validator's own money in a nominator pool: rewards, penalties, deposits, withdrawals, one row an event. Read from GET /api/v3/staking/nominatorPools/validatorEvents, which some servers do not have, for each pool that is watched or indexed: coverage is kept for each pool. A row never changes. There is no checksum for them: each second is read twice.",
  columns: {
    utime:
      "block time, UTC, of the pool's transaction. From events[].utime of nominatorPools/validatorEvents.",
    tx_lt: "Logical time of the pool's transaction. From events[].tx_lt of nominatorPools/validatorEvents.",
    tx_hash:
      "Hash of the pool's transaction, base64: identity of the event. From events[].tx_hash of nominatorPools/validatorEvents.",
    pool_address: 'Nominator pool that the event belongs to, raw form. From events[].pool_address.',
    validator_address:
      'Validator whose money changed, raw form. From events[].validator_address; null only if not sent.',
    type: "What changed the validator's money: reward, penalty, deposit or withdrawal. From events[].type of nominatorPools/validatorEvents.",
    amount:
      'Size of the event, nanotons, never below zero. From events[].amount of nominatorPools/validatorEvents; null only if not sent.',
    balance_delta:
      "Change of the validator's money in the pool, nanotons; below zero if it became less. From events[].balance_delta; null only if not sent.",
    balance_before:
      "The validator's money in the pool before the event, nanotons. From events[].balance_before; null only if not sent.",
    balance_after:
      "The validator's money in the pool after the event, nanotons. From events[].balance_after; null only if not sent.",
    query_id:
      'Number that the sender chose to tell its requests apart, up to 64 bits; null if the event has none. From events[].query_id of nominatorPools/validatorEvents.',
    cycle_start:
      'Start of the validation cycle that the reward or penalty is for, UTC; null for deposits and withdrawals. From events[].cycle_start.',
    validator_reward_share:
      "Share of the pool's rewards that the validator keeps, in units of 1/10000. From events[].validator_reward_share; null only if not sent.",
    extra:
      'Members of events[] of nominatorPools/validatorEvents that this version of the program has no column for, by dotted path; null if there are none.',
    loaded_at: 'When this row of nominator_pool_events was last written by the program, wall time, UTC.',
  },
  key: ['utime', 'tx_lt', 'tx_hash'],
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});
