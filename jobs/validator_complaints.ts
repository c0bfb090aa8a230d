import { hash, optionalAddress, optionalHash, optionalKey } from '../src/records/members/form.ts';
import { z } from 'zod';
import { defineJob, type RowsOf } from '../src/dataset/job.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { window } from '../src/dataset/paginators/window.ts';
import { orNull, type Extra } from '../src/dataset/record.ts';
import { complaint_votes, validator_complaints } from '../src/db/schema/ton/validator-complaints.ts';
import { formatTime } from '../src/range.ts';
import {
  count,
  digits,
  flag,
  int,
  momentOf,
  requiredSeconds,
  seconds,
  text,
} from '../src/records/members/scalar.ts';

const vote = z.strictObject({
  validator_index: int,
  validator_pubkey: optionalKey,
  adnl_addr: optionalKey,
  weight: digits,
});

/**
 * One element of `complaints` of GET /api/v3/validators/complaints: one validator's claim that another one failed. Votes,
 * remaining weight and outcome change until the elector forgets it. `approved_percent` may be a fraction.
 */
export const validatorComplaint = z.strictObject({
  cycle_start: seconds,
  election_id: z.int(),
  complaint_hash: hash,
  validator_pubkey: optionalKey,
  adnl_addr: optionalKey,
  stake_holder_address: optionalAddress,
  description_boc: text,
  created_at: requiredSeconds,
  severity: count,
  reward_address: optionalAddress,
  paid: digits,
  suggested_fine: digits,
  suggested_fine_part: count,
  voted_validators: z.array(vote).nullish(),
  vset_id: optionalHash,
  weight_remaining: digits,
  approved_percent: z.number().nullish(),
  is_passed: flag,
});

const position = z
  .object({ created_at: requiredSeconds, election_id: z.number(), complaint_hash: z.string() })
  .transform((raw) => ({ utime: raw.created_at, lt: '0', id: `${raw.election_id}/${raw.complaint_hash}` }));

const tables = { validator_complaints, complaint_votes };

export default defineJob({
  title: 'Complaints that validators did not do their work, with the votes on them',
  path: '/api/v3/validators/complaints',
  params: { x_no_address_book: true },
  list: 'complaints',
  paginator: window(),
  record: validatorComplaint,
  position,
  tables,
  rows: complaintRows,
  // Served from a copy of the database that lags by minutes.
  delaySeconds: 900,
  everySeconds: 300,
  // Validators vote until the elector gives the stakes of the accused one's election back: its round of 65536 s and
  // 32768 s more, counted from the start of the round at the latest. Nothing changes after that.
  replacesRows: true,
  maturitySeconds: 100_000,
  checks: { 'second-reading': true },
  grade: CROSS_CHECKED,
});

/** The rows of one complaint: its own, and one for each vote. */
function complaintRows(record: z.output<typeof validatorComplaint>, extra: Extra): RowsOf<typeof tables> {
  const {
    created_at,
    election_id,
    complaint_hash,
    cycle_start,
    voted_validators: votes,
    ...columns
  } = record;
  const key = { utime: formatTime(created_at), election_id, complaint_hash };
  const own = { ...key, ...columns, cycle_start: momentOf(cycle_start), vote_count: votes?.length };
  return {
    validator_complaints: [{ ...own, extra: orNull(extra) }],
    complaint_votes: (votes ?? []).map((vote, position) => ({ ...key, position, ...vote })),
  };
}
