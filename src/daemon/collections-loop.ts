import { readCollections } from '../crawl/collections/read-collections.ts';
import { createShare } from '../budget/share.ts';
import { needsRange, type Collection } from '../dataset/dataset.ts';
import type { Priority } from '../budget/priority.ts';
import { untilAborted } from '../stop.ts';
import { waitFor, type DaemonContext, type Position } from './daemon-context.ts';

/** Collections take at most this part of the budget, even where nobody else wants it. */
const SHARE = 0.2;
/** Milliseconds between two rounds. */
const PERIOD_MS = 60_000;
const REFRESH: Priority = 'refresh';

/** Keeps collections up to date until stopped, in rounds: what has moved, what was appended, what is to be rescanned. */
export async function runCollectionsLoop(daemon: DaemonContext, position: Position): Promise<void> {
  const { context, config, stop, collections = [] } = daemon;
  // A loop of the daemon that ended would end the others.
  if (collections.length === 0) return untilAborted(stop.finishing);
  const pace = createShare(config.rps * SHARE, context.clock, stop.finishing);
  while (!stop.finishing.aborted) {
    for (const collection of collections) {
      const round = roundOf(daemon, position, collection);
      await waitFor(daemon, collection.name, () => readCollections({ ...round, pace }, [collection]));
    }
    await context.clock.sleep(PERIOD_MS, stop.finishing).catch(() => undefined);
  }
}

function roundOf(daemon: DaemonContext, { watermark, since }: Position, collection: Collection) {
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
