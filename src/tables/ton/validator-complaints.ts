import { boolean, doublePrecision, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, hash, loadedAt, moment, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const validator_complaints = ton.table(
  'validator_complaints',
  {
    utime: utime(),
    election_id: count8().notNull(),
    complaint_hash: hash().notNull(),
    cycle_start: moment(),
    validator_pubkey: text(),
    adnl_addr: text(),
    stake_holder_address: address(),
    description_boc: text(),
    severity: count8(),
    reward_address: address(),
    paid: amount(),
    suggested_fine: amount(),
    suggested_fine_part: count8(),
    vset_id: hash(),
    weight_remaining: amount(),
    approved_percent: doublePrecision(),
    is_passed: boolean(),
    vote_count: integer(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.election_id, t.complaint_hash] })],
);

describe(validator_complaints, {
  comment:
    'Complaints to the elector that a validator did not do its work, one row a complaint. Read from GET /api/v3/validators/complaints, which some servers do not have. Votes and outcome change until the elector forgets the complaint: its second is read again after that, and exchanged as a whole. The votes are in complaint_votes.',
  from: 'complaints[].*',
  columns: {
    utime: 'Block time, UTC, at which the complaint was made. From complaints[].created_at.',
    election_id: 'Election of the accused validator, named by the unix time at which its validators begin.',
    complaint_hash: 'Hash of the complaint, base64: its identity within the election.',
    cycle_start: 'When the accused validator began its work, UTC: the start of its validation cycle.',
    validator_pubkey: 'Public key of the accused validator, 64 upper-case hex digits.',
    adnl_addr:
      'Network address (ADNL) of the accused validator, 64 upper-case hex digits; null if the source does not know it.',
    stake_holder_address:
      'Account that holds the stake of the accused validator, raw form; null if the source does not know it.',
    description_boc: 'What the validator is accused of, with proofs, as a bag of cells in base64.',
    severity: 'How grave the complaint is, as its author says.',
    reward_address: 'Account that gets the reward if the complaint passes, raw form.',
    paid: 'What the author paid for keeping the complaint, nanotons.',
    suggested_fine: 'Fixed part of the fine that the author asks for, nanotons.',
    suggested_fine_part: 'Part of the stake that the author asks for on top, in units of 1/2^32.',
    vset_id: 'Hash of the set of validators that votes on the complaint, base64.',
    weight_remaining:
      'Voting weight that is still missing for the complaint to pass; below zero once it has.',
    approved_percent: 'Share of the voting weight that is for the complaint, percent, perhaps a fraction.',
    is_passed: 'True if enough validators voted for the complaint.',
    vote_count:
      'How many validators have voted for the complaint, each a row of complaint_votes. The length of complaints[].voted_validators; null if the server says null.',
  },
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const complaint_votes = ton.table(
  'complaint_votes',
  {
    utime: utime(),
    election_id: count8().notNull(),
    complaint_hash: hash().notNull(),
    position: integer().notNull(),
    validator_index: integer(),
    validator_pubkey: text(),
    adnl_addr: text(),
    weight: amount(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.election_id, t.complaint_hash, t.position] })],
);

describe(complaint_votes, {
  comment: 'Validators that voted for a complaint, one row a vote; they come and go with their complaint.',
  from: 'complaints[].voted_validators[].*',
  columns: {
    utime:
      'Block time, UTC, at which the complaint that is voted on was made: equals utime in validator_complaints. From complaints[].created_at.',
    election_id:
      'Election of the complaint that is voted on. From complaints[].election_id, as in validator_complaints.',
    complaint_hash:
      'Complaint that is voted on, base64. From complaints[].complaint_hash, as in validator_complaints.',
    position: 'Place of the vote in the list, from 0. The index in complaints[].voted_validators.',
    validator_index: 'Number of the voter in its set of validators.',
    validator_pubkey:
      'Public key of the voter, 64 upper-case hex digits; null if the source does not know it.',
    adnl_addr:
      'Network address (ADNL) of the voter, 64 upper-case hex digits; null if the source does not know it.',
    weight: 'Weight of the vote, in the units of the set of validators; null if the source does not know it.',
  },
  conflict: { kind: 'replace' },
  partitioned: true,
});
