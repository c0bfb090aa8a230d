import { z } from 'zod';
import { count, digits, requiredInt64, requiredSeconds, seconds, text } from './scalar.ts';

/**
 * One element of `events` of GET /api/v3/staking/nominatorPools/validatorEvents: a change of the validator's own money
 * in a nominator pool. `balance_delta` may be negative.
 */
export const nominatorPoolEvent = z.strictObject({
  tx_hash: z.string(),
  tx_lt: requiredInt64,
  utime: requiredSeconds,
  pool_address: z.string(),
  validator_address: text,
  type: z.string(),
  amount: digits,
  balance_delta: digits,
  balance_before: digits,
  balance_after: digits,
  query_id: digits,
  cycle_start: seconds,
  validator_reward_share: count,
});

export type NominatorPoolEvent = z.output<typeof nominatorPoolEvent>;
