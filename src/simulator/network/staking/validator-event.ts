import { mix32 } from '../../random.ts';
import { VALIDATORS, type Elections, type Validator } from './elections.ts';

/** Something that the elector did with a stake, as v3 prints it: what does not apply is left out. */
export interface ValidatorEventJson {
  readonly tx_hash: string;
  readonly tx_lt: string;
  readonly utime: number;
  readonly type: 'stake_accepted' | 'stake_rejected' | 'stake_recovered';
  readonly stake_holder_address: string;
  readonly validator_pubkey?: string;
  readonly adnl_addr?: string;
  readonly election_id?: number;
  readonly query_id?: string;
  readonly amount: string;
  readonly reason?: number;
}

/** A stake that the elector holds. */
interface HeldStake {
  readonly cycle: number;
  readonly amount: bigint;
}

/** What the elector gives back at once, and to whom. */
interface Returned {
  readonly holder: string;
  readonly amount: bigint;
}

/** The books of the elector: the stakes that it holds, and so what it gives back. */
export class ValidatorEvents {
  private readonly elections: Elections;
  /** By the address of the holder, the oldest first. */
  private readonly held = new Map<string, readonly HeldStake[]>();
  /** By row. */
  private readonly returned = new Map<number, Returned>();
  private seen = 0;

  constructor(elections: Elections) {
    this.elections = elections;
  }

  /** The event of one of the elector's transactions. */
  json(row: number): ValidatorEventJson {
    this.extend();
    const { elections } = this;
    const { world } = elections;
    const utime = world.utimeOf(row);
    const cycle = elections.cycleAt(utime);
    const type = this.typeOf(row, utime);
    const validator = this.validatorOf(row, cycle);
    const returned = this.returned.get(row);
    const common = {
      tx_hash: world.hashes('transaction').text(row),
      tx_lt: String(world.transactions.lt.get(row)),
      utime,
      type,
      stake_holder_address: returned?.holder ?? validator.stakeHolder,
      amount: String(returned?.amount ?? stakeOf(row, validator)),
    };
    const query = { query_id: String(mix32(row + 2)) };
    if (type === 'stake_recovered') return { ...common, ...(mix32(row) % 3 === 0 ? {} : query) };
    return {
      ...common,
      validator_pubkey: validator.pubkey,
      adnl_addr: validator.adnl,
      election_id: elections.idOf(cycle + 1),
      ...query,
      ...(type === 'stake_rejected' ? { reason: 1 + (mix32(row + 4) % 6) } : {}),
    };
  }

  private typeOf(row: number, utime: number): ValidatorEventJson['type'] {
    if (!this.elections.isOpen(utime)) return 'stake_recovered';
    return mix32(row + 3) % 8 === 0 ? 'stake_rejected' : 'stake_accepted';
  }

  private validatorOf(row: number, cycle: number): Validator {
    return this.elections.validator(cycle + 1, mix32(row) % VALIDATORS);
  }

  /** Continues the books if the network has grown. */
  private extend(): void {
    const { world } = this.elections;
    const { byLt } = world.events.validator_events;
    for (; this.seen < byLt.length; this.seen++) this.enter(byLt.get(this.seen));
  }

  private enter(row: number): void {
    const utime = this.elections.world.utimeOf(row);
    const cycle = this.elections.cycleAt(utime);
    const validator = this.validatorOf(row, cycle);
    const type = this.typeOf(row, utime);
    if (type === 'stake_recovered') this.returned.set(row, this.giveBack(row, cycle));
    if (type !== 'stake_accepted') return;
    const { stakeHolder } = validator;
    const stake = { cycle: cycle + 1, amount: stakeOf(row, validator) };
    this.held.set(stakeHolder, [...(this.held.get(stakeHolder) ?? []), stake]);
  }

  /** Goes to a holder whose validators have served; if there is none, to one whose stake is older than the network. */
  private giveBack(row: number, cycle: number): Returned {
    const isDue = (stake: HeldStake): boolean => stake.cycle < cycle;
    const [holder, stakes = []] = [...this.held].find(([, held]) => held.some(isDue)) ?? [];
    if (holder === undefined) {
      const validator = this.validatorOf(row, cycle);
      return { holder: validator.stakeHolder, amount: withReward(stakeOf(row, validator), row) };
    }
    const left = stakes.filter((stake) => !isDue(stake));
    this.held.delete(holder);
    if (left.length > 0) this.held.set(holder, left);
    const stake = stakes.filter(isDue).reduce((sum, { amount }) => sum + amount, 0n);
    return { holder, amount: withReward(stake, row) };
  }
}

function stakeOf(row: number, { stake }: Validator): bigint {
  return stake + BigInt(mix32(row + 1));
}

/** Some hundredths of a percent on top; a stake in some twenty was fined. */
function withReward(stake: bigint, row: number): bigint {
  const dice = BigInt(mix32(row + 6));
  return dice % 20n === 0n ? stake - 101_000_000_000n : stake + (stake * (20n + (dice % 20n))) / 100_000n;
}
