import { index } from 'drizzle-orm/pg-core';
import {
  address,
  amount,
  boolean,
  count8,
  doublePrecision,
  hash,
  int8,
  integer,
  jsonb,
  loadedAt,
  moment,
  restColumns,
  text,
  tonTable,
  utime,
} from '../describe.ts';

export const nominator_pool_events = tonTable('nominator_pool_events', {
  comment:
    "Changes of a validator's own money in a nominator pool: rewards, penalties, deposits, withdrawals, one row an event. Read from GET /api/v3/staking/nominatorPools/validatorEvents, which some servers do not have, for each pool that is watched or indexed: coverage is kept for each pool. A row never changes. There is no checksum for them: each second is read twice.",
  from: 'events[].* of nominatorPools/validatorEvents',
  columns: {
    utime: utime("Block time, UTC, of the pool's transaction."),
    tx_lt: int8("Logical time of the pool's transaction.").notNull(),
    tx_hash: hash("Hash of the pool's transaction, base64: identity of the event.").notNull(),
    pool_address: address('Nominator pool that the event belongs to, raw form.').notNull(),
    validator_address: address('Validator whose money changed, raw form.'),
    type: text("What changed the validator's money: reward, penalty, deposit or withdrawal.").notNull(),
    amount: amount('Size of the event, nanotons, never below zero.'),
    balance_delta: amount(
      "Change of the validator's money in the pool, nanotons; below zero where it became less.",
    ),
    balance_before: amount("The validator's money in the pool before the event, nanotons."),
    balance_after: amount("The validator's money in the pool after the event, nanotons."),
    query_id: amount(
      'Number that the sender chose to tell its requests apart, up to 64 bits; null if the event has none.',
    ),
    cycle_start: moment(
      'Start of the validation cycle that the reward or penalty is for, UTC; null for deposits and withdrawals.',
    ),
    validator_reward_share: count8(
      "Share of the pool's rewards that the validator keeps, in units of 1/10000.",
    ),
    ...restColumns(),
  },
  key: ['utime', 'tx_lt', 'tx_hash'],
  indexes: (t) => [
    // The dataset is read and covered for each pool.
    index('nominator_pool_events_pool').on(t.pool_address, t.utime),
  ],
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const nominator_events = tonTable('nominator_events', {
  comment:
    "Changes of a nominator's money in a nominator pool: rewards, deposits, withdrawals, one row an event. Read from GET /api/v3/staking/nominatorPools/nominatorEvents, which some servers do not have, for each pool that is watched or indexed: coverage is kept for each pool. A row never changes. There is no checksum for them: each second is read twice.",
  from: 'events[].* of nominatorPools/nominatorEvents',
  columns: {
    utime: utime("Block time, UTC, of the pool's transaction."),
    tx_lt: int8("Logical time of the pool's transaction.").notNull(),
    tx_hash: hash(
      "Hash of the pool's transaction, base64: one transaction may change the money of many nominators.",
    ).notNull(),
    nominator_address: address('Nominator whose money changed, raw form.').notNull(),
    type: text(
      "What changed the nominator's money: reward (below zero after a fine), deposit, withdrawal, pending_deposit_activation or withdrawal_request.",
    ).notNull(),
    pool_address: address('Nominator pool that holds the money, raw form.').notNull(),
    amount: amount('Size of the event, nanotons; below zero only for a reward after a fine.'),
    balance_delta: amount("Change of the nominator's money that is at work in the pool, nanotons."),
    pending_balance_delta: amount("Change of the nominator's money that waits for the next cycle, nanotons."),
    balance_before: amount("The nominator's money at work before the event, nanotons."),
    balance_after: amount("The nominator's money at work after the event, nanotons."),
    pending_balance_before: amount("The nominator's waiting money before the event, nanotons."),
    pending_balance_after: amount("The nominator's waiting money after the event, nanotons."),
    withdraw_request_before: boolean('True if the nominator had asked for its money before the event.'),
    withdraw_request_after: boolean('True if the nominator still asks for its money after the event.'),
    ...restColumns(),
  },
  key: ['utime', 'tx_lt', 'tx_hash', 'nominator_address', 'type'],
  indexes: (t) => [
    // The dataset is read and covered for each pool.
    index('nominator_events_pool').on(t.pool_address, t.utime),
  ],
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const nominator_pools = tonTable('nominator_pools', {
  comment:
    'Nominator pools with their nominators: one row each, as it was when it was looked up last. Read from GET /api/v3/staking/nominatorPools/pool, which some servers do not have. The view nominators has a row for each nominator.',
  from: '*',
  columns: {
    address: address(
      'Account of the nominator pool, raw form: the key. The response does not name it; written by the program, which asked for it.',
    ).primaryKey(),
    validator_address: address('Validator that the pool works for, raw form.'),
    validator_amount: amount("The validator's own money in the pool, nanotons."),
    validator_reward_share: count8(
      "Share of the pool's rewards that the validator keeps, in units of 1/10000.",
    ),
    stake_amount_sent: amount(
      'Stake that the pool has sent to the elector, nanotons; 0 if it has none there.',
    ),
    state: count8('State of the pool: 0 waits, 1 has sent its stake, 2 takes part in a cycle.'),
    nominators_count: count8('How many nominators the pool has.'),
    max_nominators_count: count8('How many nominators the pool takes at most.'),
    min_validator_stake: amount('Least money of its own that the validator must have in the pool, nanotons.'),
    min_nominator_stake: amount('Least money that a nominator must have in the pool, nanotons.'),
    active_nominators: jsonb(
      'Nominators of the pool as a JSON array: address, balance (at work) and pending_balance (waits for the next cycle), nanotons; null if the API sends none.',
    ),
    ...restColumns(
      'Members of nominatorPools/pool that this version of the program has no column for, by dotted path; null if there are none.',
    ),
  },
  conflict: { kind: 'replace' },
});

export const validator_complaints = tonTable('validator_complaints', {
  comment:
    'Complaints to the elector that a validator did not do its work, one row a complaint. Read from GET /api/v3/validators/complaints, which some servers do not have. Votes and outcome change until the elector forgets the complaint: its second is read again after that, and exchanged as a whole. The votes are in complaint_votes.',
  from: 'complaints[].*',
  columns: {
    utime: utime('Block time, UTC, at which the complaint was made. From complaints[].created_at.'),
    election_id: count8(
      'Election of the accused validator, named by the unix time at which its validators begin.',
    ).notNull(),
    complaint_hash: hash('Hash of the complaint, base64: its identity within the election.').notNull(),
    cycle_start: moment('When the accused validator began its work, UTC: the start of its validation cycle.'),
    validator_pubkey: text('Public key of the accused validator, 64 upper-case hex digits.'),
    adnl_addr: text(
      'Network address (ADNL) of the accused validator, 64 upper-case hex digits; null if the source does not know it.',
    ),
    stake_holder_address: address(
      'Account that holds the stake of the accused validator, raw form; null if the source does not know it.',
    ),
    description_boc: text('What the validator is accused of, with proofs, as a bag of cells in base64.'),
    severity: count8('How grave the complaint is, as its author says.'),
    reward_address: address('Account that gets the reward if the complaint passes, raw form.'),
    paid: amount('What the author paid for keeping the complaint, nanotons.'),
    suggested_fine: amount('Fixed part of the fine that the author asks for, nanotons.'),
    suggested_fine_part: count8('Part of the stake that the author asks for on top, in units of 1/2^32.'),
    vset_id: hash('Hash of the set of validators that votes on the complaint, base64.'),
    weight_remaining: amount(
      'Voting weight that is still missing for the complaint to pass; below zero once it has.',
    ),
    approved_percent: doublePrecision(
      'Share of the voting weight that is for the complaint, percent, perhaps a fraction.',
    ),
    is_passed: boolean('True if enough validators voted for the complaint.'),
    vote_count: integer(
      'How many validators have voted for the complaint, each a row of complaint_votes. The length of complaints[].voted_validators; null if the server says null.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'election_id', 'complaint_hash'],
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const complaint_votes = tonTable('complaint_votes', {
  comment: 'Validators that voted for a complaint, one row a vote; they come and go with their complaint.',
  from: 'complaints[].voted_validators[].*',
  columns: {
    utime: utime(
      'Block time, UTC, at which the complaint that is voted on was made: equals utime in validator_complaints. From complaints[].created_at.',
    ),
    election_id: count8(
      'Election of the complaint that is voted on. From complaints[].election_id, as in validator_complaints.',
    ).notNull(),
    complaint_hash: hash(
      'Complaint that is voted on, base64. From complaints[].complaint_hash, as in validator_complaints.',
    ).notNull(),
    position: integer(
      'Place of the vote in the list, from 0. The index in complaints[].voted_validators.',
    ).notNull(),
    validator_index: integer('Number of the voter in its set of validators.'),
    validator_pubkey: text(
      'Public key of the voter, 64 upper-case hex digits; null if the source does not know it.',
    ),
    adnl_addr: text(
      'Network address (ADNL) of the voter, 64 upper-case hex digits; null if the source does not know it.',
    ),
    weight: amount(
      'Weight of the vote, in the units of the set of validators; null if the source does not know it.',
    ),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'election_id', 'complaint_hash', 'position'],
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const validator_cycles = tonTable('validator_cycles', {
  comment:
    'Cycles of validation, one row a set of validators. Read from GET /api/v3/validators/cycles, which some servers do not have. Its election and stakes are known some time after its start: its second is read again later, and exchanged as a whole. The validators are in cycle_validators.',
  from: 'cycles[].*',
  columns: {
    utime: utime('When the set begins to validate, UTC: its start as a time. From cycles[].cycle_start.'),
    cycle_start: count8('Name of the cycle: the unix time at which its set begins to validate.').notNull(),
    election_id: count8('Election that chose this set; null until the server knows it.'),
    cycle_end: moment('When the set stops validating, UTC.'),
    total: count8('How many validators the set has.'),
    main: count8('How many of them validate the masterchain.'),
    total_weight: amount('Voting weight of all validators together.'),
    total_stake: amount('Stakes of all validators together, nanotons; null until the server knows it.'),
    validators_elected_for: count8('How long a set validates, seconds.'),
    elections_start_before: count8('How long before the end of a set the next election begins, seconds.'),
    elections_end_before: count8('How long before the end of a set the next election ends, seconds.'),
    stake_held_for: count8('How long the elector keeps stakes after a set has stopped, seconds.'),
    max_validators: count8('Most validators that a set may have.'),
    max_main_validators: count8('Most validators of the masterchain that a set may have.'),
    min_validators: count8('Fewest validators that a set may have.'),
    min_stake: amount('Smallest stake of the set, nanotons; null until the server knows it.'),
    max_stake: amount('Largest stake of the set, nanotons; null until the server knows it.'),
    min_stake_limit: amount('Least stake that the network’s configuration allows, nanotons.'),
    max_stake_limit: amount('Largest stake that the network’s configuration allows, nanotons.'),
    min_total_stake: amount('Least sum of stakes for which a set is elected, nanotons.'),
    max_stake_factor: count8(
      'How many times the smallest stake of the set a stake may count, in units of 1/65536.',
    ),
    validator_count: integer(
      'How many validators the server listed, each a row of cycle_validators. The length of cycles[].validators; null if the server listed none at all.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'cycle_start'],
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const cycle_validators = tonTable('cycle_validators', {
  comment:
    'Validators of a cycle, one row each; they come and go with their cycle. Complaints about them are in validator_complaints.',
  from: 'cycles[].validators[].*',
  columns: {
    utime: utime(
      'When the set begins to validate, UTC: equals utime in validator_cycles. From cycles[].cycle_start.',
    ),
    cycle_start: count8(
      'Cycle of this validator. From cycles[].cycle_start, as in validator_cycles.',
    ).notNull(),
    position: integer(
      'Place of the validator in the list, from 0. The index in cycles[].validators.',
    ).notNull(),
    validator_index: integer('Number of the validator in the set.'),
    validator_pubkey: text('Public key of the validator, 64 upper-case hex digits.'),
    adnl_addr: text('Network address (ADNL) of the validator, 64 upper-case hex digits.'),
    weight: amount('Voting weight of the validator.'),
    stake_holder_address: address('Account that holds the stake, raw form; null until the server knows it.'),
    stake: amount('Stake that counts, nanotons; null until the server knows it.'),
    max_factor: count8(
      'Factor that the validator declared, in units of 1/65536; null until the server knows it.',
    ),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'cycle_start', 'position'],
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const validator_events = tonTable('validator_events', {
  comment:
    'What the elector contract did with the stakes of validators: took them, refused them, gave them back. One row an event. Read from GET /api/v3/validators/events, which some servers do not have; a row never changes. There is no checksum for them: each second is read twice.',
  from: 'events[].* of validators/events',
  columns: {
    utime: utime("Block time, UTC, of the elector's transaction."),
    tx_lt: int8("Logical time of the elector's transaction.").notNull(),
    tx_hash: hash("Hash of the elector's transaction, base64: identity of the event.").notNull(),
    type: text('What happened to the stake: stake_accepted, stake_rejected or stake_recovered.').notNull(),
    stake_holder_address: address(
      'Account that sent or gets the stake, raw form: a wallet or a pool. From events[].stake_holder_address; null only if not sent.',
    ),
    validator_pubkey: text(
      "The validator's public key, 64 upper-case hex digits; null for a stake that is given back. From events[].validator_pubkey.",
    ),
    adnl_addr: text(
      "The validator's network address (ADNL), 64 upper-case hex digits; null if the event has none. From events[].adnl_addr.",
    ),
    election_id: count8(
      'Election that the stake is for, named by the unix time at which its validators begin; null for a stake that is given back. From events[].election_id.',
    ),
    query_id: amount(
      'Number that the sender chose to tell its requests apart, up to 64 bits; null if the event has none.',
    ),
    amount: amount('The stake, nanotons.'),
    reason: count8("Code of the elector's reason for refusing the stake; null for all other types."),
    ...restColumns(),
  },
  key: ['utime', 'tx_lt', 'tx_hash'],
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const validator_elections = tonTable('validator_elections', {
  comment:
    'Elections of validators by the elector, one row an election. Read from GET /api/v3/validators/elections, which some servers do not have. An election is known before its validators begin, and changes until it is finished: its second is read again later, and exchanged as a whole. Who took part is in election_participants; the set that was elected is in validator_cycles.',
  from: 'elections[].*',
  columns: {
    utime: utime(
      'When the validators of this election begin, UTC: the election’s id as a time. From elections[].election_id.',
    ),
    election_id: count8('Name of the election: the unix time at which its validators begin.').notNull(),
    elect_close: moment('When the elector takes no more stakes, UTC.'),
    min_stake: amount('Least stake that the elector takes, nanotons.'),
    total_stake: amount('Stakes of all participants together, nanotons.'),
    total_participants: count8('How many took part.'),
    failed: boolean('True if the elector could elect no set.'),
    finished: boolean('True if the election has ended.'),
    participant_count: integer(
      'How many participants the server listed, each a row of election_participants. The length of elections[].participants; null if the server listed none at all.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'election_id'],
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const election_participants = tonTable('election_participants', {
  comment:
    'Who asked to become a validator in an election, one row a participant; they come and go with their election.',
  from: 'elections[].participants[].*',
  columns: {
    utime: utime(
      'When the validators of the election begin, UTC: equals utime in validator_elections. From elections[].election_id.',
    ),
    election_id: count8(
      'Election of this participant. From elections[].election_id, as in validator_elections.',
    ).notNull(),
    position: integer(
      'Place of the participant in the list, from 0. The index in elections[].participants.',
    ).notNull(),
    validator_pubkey: text('Public key of the participant, 64 upper-case hex digits.'),
    validator_index: integer(
      'Number of the participant in the set that was elected; null if it was not elected, or not yet.',
    ),
    stake: amount('What the participant staked, nanotons.'),
    max_factor: count8(
      'How many times the smallest stake of the set the participant is willing to stake, in units of 1/65536.',
    ),
    stake_holder_address: address('Account that sent the stake and gets it back, raw form.'),
    adnl_addr: text('Network address (ADNL) of the participant, 64 upper-case hex digits.'),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'election_id', 'position'],
  conflict: { kind: 'replace' },
  partitioned: true,
});
