import { z } from 'zod';
import { count, digits, flag, int, requiredSeconds, seconds, text } from './scalar.ts';

const vote = z.strictObject({
  validator_index: int,
  validator_pubkey: text,
  adnl_addr: text,
  weight: digits,
});

/**
 * One element of `complaints` of GET /api/v3/validators/complaints: one validator's claim that another one failed. Votes,
 * remaining weight and outcome change until the elector forgets it. `approved_percent` may be a fraction.
 */
export const validatorComplaint = z.strictObject({
  cycle_start: seconds,
  election_id: z.int(),
  complaint_hash: z.string(),
  validator_pubkey: text,
  adnl_addr: text,
  stake_holder_address: text,
  description_boc: text,
  created_at: requiredSeconds,
  severity: count,
  reward_address: text,
  paid: digits,
  suggested_fine: digits,
  suggested_fine_part: count,
  voted_validators: z.array(vote).nullish(),
  vset_id: text,
  weight_remaining: digits,
  approved_percent: z.number().nullish(),
  is_passed: flag,
});

export type ValidatorComplaint = z.output<typeof validatorComplaint>;
