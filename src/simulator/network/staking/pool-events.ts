import { Column } from '../chain/tables/column.ts';
import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';
import type { Elections } from './elections.ts';

/** A change of the validator's own money in a nominator pool, as v3 prints it. */
export interface PoolEventJson {
  readonly tx_hash: string;
  readonly tx_lt: string;
  readonly utime: number;
  readonly pool_address: string;
  readonly validator_address: string;
  readonly type: PoolEventType;
  readonly amount: string;
  readonly balance_delta: string;
  readonly balance_before: string;
  readonly balance_after: string;
  readonly query_id?: string;
  readonly cycle_start?: number;
  readonly validator_reward_share: number;
}

export type PoolEventType = 'reward' | 'penalty' | 'deposit' | 'withdrawal';

const FIRST_BALANCE = 100_000_000_000_000;

/** The books of all pools: the validator's money before and after each event. */
export class PoolEvents {
  private readonly world: World;
  private readonly elections: Elections;
  /** Beside the rows of the family, in their order by lt: nanotons before the event. */
  private readonly before = Column.float64();
  private readonly places = new Map<number, number>();
  private readonly balances = new Map<number, number>();

  constructor(world: World, elections: Elections) {
    this.world = world;
    this.elections = elections;
  }

  /** The pool of an event, as an account. */
  poolOf(row: number): number {
    return this.world.transactions.account.get(row);
  }

  /** The address of a pool's validator; the last pool's validator has the first pool as well. */
  validatorOf(pool: number): string {
    const { accounts, pools } = this.world;
    const index = accounts.indexInRole(pool);
    const owner = pools.length > 2 && index === pools.length - 1 ? 0 : index;
    return accounts.address(accounts.account('wallet', accounts.groups + owner));
  }

  json(row: number): PoolEventJson {
    this.extend();
    const { world } = this;
    const pool = this.poolOf(row);
    const utime = world.utimeOf(row);
    const before = this.before.get(this.places.get(row) ?? 0);
    const type = typeOf(row, before);
    const delta = deltaOf(row, before);
    const turns = type === 'reward' || type === 'penalty';
    return {
      tx_hash: world.hashes('transaction').text(row),
      tx_lt: String(world.transactions.lt.get(row)),
      utime,
      pool_address: world.accounts.address(pool),
      validator_address: this.validatorOf(pool),
      type,
      amount: String(Math.abs(delta)),
      balance_delta: String(delta),
      balance_before: String(before),
      balance_after: String(before + delta),
      ...(turns
        ? { cycle_start: this.elections.idOf(this.elections.cycleAt(utime) - 1) }
        : { query_id: String(mix32(row)) }),
      validator_reward_share: 3000 + world.accounts.indexInRole(pool) * 500,
    };
  }

  /** Continues the books if the network has grown. */
  private extend(): void {
    const { byLt } = this.world.events.pool_events;
    while (this.before.length < byLt.length) {
      const row = byLt.get(this.before.length);
      const pool = this.poolOf(row);
      const balance = this.balances.get(pool) ?? FIRST_BALANCE;
      this.places.set(row, this.before.length);
      this.before.push(balance);
      this.balances.set(pool, balance + deltaOf(row, balance));
    }
  }
}

function typeOf(row: number, balance: number): PoolEventType {
  const dice = mix32(row + 31) % 100;
  if (dice < 50) return 'reward';
  if (dice < 75 || balance < FIRST_BALANCE / 2) return 'deposit';
  return dice < 95 ? 'withdrawal' : 'penalty';
}

function deltaOf(row: number, balance: number): number {
  const type = typeOf(row, balance);
  const amount = 1_000_000_000 + (mix32(row + 32) % 1_000_000) * 1_000_000;
  return type === 'reward' || type === 'deposit' ? amount : -amount;
}
