import { UsageError } from '../../../../errors.ts';
import { Random } from '../../../random.ts';
import { AccountStates } from './generate-account-states.ts';
import { BLOCK, NONE } from '../tables/block-table.ts';
import { Executor } from './executor.ts';
import { Mailbox, HeldTies } from './held-ties.ts';
import { Opener } from './opener.ts';
import type { Tie } from '../options.ts';
import { finish, Round, Shards, type Shard } from './round.ts';
import type { Draft } from '../tables/transaction-table.ts';
import type { World } from '../world.ts';
import { CONFIG, ELECTOR } from '../tables/accounts.ts';

const LT_STEP = 1_000_000;
/** The last ticks of a finite network begin nothing: every message finds its receiver. */
const QUIET_TICKS = 14;

/** Grows a world tick by tick. The contents of a tick depend only on the options and on earlier ticks. */
export class Generator {
  private readonly world: World;
  private readonly states: AccountStates;
  private readonly random: Random;
  private readonly executor: Executor;
  private readonly opener: Opener;
  private readonly shards: Shards;
  private readonly tieSeconds: ReadonlySet<number>;
  private readonly timetable: Timetable;
  private readonly held: HeldTies;
  /** Drafts of the open round that its quota does not count. */
  private uncounted = 0;
  private nextLt: number;
  private lastRound: number;
  private precise: number;
  /** Up to where the load has been counted. */
  private lastLoad: number;
  private credit = 0;
  private mcTop = NONE;
  private readonly mailbox: Mailbox;
  private readonly special: SpecialTransactions;

  constructor(world: World) {
    this.world = world;
    const { options } = world;
    this.random = new Random(options.seed, 1);
    this.states = new AccountStates(world);
    this.executor = new Executor(world, this.states, this.random);
    this.opener = new Opener(this.executor, this.random);
    this.shards = new Shards(world.blocks, this.random, options.maxShards, options.firstSeqno);
    this.tieSeconds = new Set(options.ties.map((tie) => tie.second));
    this.timetable = new Timetable(world);
    const families = this.timetable.shardTies.filter((tie) => tie.of !== undefined && tie.of !== 'traces');
    this.held = new HeldTies(this.executor, this.opener, families);
    this.mailbox = new Mailbox(this.executor, this.random, this.held);
    this.special = new SpecialTransactions(this.executor, this.opener, this.mailbox);
    this.nextLt = options.firstSeqno === 1 ? LT_STEP : (40_000_000 + options.firstSeqno) * LT_STEP;
    this.lastRound = options.start;
    this.precise = options.start;
    this.lastLoad = options.start;
  }

  /** The second of the next tick's masterchain block. */
  get nextUtime(): number {
    return Math.floor(this.timetable.timeOf(this.world.tickCount));
  }

  get isOver(): boolean {
    return this.nextUtime >= this.world.options.end;
  }

  /** Makes the next tick: the shards' rounds, then the masterchain block that registers them. */
  step(): void {
    const tick = this.world.tickCount;
    const { options } = this.world;
    const end = this.timetable.timeOf(tick);
    this.shards.reshape();
    if (options.maxShards > 1 && tick % options.reshardEvery === 0) this.shards.decide();
    this.holdLagging(Math.floor(end));
    const rounds = this.timetable.roundsUntil(end, this.precise);
    const last = rounds.length - 1;
    rounds.forEach((planned, index) => this.shardRound(planned, index === last));
    this.precise = end;
    this.masterchainRound(tick, Math.floor(end));
  }

  private shardRound(planned: PlannedRound, isLast: boolean): void {
    const utime = Math.max(Math.floor(planned.time), this.lastRound);
    const round = this.newRound(utime, this.quotaFor(planned, utime));
    for (const shard of this.shards.current) this.openShard(round, shard, planned.tie !== undefined, isLast);
    this.fill(round, planned.tie);
    if (planned.tie === undefined) this.credit -= Math.max(0, round.drafts.length - this.uncounted);
    this.finishRound(round);
  }

  private fill(round: Round, tie: Tie | undefined): void {
    if (tie?.of === 'traces') this.fillWithIdle(round);
    else if (tie?.of !== undefined) this.fillWithHeld(round, tie);
    else if (tie?.sameLt === true) this.fillWithOneLt(round);
    else this.fillRound(round, tie !== undefined);
  }

