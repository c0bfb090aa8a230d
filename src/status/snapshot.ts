import type { Config } from '../config.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { readReport, type Report } from './report.ts';
import type { Dataset } from '../dataset/dataset.ts';
import {
  readActivity,
  readSpentMinutes,
  readUnfit,
  type Activity,
  type SpentMinute,
  type Unfit,
} from '../db/read/activity.ts';
import { version } from '../package.ts';
import { readinessOf, type Readiness } from './readiness.ts';

/** How much of the past is shown minute by minute, in seconds. */
const HISTORY = 6 * 3600;
/** Minutes that may still grow: what a process reports of a minute comes a few seconds late. */
const UNSETTLED = 120;
/** A snapshot is good for so long, whoever asks for it, in milliseconds. */
const GOOD_FOR_MS = 1000;
const MOST_REASONS = 20;

/** Everything that the daemon's pages and metrics show, as of one moment. Times in unix seconds. */
export interface Snapshot extends Report {
  readonly version: string;
  readonly readiness: Readiness;
  /** Minute by minute, the last six hours. */
  readonly activity: readonly Activity[];
  readonly spentMinutes: readonly SpentMinute[];
  readonly quarantine: readonly Unfit[];
}

interface SnapshotOptions {
  readonly context: Pick<CrawlContext, 'database' | 'clock'>;
  readonly datasets: readonly Dataset[];
  readonly jobs: readonly Dataset[];
  readonly config: Config;
}

/** Reads snapshots: at most one a second, however many ask; minutes that are over are read once. */
export function createSnapshots({
  context,
  datasets,
  jobs,
  config,
}: SnapshotOptions): () => Promise<Snapshot> {
  const { database, clock } = context;
  let activity: readonly Activity[] = [];
  let current: { readonly at: number; readonly snapshot: Promise<Snapshot> } | undefined;
  const read = async (): Promise<Snapshot> => {
    const at = Math.floor(clock.now() / 1000);
    const oldest = at - HISTORY;
    const newest = activity.at(-1)?.minute ?? 0;
    const from = Math.max(oldest, newest - UNSETTLED);
    const kept = activity.filter(({ minute }) => minute >= oldest && minute < from - (from % 60));
    activity = [...kept, ...(await readActivity(database, from - (from % 60)))];
    const report = await readReport(database, jobs, { rows: 'estimated', now: at });
    return {
      version,
      ...report,
      activity,
      readiness: readinessOf(report, datasets, config),
      spentMinutes: await readSpentMinutes(database, oldest),
      quarantine: await readUnfit(database, MOST_REASONS),
    };
  };
  return () => {
    if (current === undefined || clock.monotonic() - current.at > GOOD_FOR_MS)
      current = { at: clock.monotonic(), snapshot: read() };
    return current.snapshot;
  };
}
