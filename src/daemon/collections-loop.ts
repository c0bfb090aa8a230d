import PQueue from 'p-queue';
import { readWalk } from '../crawl/collections/read-collections.ts';
import { nameOf, type RunContext, type WalkTurns } from '../crawl/collections/walk-context.ts';
import { needsRange, type Collection } from '../dataset/dataset.ts';
import { walkSeconds } from '../crawl/tail-pace.ts';
import type { Priority } from '../budget/request-budget.ts';
import type { Walk } from '../dataset/collection.ts';
import { type DaemonContext, type ChainPosition, runRounds } from './daemon-context.ts';
import type { Clock } from '../clock.ts';

/** The largest share of the budget for collections, even if the rest is unused. */
const SHARE = 0.2;
const REFRESH: Priority = 'refresh';
/** The order of the first requests: history comes last. */
const ORDER: readonly Walk['kind'][] = ['sample', 'list', 'lookup', 'backward', 'per_block'];

/**
 * One loop for each walk of each collection. It keeps the collection up to date until the daemon stops: it
 * reads what has moved, was appended, or is due again. The loops take turns, one request each, so that a
 * history of days does not delay look-ups.
 */
export function collectionLoops(
  { context, stop, collections = [] }: DaemonContext,
  position: ChainPosition,
): ((own: DaemonContext) => Promise<void>)[] {
  const { inFlight } = context.api;
  const requests = createTurns({
    perSecond: inFlight.rateOf(SHARE),
    most: () => 1 + Math.ceil(inFlight.target * SHARE),
    clock: context.clock,
    signal: stop.finishing,
  });
  // One at a time: each may take long, and uses a connection that the crawl needs.
  const searches = new PQueue({ concurrency: 1 });
  const turns: WalkTurns = {
    ask: (walk, request) => requests.take(walk, request),
    gather: (search) => searches.add(search, { signal: stop.finishing }),
  };
  return collections
    .flatMap((dataset) => dataset.job.walks.map((walk) => ({ dataset, walk })))
    .toSorted((a, b) => ORDER.indexOf(a.walk.kind) - ORDER.indexOf(b.walk.kind))
    .map(({ dataset, walk }) => (own) => {
      const round = { what: nameOf({ dataset, walk }), periodMs: 1000 * walkSeconds(walk) };
      return runRounds(own, round, (context) =>
        readWalk({ ...runOf(own, position, dataset), context, turns }, dataset, walk),
      );
    });
}

function runOf(
  daemon: DaemonContext,
  position: ChainPosition,
  collection: Collection,
): Omit<RunContext, 'turns' | 'context'> {
  const { owner, chain, config, stop, piggybacked = [] } = daemon;
  const range = () => {
    const to = position.watermark.utime - config.watermarkDelaySeconds;
    const from = position.since.get(collection.name) ?? to;
    return needsRange(collection) && from < to ? { from, to } : undefined;
  };
  return {
    owner,
    choices: config.choices,
    piggybacked,
    range,
    firstSeqno: chain.first.seqno,
    priority: REFRESH,
    began: Infinity,
    stop,
  };
}

interface TurnsOptions {
  /** Turns a second, for all names together. */
  readonly perSecond: number;
  /** Maximum number of concurrent turns. */
  readonly most: () => number;
  readonly clock: Clock;
  /** Ends the waits. */
  readonly signal: AbortSignal;
}

/**
 * Lets several kinds of work take turns, so that none waits for the end of another. For work that must never take more
 * than its share of the budget, even if the rest is unused.
 */
export function createTurns({ perSecond, most, clock, signal }: TurnsOptions) {
  /** Waiting work by name, the longest waiting name first. */
  const waiting = new Map<string, (() => void)[]>();
  let [next, underWay, isServing] = [0, 0, false];
  const serve = async () => {
    if (isServing) return;
    isServing = true;
    while (waiting.size > 0 && underWay < most()) {
      const waitMs = next - clock.monotonic();
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined);
      next = Math.max(clock.monotonic(), next) + 1000 / perSecond;
      underWay += 1;
      letNextGo(waiting);
    }
    isServing = false;
  };
  return {
    /** Runs the work at this name's turn. Each waiting name gets one turn before any gets a second one. */
    take: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      await new Promise<void>((resolve) => {
        waiting.set(name, [...(waiting.get(name) ?? []), resolve]);
        void serve();
      });
      try {
        return await work();
      } finally {
        underWay -= 1;
        void serve();
      }
    },
  };
}

function letNextGo(waiting: Map<string, (() => void)[]>): void {
  const [first] = waiting;
  if (first === undefined) return;
  const [name, [go, ...others]] = first;
  waiting.delete(name);
  if (others.length > 0) waiting.set(name, others);
  go?.();
}
