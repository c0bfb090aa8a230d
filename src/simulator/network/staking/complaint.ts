import type { BocMaker } from '../chain/boc.ts';
import { mix32 } from '../../random.ts';
import type { Bounds } from '../../bounds.ts';
import { VALIDATORS, type Elections, type Validator } from './elections.ts';

/** One validator's complaint about another, as v3 prints it at some moment. */
export interface ComplaintJson {
  readonly cycle_start: number;
  readonly election_id: number;
  readonly complaint_hash: string;
  readonly validator_pubkey: string;
  readonly adnl_addr: string | null;
  readonly stake_holder_address?: string;
  readonly description_boc: string;
  readonly created_at: number;
  readonly severity: number;
  readonly reward_address: string;
  readonly paid: string;
  readonly suggested_fine: string;
  readonly suggested_fine_part: number;
  readonly voted_validators: readonly VoteJson[];
  readonly vset_id: string;
  readonly weight_remaining: string;
  readonly approved_percent: number;
  readonly is_passed: boolean;
}

export interface VoteJson {
  readonly validator_index: number;
  readonly validator_pubkey?: string;
  readonly adnl_addr?: string;
  readonly weight?: string;
}

interface Votes {
  readonly votes: readonly VoteJson[];
  readonly weight: bigint;
}

/**
 * Complaints created within a range, as they stand at a moment of chain time, ascending by (created_at, hash). Those
 * about a cycle whose row does not yet name its election are not among them.
 */
export function complaints(
  elections: Elections,
  bocs: BocMaker,
  bounds: Bounds,
  at: number,
): ComplaintJson[] {
  const { start, complaints: perCycle } = elections.world.options;
  const first = Math.max(0, elections.cycleAt(Math.max(bounds.first, start)));
  const last = elections.cycleAt(Math.min(bounds.last, at));
  const found: ComplaintJson[] = [];
  for (let cycle = first; cycle <= last; cycle++)
    for (let index = 0; index < perCycle && at >= elections.namedAt(cycle - 1); index++) {
      const createdAt = createdIn(elections, cycle, index);
      if (createdAt >= bounds.first && createdAt <= bounds.last && createdAt <= at)
        found.push(complaint(elections, bocs, { cycle, index }, at));
    }
  return found.sort((a, b) => a.created_at - b.created_at || (a.complaint_hash < b.complaint_hash ? -1 : 1));
}

/** Complaints about the last cycle come in the first half of the next; some share a second. */
function createdIn(elections: Elections, cycle: number, index: number): number {
  const { complaints: perCycle, electionSeconds } = elections.world.options;
  const step = Math.max(1, Math.floor(electionSeconds / 2 / perCycle));
  return elections.idOf(cycle) + 5 + Math.floor(index / 2) * 2 * step;
}

function complaint(
  elections: Elections,
  bocs: BocMaker,
  { cycle, index }: { readonly cycle: number; readonly index: number },
  at: number,
): ComplaintJson {
  const { world } = elections;
  const key = (cycle + 1) * 65_536 + index;
  const dice = mix32(key);
  const accused = pick(elections.validators(cycle - 1), dice);
  const createdAt = createdIn(elections, cycle, index);
  const validators = elections.validators(cycle);
  const total = validators.reduce((sum, { weight }) => sum + weight, 0n);
  const { votes, weight } = votesAt(validators, key, at - createdAt, world.options.electionSeconds);
  const needed = (total * 2n) / 3n;
  return {
    cycle_start: elections.idOf(cycle - 1),
    election_id: elections.idOf(cycle - 1),
    complaint_hash: world.hashes('complaint').text(key),
    validator_pubkey: accused.pubkey,
    adnl_addr: dice % 5 === 0 ? null : accused.adnl,
    ...(dice % 7 === 0 ? {} : { stake_holder_address: accused.stakeHolder }),
    description_boc: bocs.make(key, 80),
    created_at: createdAt,
    severity: 1 + (dice % 3),
    reward_address: pick(validators, dice >>> 8).stakeHolder,
    paid: '1500000000',
    suggested_fine: '101000000000',
    suggested_fine_part: dice % 4 === 0 ? 536_870_912 : 0,
    voted_validators: votes,
    vset_id: world.hashes('vset').text(cycle + 1),
    weight_remaining: String(needed - weight),
    approved_percent: Number((weight * 1_000_000n) / total) / 10_000,
    is_passed: weight > needed,
  };
}

function pick(validators: readonly Validator[], dice: number): Validator {
  const one = validators[dice % validators.length];
  if (one === undefined) throw new TypeError('a cycle has no validators');
  return one;
}

/** Votes come one after another until the complaint is passed; with some complaints they cease before. */
function votesAt(validators: readonly Validator[], key: number, age: number, cycleSeconds: number): Votes {
  const step = cycleSeconds / 2 / VALIDATORS;
  const enough = mix32(key + 1) % 4 === 0 ? 8 : 18;
  const count = Math.min(enough, Math.floor(Math.max(0, age) / step));
  const first = mix32(key + 2) % VALIDATORS;
  const voters = new Set(Array.from({ length: count }, (_, turn) => pick(validators, first + turn * 7)));
  return {
    votes: [...voters].map((voter) => vote(voter)),
    weight: [...voters].reduce((sum, { weight }) => sum + weight, 0n),
  };
}

function vote({ index, pubkey, adnl, weight }: Validator): VoteJson {
  const known = { validator_pubkey: pubkey, adnl_addr: adnl, weight: String(weight) };
  return { validator_index: index, ...(index % 11 === 0 ? {} : known) };
}
