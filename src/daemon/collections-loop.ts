import { readCollections } from '../crawl/collections/read-collections.ts';
import { createShare } from '../budget/share.ts';
import type { Clock } from '../clock.ts';
import { needsRange, type Collection } from '../dataset/dataset.ts';
import { walkSeconds } from '../dataset/pace.ts';
import type { Priority } from '../budget/priority.ts';
import { untilAborted } from '../stop.ts';
import { waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';

/** Collections take at most this part of the budget, even where nobody else wants it. */
const SHARE = 0.2;
/** Milliseconds between two rounds. */
const PERIOD_MS = 60_000;
/** A round begins a little early or late. */
const SLACK_MS = 5000;
const REFRESH: Priority = 'refresh';

/**
 * Keeps collections up to date until stopped, in rounds: what has moved, what was appended, what is to be rescanned.
 * Each walk is in as many rounds as it says.
 */
export async function runCollectionsLoop(daemon: DaemonContext, position: ChainPosition): Promise<void> {
  const { context, config, stop, collections = [] } = daemon;
  // A loop of the daemon that ended would end the others.
  if (collections.length === 0) return untilAborted(stop.finishing);
  const pace = createShare(config.rps * SHARE, context.clock, stop.finishing);
  const takeDue = createTurns(context.clock);
  while (!stop.finishing.aborted) {
    for (const collection of collections.map(takeDue).filter(({ job }) => job.walks.length > 0)) {
      const round = roundOf(daemon, position, collection);
      await waitFor(daemon, collection.name, () => readCollections({ ...round, pace }, [collection]));
    }
    await context.clock.sleep(PERIOD_MS, stop.finishing).catch(() => undefined);
  }
}

/** Gives each collection with those of its walks alone whose turn it is. */
function createTurns(clock: Pick<Clock, 'monotonic'>): (collection: Collection) => Collection {
  const last = new Map<string, number>();
  return ({ name, job }) => {
    const now = clock.monotonic();
    const due = job.walks.filter((walk) => {
      const before = last.get(`${name}/${walk.name}`) ?? -Infinity;
      return now - before >= 1000 * walkSeconds(walk) - SLACK_MS;
    });
    for (const walk of due) last.set(`${name}/${walk.name}`, now);
    return { name, job: { ...job, walks: due } };
  };
}

function roundOf(daemon: DaemonContext, { watermark, since }: ChainPosition, collection: Collection) {
  const { context, owner, chain, config, stop, piggybacked = [] } = daemon;
  const to = watermark.utime - config.watermarkDelay;
  const from = since.get(collection.name) ?? to;
  return {
    context,
    owner,
    choices: config.choices,
    piggybacked,
    range: needsRange(collection) && from < to ? { from, to } : undefined,
    firstSeqno: chain.first.seqno,
    priority: REFRESH,
    stop,
  };
}
