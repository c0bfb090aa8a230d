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
  freeForm,
  int,
  requiredSeconds,
  seconds,
  timeOf,
} from '../src/records/members.ts';
import { cycle_validators, validator_cycles } from '../src/tables/ton/validators-and-pools.ts';

const validator = z.strictObject({
  validator_index: int,
  validator_pubkey: optionalKey,
  adnl_addr: optionalKey,
  weight: digits,
  stake_holder_address: optionalAddress,
  stake: digits,
  max_factor: count,
  // Rows of validator_complaints.
  complaints: elsewhere(freeForm),
});

/**
 * One element of `cycles` of GET /api/v3/validators/cycles: a set of validators with its weights, and the
 * limits by which it was chosen.
 */
export const validatorCycle = z.strictObject({
  election_id: count,
  cycle_start: column('utime', requiredSeconds),
  cycle_end: seconds,
  total: count,
  main: count,
  total_weight: digits,
  total_stake: digits,
  validators_elected_for: count,
  elections_start_before: count,
  elections_end_before: count,
  stake_held_for: count,
  max_validators: count,
  max_main_validators: count,
  min_validators: count,
  min_stake: digits,
  max_stake: digits,
  min_stake_limit: digits,
  max_stake_limit: digits,
  min_total_stake: digits,
  max_stake_factor: count,
  validators: elsewhere(z.array(validator).nullish()),
});

const cycles = rowLayoutOf(validator_cycles, validatorCycle);
const validators = rowLayoutOf(cycle_validators, validator);

export default defineJob({
  ...electorRecords,
  title: 'Cycles of validation: each set of validators with weights, stakes and limits',
  path: '/api/v3/validators/cycles',
  params: { return_validators: true, ...electorRecords.params },
  list: 'cycles',
  index: { columns: 'validator_cycles (cycle_start), one or two a day', of: 'none' },
  // With validators, a page holds at most 100.
  paginator: window({ maxSize: 100 }),
  record: validatorCycle,
  position: { utime: 'cycle_start', id: ['cycle_start'] },
  tables: { validator_cycles, cycle_validators },
  rows: cycleRows,
  everySeconds: 1800,
});

function cycleRows(record: z.output<typeof validatorCycle>, extra: Extra, put: Put): void {
  const { validators: all } = record;
  const cycle_start = Number(record.cycle_start);
  put(cycles, record, { cycle_start, validator_count: all?.length }, extra);
  for (const [position, one] of (all ?? []).entries())
    put(validators, one, { utime: timeOf(cycle_start), cycle_start, position });
}
