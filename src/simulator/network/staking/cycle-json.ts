import type { ComplaintJson } from './complaint.ts';
import type { Elections, Validator } from './elections.ts';

/** An election as v3 prints it. */
export interface ElectionJson {
  readonly election_id: number;
  readonly elect_close: number;
  readonly min_stake: string;
  readonly total_stake: string;
  readonly total_participants: number;
  readonly failed: boolean;
  readonly finished: boolean;
  readonly participants?: readonly object[];
}

/** A validators' cycle as v3 prints it; election_id is left out until it is known. */
export interface CycleJson {
  readonly election_id?: number;
  readonly cycle_start: number;
  readonly cycle_end: number;
  readonly total: number;
  readonly main: number;
  readonly total_weight: string;
  readonly total_stake?: string;
  readonly validators_elected_for: number;
  readonly elections_start_before: number;
  readonly elections_end_before: number;
  readonly stake_held_for: number;
  readonly max_validators: number;
  readonly max_main_validators: number;
  readonly min_validators: number;
  readonly min_stake_limit: string;
  readonly max_stake_limit: string;
  readonly min_total_stake: string;
  readonly max_stake_factor: number;
  readonly validators?: readonly object[];
}

const sum = (amounts: readonly bigint[]): string =>
  String(amounts.reduce((total, amount) => total + amount, 0n));

export function electionJson(elections: Elections, cycle: number, at: number, whole: boolean): ElectionJson {
  const participants = elections.validators(cycle, at);
  return {
    election_id: elections.idOf(cycle),
    elect_close: elections.closesAt(cycle),
    min_stake: '300000000000000',
    total_stake: sum(participants.map(({ stake }) => stake)),
    total_participants: participants.length,
    failed: false,
    finished: at >= elections.closesAt(cycle),
    ...(whole ? { participants: participants.map(participant) } : {}),
  };
}

function participant({ index, pubkey, adnl, stake, stakeHolder }: Validator): object {
  return {
    validator_pubkey: pubkey,
    validator_index: index,
    stake: String(stake),
    max_factor: 196_608,
    stake_holder_address: stakeHolder,
    adnl_addr: adnl,
  };
}

/** `complaints`: all that are known of the cycle's validators, or undefined to leave the validators out. */
export function cycleJson(
  elections: Elections,
  cycle: number,
  at: number,
  complaints: readonly ComplaintJson[] | undefined,
): CycleJson {
  const validators = elections.validators(cycle);
  const length = elections.idOf(1) - elections.idOf(0);
  return {
    ...(at >= elections.namedAt(cycle) ? { election_id: elections.idOf(cycle) } : {}),
    cycle_start: elections.idOf(cycle),
    cycle_end: elections.idOf(cycle + 1),
    total: validators.length,
    main: validators.length,
    total_weight: sum(validators.map(({ weight }) => weight)),
    total_stake: sum(validators.map(({ stake }) => stake)),
    validators_elected_for: length,
    elections_start_before: Math.floor(length / 2),
    elections_end_before: Math.floor(length / 8),
    stake_held_for: Math.floor(length / 2),
    max_validators: 400,
    max_main_validators: 100,
    min_validators: 13,
    min_stake_limit: '300000000000000',
    max_stake_limit: '10000000000000000',
    min_total_stake: '75000000000000000',
    max_stake_factor: 196_608,
    ...(complaints === undefined ? {} : { validators: validators.map((one) => member(one, complaints)) }),
  };
}

function member(validator: Validator, complaints: readonly ComplaintJson[]): object {
  const { index, pubkey, adnl, weight, stakeHolder, stake } = validator;
  return {
    validator_index: index,
    validator_pubkey: pubkey,
    adnl_addr: adnl,
    weight: String(weight),
    stake_holder_address: stakeHolder,
    stake: String(stake),
    max_factor: 196_608,
    complaints: complaints.filter((complaint) => complaint.validator_pubkey === pubkey),
  };
}