  private get isQuiet(): boolean {
    const { end, masterchainInterval } = this.world.options;
    return this.precise >= end - QUIET_TICKS * masterchainInterval;
  }

  private quotaFor(planned: PlannedRound, utime: number): number {
    const { load } = this.world.options;
    this.uncounted = 0;
    const begin = this.credit;
    for (let second = Math.floor(this.lastLoad); second < planned.time; second++) {
      const share = Math.min(planned.time, second + 1) - Math.max(this.lastLoad, second);
      this.credit += load(second) * Math.max(0, share);
    }
    this.lastLoad = Math.max(this.lastLoad, planned.time);
    if (planned.tie !== undefined) return planned.tie.count;
    if (this.tieSeconds.has(utime)) return 0;
    if (this.isQuiet) return Infinity;
    // Load that no wallet could take is not made up for later.
    this.credit = Math.min(this.credit, (this.credit - begin) * 3 + 20);
    // Messages that follow from a tie's thousands are processed in addition to the load.
    this.uncounted = this.held.any ? this.mailbox.waiting >> 2 : 0;
    return Math.max(0, Math.floor(this.credit)) + this.prefund(utime) + this.uncounted;
  }

  /** Room for the giver, if a tie needs more wallets than the load would have created by then. */
  private prefund(utime: number): number {
    const tie = this.timetable.shardTies.find(
      ({ second, sameLt, of }) =>
        second > utime && (sameLt === true || (of !== undefined && of !== 'traces')),
    );
    if (tie === undefined) return 0;
    const { wallets, exchanges } = this.world.accounts;
    const missing = Math.min(wallets, exchanges + tie.count * 1.3 + 50) - this.opener.fundedWallets;
    return missing > 0 ? Math.ceil((missing * 4) / Math.max(1, (tie.second - utime) / 2)) + 4 : 0;
  }

  private newRound(utime: number, quota: number): Round {
    const { rounds, transactions, messages } = this.world;
    const round = new Round(rounds.utime.length, utime, this.nextLt, quota);
    rounds.utime.push(utime);
    rounds.baseLt.push(this.nextLt);
    rounds.firstTransaction.push(transactions.count);
    rounds.firstMessage.push(messages.count);
    this.nextLt += LT_STEP;
    this.lastRound = utime;
    return round;
  }

  private openShard(round: Round, shard: Shard, isTie: boolean, isLast: boolean): void {
    const forced =
      isTie || (this.shards.mustWork(shard) && (isLast || shard.last === NONE || shard.nextFlags !== 0));
    if (!forced && this.random.chance(0.07)) return;
    const utime = isTie ? round.utime : this.shardTime(round, shard);
    const flags = isLast ? this.shards.announcement(shard) : 0;
    const block = this.shards.makeBlock(shard, { utime, startLt: round.baseLt, round: round.index, flags });
    this.mailbox.open(block);
    round.open(block, shard.code);
  }

  /** Shards differ by a second or two, but never fall behind a message that they may receive. */
  private shardTime(round: Round, shard: Shard): number {
    const floor = Math.max(this.roundBefore(round), shard.utime);
    const utime = Math.max(floor, round.utime - Math.max(0, this.random.below(5) - 2));
    return this.tieSeconds.has(utime) ? round.utime : utime;
  }

  private roundBefore(round: Round): number {
    return round.index === 0 ? this.world.options.start : this.world.rounds.utime.get(round.index - 1);
  }

  private fillRound(round: Round, exact: boolean): void {
    const ahead = exact ? [] : this.held.prepare(round);
    this.uncounted += ahead.length;
    for (const draft of ahead) this.mailbox.park(draft);
    this.mailbox.deliver(round);
    if (this.isQuiet && !exact) return;
    let failures = 0;
    while (!round.isFull && failures < 12) {
      const draft = this.begin(round);
      if (draft === undefined) failures++;
      else this.mailbox.cascade(round, draft);
    }
    if (exact) this.fillWithIdle(round);
  }

  /** The giver begins and ends traces that are one transaction each. */
  private fillWithIdle(round: Round): void {
    while (!round.isFull) {
      const draft = this.opener.idle(round);
      if (draft === undefined)
        throw new UsageError(`The network cannot fill second ${round.utime}: it is too young.`, {
          hint: 'Begin the network earlier, or put the tie later.',
        });
      this.mailbox.park(draft);
    }
  }

