import type { ValidatorComplaint } from '../schemas/validator-complaint.ts';
import type { complaint_votes, validator_complaints } from '../../db/schema/validator-complaints.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';
import { momentOf } from './moment.ts';

/** The rows of one complaint: its own, and one for each vote. */
export interface ComplaintRows {
  readonly validator_complaints: readonly (typeof validator_complaints.$inferInsert)[];
  readonly complaint_votes: readonly (typeof complaint_votes.$inferInsert)[];
}

export function complaintRows(record: ValidatorComplaint, extra: Extra): ComplaintRows {
  const {
    created_at,
    election_id,
    complaint_hash,
    cycle_start,
    voted_validators: votes,
    ...columns
  } = record;
  const key = { utime: formatTime(created_at), election_id, complaint_hash };
  return {
    validator_complaints: [
      {
        ...key,
        ...columns,
        cycle_start: momentOf(cycle_start),
        vote_count: votes?.length,
        extra: orNull(extra),
      },
    ],
    complaint_votes: (votes ?? []).map((vote, position) => ({ ...key, position, ...vote })),
  };
}
