import { NONE, BLOCK, shardDepth, type BlockTable } from '../tables/block-table.ts';
import type { Draft } from '../tables/transaction-table.ts';
import type { AccountStates } from './generate-account-states.ts';
import type { World } from '../world.ts';
import { ELECTOR } from '../tables/accounts.ts';
import type { Family } from '../tables/family.ts';
import type { Op } from '../tables/message-table.ts';
import type { Random } from '../../../random.ts';

/** One step of the network: each open shard makes one block in it, all with the same start_lt. */
export class Round {
  readonly index: number;
  /** The latest second of the round's blocks. */
  readonly utime: number;
  readonly baseLt: number;
  /** How many transactions the round may hold. */
  readonly quota: number;
  readonly drafts: Draft[] = [];
  /** Block rows by the first three bits of the addresses that they hold. */
  private readonly blocks = new Int32Array(8).fill(NONE);

  constructor(index: number, utime: number, baseLt: number, quota: number) {
    this.index = index;
    this.utime = utime;
    this.baseLt = baseLt;
    this.quota = quota;
  }

  get isFull(): boolean {
    return this.drafts.length >= this.quota;
  }

  /** Opens a block for the addresses of a shard of the basechain. */
  open(block: number, shard: number): void {
    const depth = 31 - Math.clz32(shard);
    const width = 8 >> depth;
    const first = (shard - 2 ** depth) * width;
    this.blocks.fill(block, first, first + width);
  }

  /** The block of this round for an address of the basechain, or NONE. */
  blockFor(prefix: number): number {
    return this.blocks[prefix >>> 29] ?? NONE;
  }
}

/** Gives the drafts of a round their rows, sorted by (lt, account), and joins messages and traces to them. */
export function finish(world: World, states: AccountStates, round: Round): void {
  const { transactions } = world;
  const drafts = round.drafts.sort((a, b) => a.lt - b.lt || a.account - b.account);
  transactions.append(drafts);
  const touched = new Set<number>();
  for (const draft of drafts) {
    joinMessages(world, draft);
    joinTrace(world, draft);
    touched.add(draft.trace);
    if (states.latest[draft.account] === draft) {
      world.latest[draft.account] = draft.row;
      states.latest[draft.account] = undefined;
    }
  }
  listEvents(world, drafts);
  complete(
    world,
    [...touched].filter((trace) => world.traces.underWay.get(trace) === 0),
  );
}

interface Completed {
  readonly trace: number;
  readonly id: string;
}

/**
 * Lists traces that a round has completed. Each ended in this round, so they follow all others by lt; by time they
 * may share a second with those of the rounds before.
 */
function complete({ traces, transactions, hashes }: World, finished: readonly number[]): void {
  if (finished.length === 0) return;
  const ids = hashes('transaction');
  const named = (list: readonly number[]): Completed[] =>
    list.map((trace) => ({ trace, id: ids.text(traces.root.get(trace)) }));
  const endLt = ({ trace }: Completed): number => transactions.lt.get(traces.last.get(trace));
  const endUtime = ({ trace }: Completed): number => traces.endUtime.get(trace);
  const byId = (a: Completed, b: Completed): number => (a.id < b.id ? -1 : 1);
  for (const { trace } of named(finished).sort((a, b) => endLt(a) - endLt(b) || byId(a, b)))
    traces.byLt.push(trace);
  const earliest = finished.reduce((least, trace) => Math.min(least, traces.endUtime.get(trace)), Infinity);
  const neighbours = traces.byTime.cut(
    traces.byTime.lowerBound(earliest, (trace) => traces.endUtime.get(trace)),
  );
  const sorted = named([...neighbours, ...finished]).sort((a, b) => endUtime(a) - endUtime(b) || byId(a, b));
  for (const { trace } of sorted) traces.byTime.push(trace);
}