  private fillWithHeld(round: Round, tie: Tie): void {
    this.mailbox.deliverHeld(round, tie);
    if (!round.isFull) throw tooFew(round);
  }

  private begin(round: Round): Draft | undefined {
    return this.prefund(round.utime) > 0 ? this.opener.fund(round, 60) : this.opener.begin(round);
  }

  /** As many wallets as asked for act at the first lt of the round. */
  private fillWithOneLt(round: Round): void {
    const { accounts } = this.world;
    for (let index = accounts.exchanges; index < accounts.wallets && !round.isFull; index++) {
      const draft = this.opener.transferBy(round, accounts.account('wallet', index));
      if (draft !== undefined) this.mailbox.park(draft);
    }
    if (!round.isFull) throw tooFew(round);
  }

  private holdLagging(utime: number): void {
    for (const lag of this.world.options.lags) {
      const held = this.shards.current.some((shard) => shard.heldUntil === lag.to);
      const shard = this.shards.current.find((candidate) => !this.shards.mustWork(candidate));
      if (!held && shard !== undefined && utime >= lag.from && utime < lag.to) shard.heldUntil = lag.to;
    }
    for (const shard of this.shards.current) if (shard.heldUntil <= utime) shard.heldUntil = 0;
  }

  private masterchainRound(tick: number, utime: number): void {
    const { world } = this;
    const round = this.newRound(utime, Infinity);
    const seqno = world.seqnoOfTick(tick);
    const flags = seqno % 1000 === 0 ? BLOCK.key : 0;
    const { baseLt: startLt, index } = round;
    const parents = [this.mcTop, NONE] as const;
    const block = world.blocks.push({ shard: 0, seqno, utime, startLt, flags, round: index, parents });
    this.mcTop = block;
    this.mailbox.open(block);
    const tie = this.timetable.electorTies.find(({ second }) => second === utime);
    for (let row = 0; row < (tie?.count ?? 0); row++) this.special.tickElector(round, block, row % 2 === 0);
    if (!this.tieSeconds.has(utime)) this.special.run(round, block, tick, { emits: !this.isQuiet });
    this.credit -= round.drafts.length - (tie?.count ?? 0);
    this.finishRound(round);
    this.register(tick, block, utime);
  }

  /** The masterchain block names every new block of every shard that is not held back. */
  private register(tick: number, block: number, utime: number): void {
    const { ticks, blocks } = this.world;
    ticks.block.push(block);
    ticks.utime.push(utime);
    ticks.firstRegistered.push(ticks.registered.length);
    ticks.firstTop.push(ticks.tops.length);
    const registered = [block];
    for (const shard of this.shards.current) {
      if (shard.heldUntil !== 0) continue;
      registered.push(...shard.waiting);
      shard.top = shard.waiting.at(-1) ?? shard.top;
      shard.waiting = [];
    }
    for (const row of registered) {
      blocks.tick.set(row, tick);
      ticks.registered.push(row);
      this.mailbox.register(row);
    }
    for (const top of [block, ...this.shards.current.map((shard) => shard.top)])
      if (top !== NONE) ticks.tops.push(top);
  }

  private finishRound(round: Round): void {
    finish(this.world, this.states, round);
    if (this.nextLt < maxEndLt(this.world, round))
      this.nextLt = Math.ceil(maxEndLt(this.world, round) / LT_STEP + 1) * LT_STEP;
  }
}

function tooFew(round: Round): UsageError {
  return new UsageError(
    `Only ${round.drafts.length} of ${round.quota} transactions could be made in second ${round.utime}.`,
    { hint: 'Give the network more accounts, or put the tie later.' },
  );
}

function maxEndLt(world: World, round: Round): number {
  return round.drafts.reduce((most, draft) => Math.max(most, world.blocks.endLt.get(draft.block)), 0);
}

/** A round of the shards that is still to be made. */
interface PlannedRound {
  /** Unix seconds with a fraction. */
  readonly time: number;
  readonly tie: Tie | undefined;
}

/** Says when ticks and rounds are; ties have a round of their own in their very second. */
class Timetable {
  /** Ties of the masterchain's own transactions, and those of the shards. */
  readonly electorTies: readonly Tie[];
  readonly shardTies: readonly Tie[];
  private readonly world: World;
  private nextTie = 0;

