import { integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, loadedAt, moment, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const validator_cycles = ton.table(
  'validator_cycles',
  {
    utime: utime(),
    cycle_start: count8().notNull(),
    election_id: count8(),
    cycle_end: moment(),
    total: count8(),
    main: count8(),
    total_weight: amount(),
    total_stake: amount(),
    validators_elected_for: count8(),
    elections_start_before: count8(),
    elections_end_before: count8(),
    stake_held_for: count8(),
    max_validators: count8(),
    max_main_validators: count8(),
    min_validators: count8(),
    min_stake: amount(),
    max_stake: amount(),
    min_stake_limit: amount(),
    max_stake_limit: amount(),
    min_total_stake: amount(),
    max_stake_factor: count8(),
    validator_count: integer(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.cycle_start] })],
);

describe(validator_cycles, {
  comment:
    'Cycles of validation, one row a set of validators. Read from GET /api/v3/validators/cycles, which some servers do not have. Its election and stakes are known some time after its start: its second is read again later, and exchanged as a whole. The validators are in cycle_validators.',
  from: 'cycles[].*',
  columns: {
    utime: 'When the set begins to validate, UTC: its start as a time. From cycles[].cycle_start.',
    cycle_start: 'Name of the cycle: the unix time at which its set begins to validate.',
    election_id: 'Election that chose this set; null until the server knows it.',
    cycle_end: 'When the set stops validating, UTC.',
    total: 'How many validators the set has.',
    main: 'How many of them validate the masterchain.',
    total_weight: 'Voting weight of all validators together.',
    total_stake: 'Stakes of all validators together, nanotons; null until the server knows it.',
    validators_elected_for: 'How long a set validates, seconds.',
    elections_start_before: 'How long before the end of a set the next election begins, seconds.',
    elections_end_before: 'How long before the end of a set the next election ends, seconds.',
    stake_held_for: 'How long the elector keeps stakes after a set has stopped, seconds.',
    max_validators: 'Most validators that a set may have.',
    max_main_validators: 'Most validators of the masterchain that a set may have.',
    min_validators: 'Fewest validators that a set may have.',
    min_stake: 'Smallest stake of the set, nanotons; null until the server knows it.',
    max_stake: 'Largest stake of the set, nanotons; null until the server knows it.',
    min_stake_limit: 'Least stake that the network’s configuration allows, nanotons.',
    max_stake_limit: 'Largest stake that the network’s configuration allows, nanotons.',
    min_total_stake: 'Least sum of stakes for which a set is elected, nanotons.',
    max_stake_factor: 'How many times the smallest stake of the set a stake may count, in units of 1/65536.',
    validator_count:
      'How many validators the server listed, each a row of cycle_validators. The length of cycles[].validators; null if the server listed none at all.',
  },
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const cycle_validators = ton.table(
  'cycle_validators',
  {
    utime: utime(),
    cycle_start: count8().notNull(),
    position: integer().notNull(),
    validator_index: integer(),
    validator_pubkey: text(),
    adnl_addr: text(),
    weight: amount(),
    stake_holder_address: address(),
    stake: amount(),
    max_factor: count8(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.cycle_start, t.position] })],
);

describe(cycle_validators, {
  comment:
    'Validators of a cycle, one row each; they come and go with their cycle. Complaints about them are in validator_complaints.',
  from: 'cycles[].validators[].*',
  columns: {
    utime:
      'When the set begins to validate, UTC: equals utime in validator_cycles. From cycles[].cycle_start.',
    cycle_start: 'Cycle of this validator. From cycles[].cycle_start, as in validator_cycles.',
    position: 'Place of the validator in the list, from 0. The index in cycles[].validators.',
    validator_index: 'Number of the validator in the set.',
    validator_pubkey: 'Public key of the validator, 64 upper-case hex digits.',
    adnl_addr: 'Network address (ADNL) of the validator, 64 upper-case hex digits.',
    weight: 'Voting weight of the validator.',
    stake_holder_address: 'Account that holds the stake, raw form; null until the server knows it.',
    stake: 'Stake that counts, nanotons; null until the server knows it.',
    max_factor: 'Factor that the validator declared, in units of 1/65536; null until the server knows it.',
  },
  conflict: { kind: 'replace' },
  partitioned: true,
});
