import * as z from 'zod';
import { type Extra, column, elsewhere, rowLayoutOf, type Put } from '../src/dataset/declaration/record.ts';
import { electorRecords } from '../src/records/staking.ts';
import { defineJob } from '../src/dataset/job.ts';
import { window } from '../src/dataset/paginators/forward.ts';
import {
  optionalAddress,
  optionalKey,
  count,
  digits,
  flag,
  int,
  requiredSeconds,
  seconds,
  timeOf,
} from '../src/records/members.ts';
import { election_participants, validator_elections } from '../src/tables/ton/validators-and-pools.ts';

const participant = z.strictObject({
  validator_pubkey: optionalKey,
  validator_index: int,
  stake: digits,
  max_factor: count,
  stake_holder_address: optionalAddress,
  adnl_addr: optionalKey,
});

/** One element of `elections` of GET /api/v3/validators/elections: the candidates for validators, with their stakes. */
export const validatorElection = z.strictObject({
  election_id: column('utime', requiredSeconds),
  elect_close: seconds,
  min_stake: digits,
  total_stake: digits,
  total_participants: count,
  failed: flag,
  finished: flag,
  participants: elsewhere(z.array(participant).nullish()),
});

const elections = rowLayoutOf(validator_elections, validatorElection);
const participants = rowLayoutOf(election_participants, participant);

export default defineJob({
  ...electorRecords,
  title: 'Elections of validators, with everyone who took part and its stake',
  path: '/api/v3/validators/elections',
  params: { return_participants: true, ...electorRecords.params },
  list: 'elections',
  index: { columns: 'validator_elections (election_id), a few a day', of: 'none' },
  // With participants, a page holds at most 100.
  paginator: window({ maxSize: 100 }),
  record: validatorElection,
  position: { utime: 'election_id', id: ['election_id'] },
  tables: { validator_elections, election_participants },
  rows: electionRows,
  everySeconds: 1800,
});

function electionRows(record: z.output<typeof validatorElection>, extra: Extra, put: Put): void {
  const { participants: all } = record;
  const election_id = Number(record.election_id);
  put(elections, record, { election_id, participant_count: all?.length }, extra);
  for (const [position, one] of (all ?? []).entries())
    put(participants, one, { utime: timeOf(election_id), election_id, position });
}