  constructor(world: World) {
    const { ties } = world.options;
    this.world = world;
    this.electorTies = ties.filter((tie) => tie.of === 'validator_events');
    this.shardTies = ties.filter((tie) => tie.of !== 'validator_events');
  }

  /** The precise time of a tick's masterchain block, unix seconds with a fraction. */
  timeOf(tick: number): number {
    const time = this.plainTimeOf(tick);
    if (this.electorTies.length === 0 || tick === 0) return time;
    // A block of the masterchain must be in exactly the second of such a tie.
    const before = this.plainTimeOf(tick - 1);
    return this.electorTies.find(({ second }) => before < second && second <= time)?.second ?? time;
  }

  private plainTimeOf(tick: number): number {
    const { start, masterchainInterval } = this.world.options;
    const jitter =
      tick === 0 ? 0 : (this.world.hashes('jitter').prefix(tick) / 2 ** 32) * masterchainInterval * 0.6;
    return start + tick * masterchainInterval + jitter;
  }

  /** The rounds of the tick that begins at `start` and ends at `end`; to be asked once for each tick. */
  roundsUntil(end: number, start: number): PlannedRound[] {
    const { roundsPerTick } = this.world.options;
    const rounds: PlannedRound[] = [];
    for (let i = 1; i <= roundsPerTick; i++)
      rounds.push({ time: start + ((end - start) * i) / roundsPerTick, tie: undefined });
    for (;;) {
      const tie = this.shardTies[this.nextTie];
      if (tie === undefined || tie.second > Math.floor(end)) break;
      this.nextTie++;
      const at = rounds.findIndex((round) => Math.floor(round.time) >= tie.second && round.tie === undefined);
      rounds.splice(at === -1 ? rounds.length : at, 0, { time: tie.second, tie });
    }
    return rounds;
  }
}

/** Nanotons that the protocol emits at a time. */
const EMISSION = 4_000_000_000_000_000;
/** Emissions on their way to one account at a time: a third would take its balance beyond 2^53, where numbers lose nanotons. */
const MOST_EMISSIONS = 2;

/** Makes the transactions of the masterchain that the protocol itself causes. */
class SpecialTransactions {
  private readonly world: World;
  private readonly executor: Executor;
  private readonly opener: Opener;
  private readonly mailbox: Mailbox;
  /** Emissions since the giver last had enough. */
  private emissions = 0;

  constructor(executor: Executor, opener: Opener, mailbox: Mailbox) {
    this.world = executor.world;
    this.executor = executor;
    this.opener = opener;
    this.mailbox = mailbox;
  }

  /** Makes those of a tick. `emits`: money is emitted where the giver has too little. */
  run(round: Round, block: number, tick: number, { emits }: { readonly emits: boolean }): void {
    if (!this.opener.giverIsPoor) this.emissions = 0;
    else if (emits && tick % 8 === 0 && this.emissions < MOST_EMISSIONS) this.emit(round, block);
    const { tickTockEvery } = this.world.options;
    if (tickTockEvery === 0 || tick % tickTockEvery !== 0) return;
    this.tickElector(round, block, true);
    this.tickElector(round, block, false);
    const trace = this.begin(CONFIG, 'tick_tock');
    this.executor.spontaneous({ round, block, account: CONFIG, trace }, 'tock');
  }

  tickElector(round: Round, block: number, first: boolean): void {
    const turn = { round, block, account: ELECTOR, trace: this.begin(ELECTOR, 'tick_tock') };
    this.executor.spontaneous(turn, first ? 'tick' : 'tock');
  }

  private emit(round: Round, block: number): void {
    const { executor } = this;
    this.emissions += 1;
    const elector = { round, block, account: ELECTOR, trace: this.begin(ELECTOR, 'emission') };
    this.mailbox.park(executor.emission(elector, EMISSION, 1_000_000_000));
    if (executor.states.isActive(CONFIG)) return;
    const config = { round, block, account: CONFIG, trace: this.begin(CONFIG, 'emission') };
    executor.emission(config, 10_000_000_000, 0);
  }

  private begin(account: number, purpose: 'emission' | 'tick_tock'): number {
    return this.world.traces.push({ purpose, actor: account, partner: account, slot: 0, amount: 0 });
  }
}
