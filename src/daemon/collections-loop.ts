import type { Config } from '../config.ts';
import type { ChainInfo } from '../crawl/watermark/chain-info.ts';
import { readCollections } from '../crawl/collections/collections.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { createShare } from '../budget/share.ts';
import { needsRange, type Collection } from '../dataset/dataset.ts';
import type { Priority } from '../budget/priority.ts';
import type { Range } from '../range.ts';
import { untilAborted, type Stop } from '../stop.ts';

/** Collections take at most this part of the budget, even where nobody else wants it. */
const SHARE = 0.2;
/** Milliseconds between two looks for what is new in them. */
const PERIOD_MS = 60_000;
const REFRESH: Priority = 'refresh';

interface RefreshOptions {
  /** Name of this process. */
  readonly owner: string;
  readonly context: CrawlContext;
  readonly chain: ChainInfo;
  readonly collections: readonly Collection[];
  readonly carried: readonly Collection[];
  readonly config: Config;
  readonly stop: Stop;
  /** From when to when a dataset is wanted now. */
  readonly rangeOf: (name: string) => Range | undefined;
  /** Runs a task until the API and the database are there for it. */
  readonly wait: (what: string, task: () => Promise<void>) => Promise<unknown>;
}

/** Keeps collections up to date until told to stop, in rounds: what has moved, what was appended, what is to be rescanned. */
export async function refresh(options: RefreshOptions): Promise<void> {
  const { context, owner, chain, config, stop, carried, rangeOf } = options;
  // A part of the daemon that ended would end the others.
  if (options.collections.length === 0) return untilAborted(stop.finishing);
  const pace = createShare(config.rps * SHARE, context.clock, stop.finishing);
  while (!stop.finishing.aborted) {
    for (const collection of options.collections) {
      const round = {
        context,
        owner,
        choices: config.choices,
        carried,
        range: needsRange(collection) ? rangeOf(collection.name) : undefined,
        firstSeqno: chain.first.seqno,
        priority: REFRESH,
        stop,
        pace,
      };
      await options.wait(collection.name, async () => {
        await readCollections(round, [collection]);
      });
    }
    await context.clock.sleep(PERIOD_MS, stop.finishing).catch(() => undefined);
  }
}
