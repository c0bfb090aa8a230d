import { mix32 } from '../../random.ts';
import type { Elections, Validator } from './elections.ts';

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
  /** Those who staked before the network began. */
  private readonly older: readonly Validator[];
  private seen = 0;

  constructor(elections: Elections) {
    this.elections = elections;
    this.older = elections.validators(-1);
  }

  /** The event of one of the elector's transactions. */
  json(row: number): ValidatorEventJson {
    this.extend();
    const { elections } = this;
    const { world } = elections;
    const stake = elections.stakeIn(row);
    const query = { query_id: String(mix32(row + 2)) };
    const common = {
      tx_hash: world.hashes('transaction').text(row),
      tx_lt: String(world.transactions.lt.get(row)),
    };
    const utime = world.utimeOf(row);
    if (stake === undefined) {
      const { holder, amount } = this.returned.get(row) ?? this.olderStake(row);
      return {
        ...common,
        utime,
        type: 'stake_recovered',
        stake_holder_address: holder,
        amount: String(amount),
        ...(mix32(row) % 3 === 0 ? {} : query),
      };
    }
    const { validator, isAccepted, cycle } = stake;
    return {
      ...common,
      utime,
      type: isAccepted ? 'stake_accepted' : 'stake_rejected',
      stake_holder_address: validator.stakeHolder,
      amount: String(validator.stake),
      validator_pubkey: validator.pubkey,
      adnl_addr: validator.adnl,
      election_id: elections.idOf(cycle),
      ...query,
      ...(isAccepted ? {} : { reason: 1 + (mix32(row + 4) % 6) }),
    };
  }

  /** Continues the books if the network has grown. */
  private extend(): void {
    const { world } = this.elections;
    const { byLt } = world.events.validator_events;
    for (; this.seen < byLt.length; this.seen++) this.enter(byLt.get(this.seen));
  }

  private enter(row: number): void {
    const stake = this.elections.stakeIn(row);
    if (stake === undefined) {
      this.returned.set(row, this.giveBack(row));
      return;
    }
    const { cycle, isAccepted, validator } = stake;
    if (!isAccepted) return;
    const entry = { cycle, amount: validator.stake };
    this.held.set(validator.stakeHolder, [...(this.held.get(validator.stakeHolder) ?? []), entry]);
  }

  /** Goes to a holder whose validators have served; if there is none, to one whose stake is older than the network. */
  private giveBack(row: number): Returned {
    const cycle = this.elections.cycleAt(this.elections.world.utimeOf(row));
    const isDue = (stake: HeldStake): boolean => stake.cycle < cycle;
    const [holder, stakes = []] = [...this.held].find(([, held]) => held.some(isDue)) ?? [];
    if (holder === undefined) return this.olderStake(row);
    const left = stakes.filter((stake) => !isDue(stake));
    this.held.delete(holder);
    if (left.length > 0) this.held.set(holder, left);
    const stake = stakes.filter(isDue).reduce((sum, { amount }) => sum + amount, 0n);
    return { holder, amount: withReward(stake, row) };
  }

  private olderStake(row: number): Returned {
    const validator = this.older[mix32(row) % this.older.length];
    if (validator === undefined) throw new TypeError('no validator staked before the network began');
    return {
      holder: validator.stakeHolder,
      amount: withReward(validator.stake + BigInt(mix32(row + 1)), row),
    };
  }
}

/** Some hundredths of a percent on top; a stake in some twenty was fined. */
function withReward(stake: bigint, row: number): bigint {
  const dice = BigInt(mix32(row + 6));
  return dice % 20n === 0n ? stake - 101_000_000_000n : stake + (stake * (20n + (dice % 20n))) / 100_000n;
}
