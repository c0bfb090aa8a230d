import { boolean, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, loadedAt, moment, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const validator_elections = ton.table(
  'validator_elections',
  {
    utime: utime(),
    election_id: count8().notNull(),
    elect_close: moment(),
    min_stake: amount(),
    total_stake: amount(),
    total_participants: count8(),
    failed: boolean(),
    finished: boolean(),
    participant_count: integer(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.election_id] })],
);

describe(validator_elections, {
  comment:
    'Elections of validators by the elector, one row an election. Read from GET /api/v3/validators/elections, which some servers do not have. An election is known before its validators begin, and changes until it is finished: its second is read again later, and exchanged as a whole. Who took part is in election_participants; the set that was elected is in validator_cycles.',
  from: 'elections[].*',
  columns: {
    utime:
      'When the validators of this election begin, UTC: the election’s id as a time. From elections[].election_id.',
    election_id: 'Name of the election: the unix time at which its validators begin.',
    elect_close: 'When the elector takes no more stakes, UTC.',
    min_stake: 'Least stake that the elector takes, nanotons.',
    total_stake: 'Stakes of all participants together, nanotons.',
    total_participants: 'How many took part.',
    failed: 'True if the elector could elect no set.',
    finished: 'True if the election has ended.',
    participant_count:
      'How many participants the server listed, each a row of election_participants. The length of elections[].participants; null if the server listed none at all.',
  },
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const election_participants = ton.table(
  'election_participants',
  {
    utime: utime(),
    election_id: count8().notNull(),
    position: integer().notNull(),
    validator_pubkey: text(),
    validator_index: integer(),
    stake: amount(),
    max_factor: count8(),
    stake_holder_address: address(),
    adnl_addr: text(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.election_id, t.position] })],
);

describe(election_participants, {
  comment:
    'Who asked to become a validator in an election, one row a participant; they come and go with their election.',
  from: 'elections[].participants[].*',
  columns: {
    utime:
      'When the validators of the election begin, UTC: equals utime in validator_elections. From elections[].election_id.',
    election_id: 'Election of this participant. From elections[].election_id, as in validator_elections.',
    position: 'Place of the participant in the list, from 0. The index in elections[].participants.',
    validator_pubkey: 'Public key of the participant, 64 upper-case hex digits.',
    validator_index:
      'Number of the participant in the set that was elected; null if it was not elected, or not yet.',
    stake: 'What the participant staked, nanotons.',
    max_factor:
      'How many times the smallest stake of the set the participant is willing to stake, in units of 1/65536.',
    stake_holder_address: 'Account that sent the stake and gets it back, raw form.',
    adnl_addr: 'Network address (ADNL) of the participant, 64 upper-case hex digits.',
  },
  conflict: { kind: 'replace' },
  partitioned: true,
});
