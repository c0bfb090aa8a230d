import * as z from 'zod';
import {
  account,
  hash,
  optionalAddress,
  count,
  digits,
  requiredInt64,
  requiredSeconds,
  seconds,
} from '../src/records/members.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { defineJob } from '../src/dataset/job.ts';
import { poolEvents } from '../src/records/staking.ts';
import { nominator_pool_events } from '../src/tables/ton/validators-and-pools.ts';

/**
 * One element of `events` of GET /api/v3/staking/nominatorPools/validatorEvents: a change of the validator's
 * own money in a nominator pool. `balance_delta` may be negative.
 */
export const nominatorPoolEvent = z.strictObject({
  tx_hash: hash,
  tx_lt: requiredInt64,
  utime: requiredSeconds,
  pool_address: account,
  validator_address: optionalAddress,
  type: z.string(),
  amount: digits,
  balance_delta: digits,
  balance_before: digits,
  balance_after: digits,
  query_id: digits,
  cycle_start: seconds,
  validator_reward_share: count,
});

export default defineJob({
  ...poolEvents,
  title: "Rewards, penalties, deposits and withdrawals of nominator pools' validators, pool by pool",
  path: '/api/v3/staking/nominatorPools/validatorEvents',
  index: { columns: 'nominator_pool_validator_events (pool, tx_now desc, tx_lt desc)', of: 'utime' },
  record: nominatorPoolEvent,
  position: { utime: 'utime', lt: 'tx_lt', id: ['tx_hash'] },
  tables: { nominator_pool_events },
  rows: oneRow(nominator_pool_events, nominatorPoolEvent),
});
