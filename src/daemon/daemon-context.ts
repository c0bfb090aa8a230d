import { every } from '../clock.ts';
import { alsoOnPage, type CrawlContext } from '../crawl/crawl-context.ts';
import type { Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Collection, Dataset } from '../dataset/dataset.ts';
import { type OutageLog, outlast } from '../retry.ts';
import type { Config } from '../settings/config.ts';
import type { Stop } from '../stop.ts';

/** What every loop of the daemon works with. */
export interface DaemonContext {
  /** Name of this process. */
  readonly owner: string;
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly datasets: readonly Dataset[];
  /** Datasets that are no streams of time, read beside them with what they leave of the budget. */
  readonly collections?: readonly Collection[];
  /** Collections whose records come with the responses of others, chosen or not. */
  readonly piggybacked?: readonly Collection[];
  readonly config: Config;
  readonly stop: Stop;
  /** What the loops together say of an API or a database that is away; without it each speaks for itself. */
  readonly outage?: OutageLog | undefined;
}

/** How far the chain is known, and from when on each dataset is wanted; all loops see what one of them has found. */
export interface ChainPosition {
  watermark: Watermark;
  since: ReadonlyMap<string, number>;
}

/**
 * Runs a task until the API and the database are there for it; undefined where the daemon is stopped meanwhile. Each page
 * that it commits with the context that it is given says that they are there again, as does `isBack`: a task may last for
 * days.
 */
export function waitFor<T>(
  { context, stop, outage }: Pick<DaemonContext, 'context' | 'stop' | 'outage'>,
  what: string,
  task: (context: CrawlContext, isBack: () => void) => Promise<T>,
): Promise<T | undefined> {
  const waiting = { ...context, attempts: Infinity, signal: stop.finishing, outage };
  return outlast(waiting, what, (isBack) => task(alsoOnPage(context, isBack), isBack));
}

interface Rounds {
  /** What the rounds are of, for the log. */
  readonly what: string;
  readonly periodMs: number;
  /** True: the first round comes after a pause. */
  readonly isLater?: boolean;
}

/** Does work again and again, with a pause between, until the daemon is stopped. */
export function runRounds(
  daemon: DaemonContext,
  { what, periodMs, isLater = false }: Rounds,
  work: (context: CrawlContext, isBack: () => void) => Promise<unknown>,
): Promise<void> {
  const rhythm = { pauseMs: periodMs, signal: daemon.stop.finishing, isLater };
  return every(daemon.context.clock, rhythm, () => waitFor(daemon, what, work));
}