function joinMessages({ messages, traces }: World, draft: Draft): void {
  const { trace, inMessage } = draft;
  let change = draft.outCount;
  if (inMessage !== NONE) {
    messages.inTransaction.set(inMessage, draft.row);
    // What came from outside is counted here, what was sent was counted with its sender.
    if (messages.source.get(inMessage) < 0) traces.messages.set(trace, traces.messages.get(trace) + 1);
    else change--;
  }
  for (let message = draft.firstOut; message < draft.firstOut + draft.outCount; message++) {
    messages.outTransaction.set(message, draft.row);
    if (messages.isExternalOut(message)) change--;
  }
  traces.messages.set(trace, traces.messages.get(trace) + draft.outCount);
  traces.underWay.set(trace, traces.underWay.get(trace) + change);
}

function joinTrace({ traces, transactions }: World, draft: Draft): void {
  const { trace, row } = draft;
  if (traces.root.get(trace) === NONE) traces.root.set(trace, row);
  const last = traces.last.get(trace);
  traces.endUtime.set(trace, Math.max(traces.endUtime.get(trace), draft.utime));
  if (last === NONE || transactions.lt.get(row) >= transactions.lt.get(last)) traces.last.set(trace, row);
}

/** Lists the finished drafts of a round, sorted by (lt, account), with their families. */
function listEvents(world: World, drafts: readonly Draft[]): void {
  const found = new Map<Family, number[]>();
  for (const draft of drafts) {
    const family = familyOf(world, draft);
    if (family === undefined) continue;
    const rows = found.get(family);
    if (rows === undefined) found.set(family, [draft.row]);
    else rows.push(draft.row);
  }
  for (const [family, rows] of found) world.events[family].append(rows, (row) => world.utimeOf(row));
}

/**
 * The family of a transaction, if it has one. Jetton transfers that failed are listed nowhere, burns and item transfers
 * that failed are: the real index does it so.
 */
function familyOf(world: World, draft: Draft): Family | undefined {
  const { account, inMessage, kind } = draft;
  if (inMessage === NONE) return isElectorTick(draft) ? 'validator_events' : undefined;
  const family = FAMILY_OF[world.messages.opOf(inMessage)];
  const threw = kind === 'failed' || kind === 'action_failed';
  if (family === 'pool_events' && !world.isPool(account)) return undefined;
  const listed = kind === 'ok' || (threw && (family === 'jetton_burns' || family === 'nft_transfers'));
  return listed ? family : undefined;
}

function isElectorTick({ account, kind }: Draft): boolean {
  return account === ELECTOR && (kind === 'tick' || kind === 'tock');
}

const FAMILY_OF: Readonly<Partial<Record<Op, Family>>> = {
  jetton_transfer: 'jetton_transfers',
  jetton_burn: 'jetton_burns',
  nft_transfer: 'nft_transfers',
  call: 'pool_events',
};

/** One shard of the basechain at work. */
export interface Shard {
  readonly code: number;
  seqno: number;
  /** The latest block, NONE before the first. */
  last: number;
  utime: number;
  /** Parents of the next block. */
  parents: readonly [number, number];
  /** The flags of the next block. */
  nextFlags: number;
  /** The latest block that a masterchain block has registered. */
  top: number;
  /** Blocks that no masterchain block has registered yet. */
  waiting: number[];
  /** While below this second, nothing of the shard is registered. */
  heldUntil: number;
}

/** The facts of a round for a block of one of its shards. */
interface NewBlock {
  readonly utime: number;
  readonly startLt: number;
  readonly round: number;
  /** In addition to those that the shard itself knows. */
  readonly flags: number;
}

type ShardPlan =
  | { readonly kind: 'split'; readonly shard: Shard }
  | { readonly kind: 'merge'; readonly shards: [Shard, Shard] };

/** The tiling of the basechain: which shards there are, and how they split and merge. */
export class Shards {
  private readonly blocks: BlockTable;
  private readonly random: Random;
  private readonly most: number;
  private plan: ShardPlan | undefined;
  current: Shard[];

