import type { BocMaker } from '../chain/boc.ts';
import type { Family } from '../chain/tables/family.ts';
import type { World } from '../chain/world.ts';
import { EVERYTHING } from '../../http/route.ts';
import type { Bounds } from '../../bounds.ts';
import type { EventSource, PoolFacts, StakingSource, TransactionSource } from '../../ledger.ts';
import { slice } from '../../simulator-rows.ts';
import { complaints, type ComplaintJson } from '../staking/complaint.ts';
import { cycleJson, electionJson, type CycleJson, type ElectionJson } from '../staking/cycle-json.ts';
import { Elections } from '../staking/elections.ts';
import { NominatorEvents, type NominatorEventJson } from '../staking/nominator-events.ts';
import { PoolEvents, type PoolEventJson } from '../staking/pool-events.ts';
import { ValidatorEvents, type ValidatorEventJson } from '../staking/validator-event.ts';

/** Validators, their elections and pools in a generated network. */
export class ChainStaking implements StakingSource {
  private readonly schedule: Elections;
  readonly validatorEvents: EventSource<ValidatorEventJson>;
  readonly poolEvents: EventSource<PoolEventJson>;
  readonly nominatorEvents: EventSource<readonly NominatorEventJson[]>;
  readonly books: PoolEvents;
  private readonly nominators: NominatorEvents;
  private readonly bocs: BocMaker;

  constructor(world: World, bocs: BocMaker, transactions: TransactionSource) {
    this.bocs = bocs;
    this.schedule = new Elections(world);
    this.books = new PoolEvents(world, this.schedule);
    const source = <T>(family: Family, json: (row: number) => T): EventSource<T> =>
      eventsOf(world, family, transactions, json);
    const events = new ValidatorEvents(this.schedule);
    this.validatorEvents = source('validator_events', (row) => events.json(row));
    this.poolEvents = source('pool_events', (row) => this.books.json(row));
    this.nominators = new NominatorEvents(world, this.books);
    this.nominatorEvents = source('pool_events', (row) => this.nominators.json(row));
  }

  complaints(bounds: Bounds, at: number): ComplaintJson[] {
    return complaints(this.schedule, this.bocs, bounds, this.blockTime(at));
  }

  elections(at: number, whole: boolean): ElectionJson[] {
    const now = this.blockTime(at);
    // The stakes of the next cycle are already taken.
    return this.cyclesUntil(now, 1).map((cycle) => electionJson(this.schedule, cycle, now, whole));
  }

  cycles(at: number, whole: boolean): CycleJson[] {
    const now = this.blockTime(at);
    const known = whole ? this.complaints(EVERYTHING, now) : undefined;
    return this.cyclesUntil(now, 0).map((cycle) => {
      const id = this.schedule.idOf(cycle);
      const own = known?.filter((complaint) => complaint.election_id === id);
      return cycleJson(this.schedule, cycle, now, own);
    });
  }

  /** From the cycle before the network's first second on. */
  private cyclesUntil(now: number, ahead: number): number[] {
    const count = this.schedule.cycleAt(now) + ahead + 2;
    return Array.from({ length: count }, (_, index) => index - 1);
  }

  /** The second of the newest masterchain block at a moment: what an index knows follows its blocks. */
  private blockTime(at: number): number {
    const { ticks } = this.schedule.world;
    return ticks.utime.get(Math.max(0, ticks.utime.lowerBound(Math.floor(at) + 1) - 1));
  }

  pool(address: string, rows: readonly number[]): PoolFacts | undefined {
    const { world } = this.schedule;
    const account = world.accounts.find(address);
    if (account === undefined || !world.isPool(account)) return undefined;
    const own = rows.filter((row) => this.books.poolOf(row) === account);
    const last = own.at(-1);
    return {
      validator: this.books.validatorOf(account),
      last: last === undefined ? undefined : this.books.json(last),
      nominators: this.nominators.holders(account, own),
    };
  }
}

function eventsOf<T>(
  world: World,
  family: Family,
  transactions: TransactionSource,
  json: (row: number) => T,
): EventSource<T> {
  const { byTime } = world.events[family];
  const utime = (row: number): number => world.utimeOf(row);
  return {
    byTime: ({ first, last }) =>
      slice(
        (index) => byTime.get(index),
        byTime.lowerBound(first, utime),
        byTime.lowerBound(last + 1, utime),
      ),
    visible: (view, row) => transactions.visible(view, row),
    json,
  };
}
