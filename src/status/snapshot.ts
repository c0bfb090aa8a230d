import { unixSeconds, type Clock } from '../clock.ts';
import type { Config } from '../settings/config.ts';
import { type CrawlContext, noDiskGuard } from '../crawl/crawl-context.ts';
import { longestLagOf, readReport, type Report } from './report.ts';
import { longestAgeOf, titleOf } from './collections.ts';
import type { AnyJob, Collection, Dataset } from '../dataset/dataset.ts';
import { countLookups } from '../ledger/subjects.ts';
import { readActivity, readSpentMinutes, type Activity, type SpentMinute } from '../read/stored-status.ts';
import { version } from '../package.ts';
import { readinessOf, type Readiness } from './readiness.ts';
import { HOUR } from '../range.ts';
import { readQuarantineKinds, type QuarantineKind } from '../read/quarantined.ts';

/** The range that is shown minute by minute, in seconds. */
const HISTORY = 6 * HOUR;
/** Seconds within which a minute may still change: processes report their minutes a few seconds late. */
const UNFINISHED_SECONDS = 120;
/** How long a snapshot is reused for all callers. */
const GOOD_FOR_MS = 1000;
/** How long the counts of look-ups are reused: there may be millions of subjects. */
const LOOKUPS_GOOD_FOR_MS = 60_000;
const MOST_REASONS = 20;

/** Everything that the daemon's pages and metrics show, as of one moment. Times are in unix seconds. */
export interface Snapshot extends Report {
  readonly version: string;
  readonly readiness: Readiness;
  /** For each dataset that follows the head: the lag in seconds above which it is behind. */
  readonly lagLimits: Readonly<Record<string, number>>;
  /** The chosen walks of collections, with the seconds after which each is overdue. */
  readonly walkLimits: readonly {
    readonly dataset: string;
    readonly title: string;
    readonly seconds: number;
  }[];
  /** When this process started, unix seconds. */
  readonly startedAt: number;
  /** The last six hours, minute by minute. */
  readonly activity: readonly Activity[];
  readonly spentMinutes: readonly SpentMinute[];
  readonly quarantine: readonly QuarantineKind[];
  /** Bytes of the embedded database's disk; null for another server, whose disk this process cannot see. */
  readonly disk: { readonly free: number; readonly minFree: number } | null;
}

interface SnapshotOptions {
  readonly context: Pick<CrawlContext, 'database' | 'clock'> & Partial<Pick<CrawlContext, 'disk'>>;
  readonly datasets: readonly Dataset[];
  readonly collections?: readonly Collection[];
  /** Every dataset that may be stored. */
  readonly jobs: readonly Dataset<AnyJob>[];
  readonly config: Config;
}

/**
 * Creates a reader of snapshots. It reads one at a time and at most one a second, however many callers ask. Minutes
 * that are over are read once.
 */
export function createSnapshots({
  context,
  datasets,
  collections = [],
  jobs,
  config,
}: SnapshotOptions): () => Promise<Snapshot> {
  const { database, clock, disk = noDiskGuard } = context;
  let activity: readonly Activity[] = [];
  const lagLimits = Object.fromEntries(
    datasets.map((dataset) => [dataset.name, longestLagOf(dataset, config)]),
  );
  const walkLimits = collections.flatMap(({ name, job }) =>
    job.walks.map((walk) => ({ dataset: name, title: titleOf(walk), seconds: longestAgeOf(walk) })),
  );
  const startedAt = unixSeconds(clock);
  const lookups = remembered(clock, LOOKUPS_GOOD_FOR_MS, () => countLookups(database));
  const read = async (): Promise<Snapshot> => {
    const counting = { rows: 'estimated', countLookups: lookups } as const;
    const report = await readReport(database, jobs, counting);
    const oldest = report.at - HISTORY;
    const newest = activity.at(-1)?.minute ?? 0;
    const from = Math.max(oldest, newest - UNFINISHED_SECONDS);
    const kept = activity.filter(({ minute }) => minute >= oldest && minute < from - (from % 60));
    activity = [...kept, ...(await readActivity(database, from - (from % 60)))];
    return {
      version,
      ...report,
      activity,
      lagLimits,
      walkLimits,
      startedAt,
      readiness: readinessOf(report, datasets, config),
      spentMinutes: await readSpentMinutes(database, oldest),
      quarantine: await readQuarantineKinds(database, MOST_REASONS),
      disk: (await disk.room()) ?? null,
    };
  };
  return remembered(clock, GOOD_FOR_MS, read);
}

/**
 * Caches a reading for `goodForMs`. All callers that ask during a reading wait for it: concurrent readings would take
 * the connections that the crawl needs. A failure is cached for GOOD_FOR_MS.
 */
function remembered<T>(clock: Clock, goodForMs: number, read: () => Promise<T>): () => Promise<T> {
  let last: Promise<T> | undefined;
  let goodUntil = Infinity;
  const keepFor = (ms: number) => {
    goodUntil = clock.monotonic() + ms;
  };
  return () => {
    if (last === undefined || clock.monotonic() > goodUntil) {
      goodUntil = Infinity;
      last = read();
      last.then(
        () => keepFor(goodForMs),
        () => keepFor(GOOD_FOR_MS),
      );
    }
    return last;
  };
}
