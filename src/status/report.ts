import { splitKinds, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { countRows, estimateRows, type RowCount } from '../read/row-estimates.ts';
import { type Database, readClock } from '../postgres/database.ts';
import {
  networkName,
  readNetwork,
  type SavedWatermark,
  readSetting,
  type Settings,
} from '../ledger/stored-settings.ts';
import { uncoveredBetween, readStatus, type Status } from '../read/stored-status.ts';
import { readUnfit, type Unfit } from '../read/quarantined.ts';
import { isGap, readWanted } from '../ledger/stored-coverage.ts';
import { readSpending, hasEnded } from '../ledger/workers.ts';
import { readPools, countLookups, type LookupCounts } from '../ledger/subjects.ts';
import { readOwner } from '../ledger/leases.ts';
import { common, type Range, union, without } from '../range.ts';
import { readCollectionReports } from './collections.ts';
import {
  delayOf,
  pauseSeconds,
  tailPeriodSeconds,
  wantedPauseSeconds,
  type TailPlan,
} from '../crawl/tail-pace.ts';

export type DatasetReport = ReturnType<typeof reportOn>;

export type Report = Awaited<ReturnType<typeof readReport>>;

interface ReportOptions {
  /** `exact` counts rows, which takes seconds; `estimated` uses Postgres' statistics, for callers that ask often. */
  readonly rows: 'exact' | 'estimated';
  /** Counts the subjects of look-ups, which is slow if there are millions. Default: counts them now. */
  readonly countLookups?: () => Promise<readonly LookupCounts[]>;
}

/** Reads the state of every dataset that the database knows, from the database alone. */
export async function readReport(
  database: Database,
  datasets: readonly Dataset<AnyJob>[],
  options: ReportOptions,
) {
  const { streams, collections } = splitKinds(datasets);
  const now = Math.floor(await readClock(database));
  const status = await readStatus(database);
  const network = await readNetwork(database);
  const wanted = await readWanted(database);
  const unfit = await readUnfit(database, streams);
  const known = new Set(
    [...status.streams, ...status.refused, ...status.failures, ...status.drift]
      .map(({ dataset }) => dataset)
      .concat(...status.quarantined.keys(), ...wanted.keys()),
  );
  const count = options.rows === 'exact' ? countRows : estimateRows;
  const saved = await readSetting(database, 'watermark');
  const lookups = await (options.countLookups?.() ?? countLookups(database));
  const reports: DatasetReport[] = [];
  for (const dataset of streams.filter(({ name }) => known.has(name))) {
    const rows: RowCount[] = [];
    for (const table of Object.values(dataset.job.tables)) rows.push(await count(database, table));
    const isWithoutPools =
      dataset.job.scopes !== undefined && (await readPools(database, dataset.name)).length === 0;
    const since = wanted.get(dataset.name);
    reports.push(reportOn(dataset, { status, unfit, rows, isWithoutPools, since, now }));
  }
  return {
    /**
     * The moment by the database's clock, unix seconds. A host's clock may be slow, and then a stopped head would look young.
     */
    at: now,
    database: database.label,
    network: network === undefined ? null : networkName(network),
    /** The network's global_id. */
    globalId: network ?? null,
    ...lifeOf(await readOwner(database, 'watermark')),
    head: headOf(saved, now),
    /** What the watermark waits for; null if it is known. */
    awaited: saved?.utime === 0 ? saved.waitingFor : null,
    /** Ranges whose blocks the source lacks. No dataset is read there. */
    gaps: status.refused.filter(isGap),
    datasets: reports,
    collections: await readCollectionReports(database, collections, { status, lookups, count }),
    leases: status.leases,
    spending: await readSpending(database),
    lake: lakeOf(await readSetting(database, 'lake'), now),
  };
}

function lifeOf(daemon: Awaited<ReturnType<typeof readOwner>>) {
  return {
    /** Seconds since a daemon's last heartbeat; null if none has run. */
    silence: daemon?.silence ?? null,
    /** True if that daemon ran on this host and has ended. For a daemon of another host only its silence tells. */
    hasEnded: daemon !== undefined && hasEnded(daemon.owner),
  };
}

/** The lake that a daemon writes; null if none does. */
function lakeOf(lake: Settings['lake'] | undefined, now: number) {
  if (lake === undefined) return null;
  const { location, upTo, begunAt, error } = lake;
  return {
    location,
    /** Seconds since the lake last had all that was covered; before the first round has ended, since it began. */
    age: ageOf(upTo ?? begunAt, now),
    isWhole: upTo !== null,
    /** Why the last round failed. */
    error,
  };
}

function headOf(saved: SavedWatermark | undefined, now: number) {
  if (saved === undefined || saved.utime === 0) return null;
  const { headSeqno: seqno, headUtime: time, utime: watermark, waitingFor, polls = [] } = saved;
  // `time`: its block time, unix seconds. `age`: seconds since then. Below the watermark no row can still appear.
  return { seqno, time, age: ageOf(time, now), watermark, waitingFor, naming: namingOf(polls) };
}

interface ReportFacts {
  readonly status: Status;
  readonly unfit: readonly Unfit[];
  readonly rows: readonly RowCount[];
  readonly isWithoutPools: boolean;
  readonly since: number | undefined;
  readonly now: number;
}

/**
 * The state of one dataset. Ranges are in unix seconds. If a dataset is read pool by pool, they are what all pools
 * have in common.
 */
function reportOn({ name }: Dataset, { status, unfit, since, now, ...facts }: ReportFacts) {
  const streams = status.streams.filter((row) => row.dataset === name && row.pass === 0);
  const covered = shared(streams.map((stream) => stream.covered));
  const end = covered.at(-1)?.to;
  const errors = status.failures.filter((row) => row.dataset === name);
  return {
    dataset: name,
    /** The start of what a daemon keeps complete, unix seconds; null if none has run. */
    since: since ?? null,
    covered,
    verified: shared(streams.map((stream) => stream.verified)),
    /** Not covered, between the first and the last covered second. */
    holes: uncoveredBetween(covered),
    /** Wanted by the daemon, below the end of coverage, and not covered: the holes, and what is older than all coverage. */
    missing: since === undefined || end === undefined ? [] : without([{ from: since, to: end }], covered),
    rows: facts.rows,
    /**
     * Seconds between the clock and the end of what is covered, so it grows while nothing is read. Null if nothing is
     * covered.
     */
    lag: end === undefined ? null : ageOf(end, now),
    /** True if the dataset is read pool by pool and no pool is known yet. */
    isWithoutPools: facts.isWithoutPools,
    quarantined: status.quarantined.get(name) ?? 0,
    /** True if more than a few of its records are in quarantine. */
    isUnfit: unfit.some(({ dataset, isMuch }) => dataset === name && isMuch),
    /** Members of the API that have no column. */
    drift: status.drift.filter((row) => row.dataset === name),
    refused: status.refused.filter((row) => row.dataset === name && !isGap(row)),
    lastError: errors[0] ?? null,
    /** The last error of each pool or walk that has committed nothing since, newest first. */
    errors,
  };
}

/** The seconds that all lists have in common. */
function shared(lists: readonly (readonly Range[])[]): Range[] {
  const [first, ...others] = lists;
  return first === undefined ? [] : others.reduce<Range[]>((both, list) => common(both, list), union(first));
}

/** Tolerated lag beyond a dataset's own delay, in seconds. */
const LONGEST_LAG_SECONDS = 300;
/** If `ETL_FRESHNESS` is long: the tolerated lag as a multiple of it. */
const LONGEST_LAG_FACTOR = 4;
/** A head that is older has stopped: blocks come every few seconds. */
export const STILL_HEAD_SECONDS = 120;

/** The number of pools of a dataset that is read pool by pool is not known here. */
const ONE_STREAM = 1;

export interface LagLimits {
  /** `ETL_FRESHNESS`: seconds that the newest rows may be behind what is safe to read. */
  readonly freshnessSeconds: number;
  /** `ETL_WATERMARK_DELAY`: seconds that a dataset stays behind the watermark, unless it has a delay of its own. */
  readonly watermarkDelaySeconds: number;
  /** Tolerance in seconds instead of the default. */
  readonly maxLagSeconds?: number | undefined;
}

/** Seconds since a moment. If the source's clock is ahead, the age is 0. */
export function ageOf(time: number, now: number): number {
  return Math.max(0, now - time);
}

/** How far a dataset lags in normal operation, without the seconds that its requests take. */
export interface RestingLag {
  readonly dataset: string;
  /** Seconds that it waits by design. */
  readonly delay: number;
  /** True if the dataset has a delay of its own, false if it uses the one for all. */
  readonly isOwn: boolean;
  /** Maximum seconds until the round that reads it, because a round may have just begun. */
  readonly round: number;
  /** True if the round is longer than wanted because the allowed rate leaves no room for more. */
  readonly isBoundByRate: boolean;
}

/** Seconds until the chain has named all blocks of a second in all shards, so that no row of it can still appear. */
interface Naming {
  readonly usual: number;
  readonly most: number;
}

/** Measured over the seconds that became complete between the last polls; null if fewer than two polls are known. */
export function namingOf(
  polls: readonly { readonly newest: number; readonly utime: number }[],
): Naming | null {
  let [seconds, sum, most] = [0, 0, 0];
  for (const [index, { newest, utime }] of polls.entries()) {
    const from = polls[index - 1]?.utime ?? utime;
    if (from >= utime) continue;
    const [first, last] = [newest - from, newest - utime + 1];
    seconds += utime - from;
    sum += ((utime - from) * (first + last)) / 2;
    most = Math.max(most, first);
  }
  return seconds === 0 ? null : { usual: Math.round(sum / seconds), most };
}

/** The normal lag of each dataset that the daemon follows. */
export function restingLagsOf(
  datasets: readonly Dataset[],
  { watermarkDelaySeconds, ...plan }: TailPlan & Pick<LagLimits, 'watermarkDelaySeconds'>,
): RestingLag[] {
  const period = tailPeriodSeconds(datasets, plan);
  return datasets.map((dataset) => {
    const round = Math.max(period, pauseSeconds(dataset, ONE_STREAM, datasets, plan));
    return {
      dataset: dataset.name,
      delay: delayOf(dataset, watermarkDelaySeconds),
      isOwn: dataset.job.delaySeconds !== undefined,
      round,
      isBoundByRate: round > wantedPauseSeconds(dataset.job, plan.freshnessSeconds),
    };
  });
}

/** Seconds that a dataset may lag: its own delay, the pause between two requests, and the tolerance. */
export function longestLagOf(dataset: Dataset, limits: LagLimits): number {
  const { freshnessSeconds, watermarkDelaySeconds, maxLagSeconds } = limits;
  const tolerance = maxLagSeconds ?? Math.max(LONGEST_LAG_SECONDS, LONGEST_LAG_FACTOR * freshnessSeconds);
  return tolerance + delayOf(dataset, watermarkDelaySeconds) + (dataset.job.everySeconds ?? 0);
}

/** The maximum age of the newest block, in seconds. */
export function longestHeadAgeOf({ maxLagSeconds = 0 }: LagLimits): number {
  return Math.max(STILL_HEAD_SECONDS, maxLagSeconds);
}
