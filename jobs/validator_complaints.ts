import * as z from 'zod';
import {
  hash,
  optionalAddress,
  optionalHash,
  optionalKey,
  count,
  digits,
  flag,
  int,
  real,
  requiredCount,
  requiredSeconds,
  seconds,
  text,
  timeOf,
} from '../src/records/members.ts';
import { defineJob } from '../src/dataset/job.ts';
import { column, elsewhere, rowLayoutOf, type Put, type Extra } from '../src/dataset/declaration/record.ts';
import { electorRecords } from '../src/records/staking.ts';
import { window } from '../src/dataset/paginators/forward.ts';
import { complaint_votes, validator_complaints } from '../src/tables/ton/validators-and-pools.ts';

const vote = z.strictObject({
  validator_index: int,
  validator_pubkey: optionalKey,
  adnl_addr: optionalKey,
  weight: digits,
});

/**
 * One element of `complaints` of GET /api/v3/validators/complaints: one validator's claim that another one failed.
 * Votes, remaining weight and outcome change until the elector deletes it. `approved_percent` may be a fraction.
 */
export const validatorComplaint = z.strictObject({
  cycle_start: seconds,
  election_id: requiredCount,
  complaint_hash: hash,
  validator_pubkey: optionalKey,
  adnl_addr: optionalKey,
  stake_holder_address: optionalAddress,
  description_boc: text,
  created_at: column('utime', requiredSeconds),
  severity: count,
  reward_address: optionalAddress,
  paid: digits,
  suggested_fine: digits,
  suggested_fine_part: count,
  voted_validators: elsewhere(z.array(vote).nullish()),
  vset_id: optionalHash,
  weight_remaining: digits,
  approved_percent: real,
  is_passed: flag,
});

const complaints = rowLayoutOf(validator_complaints, validatorComplaint);
const voteLayout = rowLayoutOf(complaint_votes, vote);

export default defineJob({
  ...electorRecords,
  title: 'Complaints that validators did not do their work, with the votes on them',
  path: '/api/v3/validators/complaints',
  list: 'complaints',
  // The endpoint accepts no logical times; the table is small.
  index: { columns: 'none on created_at: all of validator_complaints, a few a cycle', of: 'none' },
  paginator: window({ offsets: true }),
  record: validatorComplaint,
  position: { utime: 'created_at', id: ['election_id', 'complaint_hash'] },
  tables: { validator_complaints, complaint_votes },
  rows: complaintRows,
  everySeconds: 300,
});

function complaintRows(record: z.output<typeof validatorComplaint>, extra: Extra, put: Put): void {
  const { created_at, election_id, complaint_hash, voted_validators: votes } = record;
  put(complaints, record, { vote_count: votes?.length }, extra);
  for (const [position, vote] of (votes ?? []).entries())
    put(voteLayout, vote, { utime: timeOf(created_at), election_id, complaint_hash, position });
}
