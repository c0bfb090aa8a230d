import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';
import type { PoolEvents } from './pool-events.ts';

/** A change of a nominator's money in a pool, as v3 prints it. */
export interface NominatorEventJson {
  readonly tx_hash: string;
  readonly tx_lt: string;
  readonly utime: number;
  readonly pool_address: string;
  readonly nominator_address: string;
  readonly type: NominatorEventType;
  readonly amount: string;
  readonly balance_delta: string;
  readonly pending_balance_delta: string;
  readonly balance_before: string;
  readonly balance_after: string;
  readonly pending_balance_before: string;
  readonly pending_balance_after: string;
  readonly withdraw_request_before: boolean;
  readonly withdraw_request_after: boolean;
}

type NominatorEventType =
  'reward' | 'deposit' | 'withdrawal' | 'pending_deposit_activation' | 'withdrawal_request';

/** Nanotons of a nominator: at work, and waiting for the next cycle. */
interface Holding {
  readonly balance: number;
  readonly pending: number;
  readonly asks: boolean;
}

interface Change {
  readonly nominator: number;
  readonly type: NominatorEventType;
  readonly before: Holding;
  readonly after: Holding;
}

const NOMINATORS = 4;
const FIRST: Holding = { balance: 10_000_000_000_000, pending: 0, asks: false };

/**
 * The books of all nominators. They change in the transactions in which the validator's money does: a reward is shared by
 * all, and one of them pays in or out beside the validator.
 */
export class NominatorEvents {
  private readonly world: World;
  private readonly pools: PoolEvents;
  private readonly changes = new Map<number, readonly Change[]>();
  private readonly holdings = new Map<number, Holding>();
  private seen = 0;

  constructor(world: World, pools: PoolEvents) {
    this.world = world;
    this.pools = pools;
  }

  /** What a transaction of a pool changed, in the order of the index. */
  json(row: number): NominatorEventJson[] {
    this.extend();
    const { world } = this;
    const pool = this.pools.poolOf(row);
    return (this.changes.get(row) ?? []).map(({ nominator, type, before, after }) => {
      const [delta, pending] = [after.balance - before.balance, after.pending - before.pending];
      return {
        tx_hash: world.hashes('transaction').text(row),
        tx_lt: String(world.transactions.lt.get(row)),
        utime: world.utimeOf(row),
        pool_address: world.accounts.address(pool),
        nominator_address: this.addressOf(pool, nominator),
        type,
        amount: String(amountOf(type, delta, pending)),
        balance_delta: String(delta),
        pending_balance_delta: String(pending),
        balance_before: String(before.balance),
        balance_after: String(after.balance),
        pending_balance_before: String(before.pending),
        pending_balance_after: String(after.pending),
        withdraw_request_before: before.asks,
        withdraw_request_after: after.asks,
      };
    });
  }

  /** Who holds what after some transactions of a pool, of those that hold anything. */
  holders(pool: number, rows: readonly number[]): object[] {
    this.extend();
    const held = Array.from({ length: NOMINATORS }, () => FIRST);
    for (const row of rows)
      for (const { nominator, after } of this.changes.get(row) ?? []) held[nominator] = after;
    return held.flatMap(({ balance, pending }, nominator) =>
      balance + pending === 0
        ? []
        : [
            {
              address: this.addressOf(pool, nominator),
              balance: String(balance),
              pending_balance: String(pending),
            },
          ],
    );
  }

  private addressOf(pool: number, nominator: number): string {
    const { accounts } = this.world;
    const index = accounts.indexInRole(pool) * NOMINATORS + nominator;
    return accounts.address(accounts.account('wallet', (accounts.groups + 10 + index) % accounts.wallets));
  }

  /** Goes on with the books where the network has grown. */
  private extend(): void {
    const { byLt } = this.world.events.pool_events;
    for (; this.seen < byLt.length; this.seen++) {
      const row = byLt.get(this.seen);
      const pool = this.pools.poolOf(row) * NOMINATORS;
      const { type } = this.pools.json(row);
      const before = Array.from(
        { length: NOMINATORS },
        (_, nominator) => this.holdings.get(pool + nominator) ?? FIRST,
      );
      const changes =
        type === 'reward' || type === 'penalty'
          ? before.flatMap((one, nominator) => turn(row, type === 'reward', nominator, one))
          : move(row, type === 'deposit', before);
      this.changes.set(row, changes);
      for (const { nominator, after } of changes) this.holdings.set(pool + nominator, after);
    }
  }
}

/** The stake came back: everybody at work gets a share, or bears one, and what waited is put to work. */
function turn(row: number, isReward: boolean, nominator: number, before: Holding): Change[] {
  const share = Math.floor(before.balance / 10_000) * (isReward ? 1 : -1) * (1 + (mix32(row + 41) % 3));
  const rewarded = { ...before, balance: before.balance + share };
  const active = { ...rewarded, balance: rewarded.balance + before.pending, pending: 0 };
  return [
    ...(share === 0 ? [] : [{ nominator, type: 'reward' as const, before, after: rewarded }]),
    ...(before.pending === 0
      ? []
      : [{ nominator, type: 'pending_deposit_activation' as const, before: rewarded, after: active }]),
  ];
}

/** One of them pays in, at once or for the next cycle; asks for its money; or gets all of it. */
function move(row: number, isDeposit: boolean, all: readonly Holding[]): Change[] {
  const dice = mix32(row + 42);
  const nominator = dice % NOMINATORS;
  const before = all[nominator] ?? FIRST;
  const amount = 10_000_000_000 + (mix32(row + 43) % 1_000_000) * 1_000_000;
  if (isDeposit) {
    const waits = (dice >>> 8) % 2 === 0;
    const after = waits
      ? { ...before, pending: before.pending + amount }
      : { ...before, balance: before.balance + amount };
    return [{ nominator, type: 'deposit', before, after }];
  }
  if (before.balance + before.pending === 0) return [];
  const after = before.asks ? { balance: 0, pending: 0, asks: false } : { ...before, asks: true };
  return [{ nominator, type: before.asks ? 'withdrawal' : 'withdrawal_request', before, after }];
}

function amountOf(type: NominatorEventType, delta: number, pending: number): number {
  if (type === 'pending_deposit_activation') return delta;
  return type === 'reward' ? delta : Math.abs(delta + pending);
}
