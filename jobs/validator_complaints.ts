import { z } from 'zod';
import { requiredSeconds } from '../src/records/schemas/scalar.ts';
import { validatorComplaint } from '../src/records/schemas/validator-complaint.ts';
import { complaint_votes, validator_complaints } from '../src/db/schema/validator-complaints.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { defineJob } from '../src/dataset/job.ts';
import { window } from '../src/dataset/paginators/window.ts';
import { complaintRows } from '../src/records/rows/validator-complaint.ts';

const position = z
  .object({ created_at: requiredSeconds, election_id: z.number(), complaint_hash: z.string() })
  .transform((raw) => ({ utime: raw.created_at, lt: '0', id: `${raw.election_id}/${raw.complaint_hash}` }));

export default defineJob({
  title: 'Complaints that validators did not do their work, with the votes on them',
  path: '/api/v3/validators/complaints',
  params: { x_no_address_book: true },
  list: 'complaints',
  paginator: window(),
  record: validatorComplaint,
  position,
  tables: { validator_complaints, complaint_votes },
  rows: complaintRows,
  // Served from a copy of the database that lags by minutes.
  delay: 900,
  // Validators vote until the elector gives the stakes of the accused one's election back: its round of 65536 s and
  // 32768 s more, counted from the start of the round at the latest. Nothing changes after that.
  exchange: true,
  maturity: 100_000,
  checks: { 'second-reading': true },
  grade: CROSS_CHECKED,
});
