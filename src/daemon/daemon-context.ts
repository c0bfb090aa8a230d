import { every, type OutageLog, outlast } from '../clock.ts';
import { alsoOnPage, type CrawlContext } from '../crawl/crawl-context.ts';
import type { Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/source-chain.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Collection, Dataset } from '../dataset/dataset.ts';
import type { Config } from '../settings/config.ts';
import type { Stop } from '../stop.ts';

/** What every loop of the daemon needs. */
export interface DaemonContext {
  /** Name of this process. */
  readonly owner: string;
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly datasets: readonly Dataset[];
  /** Datasets that are not streams of time. They are read with the rest of the budget. */
  readonly collections?: readonly Collection[];
  /** Collections whose records come with the responses of other collections, chosen or not. */
  readonly piggybacked?: readonly Collection[];
  readonly config: Config;
  readonly stop: Stop;
  /** Shared by all loops, so that an outage is logged once; without it, each loop logs its own. */
  readonly outage?: OutageLog | undefined;
}

/** How far the chain is known, and since when each dataset is wanted. All loops share it. */
export interface ChainPosition {
  watermark: Watermark;
  since: ReadonlyMap<string, number>;
}

/**
 * Runs a task until the API and the database are available for it; undefined if the daemon is stopped meanwhile. A long
 * task reports that they are available again with each page that it commits through its context, or with `onAnswer`.
 */
export function waitFor<T>(
  { context, stop, outage }: Pick<DaemonContext, 'context' | 'stop' | 'outage'>,
  what: string,
  task: (context: CrawlContext, onAnswer: () => void) => Promise<T>,
): Promise<T | undefined> {
  const waiting = { ...context, attempts: Infinity, signal: stop.finishing, outage };
  return outlast(waiting, what, (onAnswer) => task(alsoOnPage(context, onAnswer), onAnswer));
}

interface Rounds {
  /** The name of the work, for the log. */
  readonly what: string;
  readonly periodMs: number;
  /** If true, the first round comes after a pause. */
  readonly isLater?: boolean;
}

/** Repeats work with a pause in between, until the daemon is stopped. */
export function runRounds(
  daemon: DaemonContext,
  { what, periodMs, isLater = false }: Rounds,
  work: (context: CrawlContext, onAnswer: () => void) => Promise<unknown>,
): Promise<void> {
  const rhythm = { pauseMs: periodMs, signal: daemon.stop.finishing, isLater };
  return every(daemon.context.clock, rhythm, () => waitFor(daemon, what, work));
}