  constructor(blocks: BlockTable, random: Random, most: number, firstSeqno: number) {
    this.blocks = blocks;
    this.random = random;
    this.most = most;
    const seqno = firstSeqno === 1 ? 0 : firstSeqno + 4_864_773;
    this.current = [newShard({ code: 1, seqno, utime: 0, parents: [NONE, NONE], nextFlags: 0 })];
  }

  /** True if a shard must make a block in this round, whatever chance says. */
  mustWork(shard: Shard): boolean {
    if (shard.last === NONE || shard.nextFlags !== 0) return true;
    const plan = this.plan;
    if (plan === undefined) return false;
    return plan.kind === 'split' ? plan.shard === shard : plan.shards.includes(shard);
  }

  /** Chooses what the next tick changes; the blocks of this tick's last round announce it. */
  decide(): void {
    const free = this.current.filter((shard) => shard.heldUntil === 0 && shard.waiting.length === 0);
    const splittable = free.filter((shard) => 2 ** shardDepth(shard.code) < this.most);
    const pairs = this.current.length > 2 ? mergeable(free) : [];
    const split = splittable[this.random.below(splittable.length)];
    const pair = pairs[this.random.below(pairs.length)];
    const grow = this.current.length < this.most && (pair === undefined || this.random.chance(0.5));
    if (grow && split !== undefined) this.plan = { kind: 'split', shard: split };
    else if (pair !== undefined) this.plan = { kind: 'merge', shards: pair };
  }

  /** Flags that a shard's last block before the change carries. */
  announcement(shard: Shard): number {
    if (this.plan === undefined || !this.mustWork(shard)) return 0;
    if (this.plan.kind === 'split')
      return this.plan.shard === shard ? BLOCK.beforeSplit | BLOCK.wantSplit : 0;
    return this.plan.shards.includes(shard) ? BLOCK.wantMerge : 0;
  }

  /** Carries the plan out, between two ticks. */
  reshape(): void {
    const plan = this.plan;
    this.plan = undefined;
    if (plan?.kind === 'split') {
      const { shard } = plan;
      const halves = [0, 1].map((half) =>
        newShard({
          code: shard.code * 2 + half,
          seqno: shard.seqno,
          utime: shard.utime,
          parents: [shard.last, NONE],
          nextFlags: BLOCK.afterSplit,
        }),
      );
      this.current = this.current.flatMap((other) => (other === shard ? halves : [other]));
    }
    if (plan?.kind === 'merge') {
      const [left, right] = plan.shards;
      const whole = newShard({
        code: left.code >> 1,
        seqno: Math.max(left.seqno, right.seqno),
        utime: Math.max(left.utime, right.utime),
        parents: [left.last, right.last],
        nextFlags: BLOCK.afterMerge,
      });
      this.current = this.current.flatMap((other) =>
        other === left ? [whole] : other === right ? [] : [other],
      );
    }
  }

  /** Makes a shard's next block and returns its row. */
  makeBlock(shard: Shard, { utime, startLt, round, flags }: NewBlock): number {
    shard.seqno++;
    const block = this.blocks.push({
      shard: shard.code,
      seqno: shard.seqno,
      utime,
      startLt,
      flags: shard.nextFlags | flags,
      round,
      parents: shard.parents,
    });
    shard.last = block;
    shard.utime = utime;
    shard.parents = [block, NONE];
    shard.nextFlags = 0;
    shard.waiting.push(block);
    return block;
  }
}

function newShard(facts: Pick<Shard, 'code' | 'seqno' | 'utime' | 'parents' | 'nextFlags'>): Shard {
  return { ...facts, last: facts.parents[0], top: NONE, waiting: [], heldUntil: 0 };
}

function mergeable(shards: readonly Shard[]): [Shard, Shard][] {
  return shards.flatMap((left) => {
    const right = left.code % 2 === 0 ? shards.find((shard) => shard.code === left.code + 1) : undefined;
    return right === undefined ? [] : [[left, right] satisfies [Shard, Shard]];
  });
}
