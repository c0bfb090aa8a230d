import { z } from 'zod';
import { count, digits, requiredInt64, requiredSeconds, text } from './scalar.ts';

/**
 * One element of `events` of GET /api/v3/validators/events: what the elector did with a stake. Members that an event's
 * type does not have are left out.
 */
export const validatorEvent = z.strictObject({
  tx_hash: z.string(),
  tx_lt: requiredInt64,
  utime: requiredSeconds,
  type: z.string(),
  stake_holder_address: text,
  validator_pubkey: text,
  adnl_addr: text,
  election_id: count,
  query_id: digits,
  amount: digits,
  reason: count,
});

export type ValidatorEvent = z.output<typeof validatorEvent>;
