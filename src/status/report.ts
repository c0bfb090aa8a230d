import { splitKinds, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { countRows, estimateRows, type RowCount } from '../read/count-rows.ts';
import type { Database } from '../postgres/database.ts';
import { networkName, readNetwork } from '../ledger/stored-network.ts';
import { readClock } from '../postgres/server-clock.ts';
import { holesIn, readStatus, type Status } from '../read/stored-status.ts';
import { readUnfit, type Unfit } from '../read/quarantined.ts';
import { isGap } from '../ledger/stored-gaps.ts';
import { readWanted } from '../ledger/wanted.ts';
import { readSavedWatermark, type SavedWatermark } from '../ledger/stored-watermark.ts';
import { readSpending, type Spending } from '../ledger/workers.ts';
import { readPools } from '../ledger/pools.ts';
import { countLookups, type LookupCounts } from '../ledger/subjects.ts';
import { hasEnded } from '../ledger/worker-name.ts';
import { readOwner } from '../ledger/holds.ts';
import { readSetting, type Settings } from '../ledger/stored-settings.ts';
import { common, type Range, union, without } from '../range.ts';
import { readCollectionReports, type CollectionReport } from './collections.ts';
import { ageOf, lagOf, namingOf, type Naming } from './lag.ts';

/** Where one dataset stands. Ranges of unix seconds; of a dataset that is read pool by pool, those that all pools share. */
export interface DatasetReport {
  readonly dataset: string;
  /** From when on a daemon keeps it complete, unix seconds; null where none has run. */
  readonly since: number | null;
  readonly covered: readonly Range[];
  readonly verified: readonly Range[];
  /** Not covered, between the first and the last covered second. */
  readonly holes: readonly Range[];
  /** Wanted by the daemon, below the end of what is covered, and not covered: holes, and what is older than all of them. */
  readonly missing: readonly Range[];
  readonly rows: readonly RowCount[];
  /** Seconds between the clock and the end of what is covered; null where nothing is covered. */
  readonly lag: number | null;
  /** True of a dataset that is read pool by pool, while no pool is known. */
  readonly isWithoutPools: boolean;
  readonly quarantined: number;
  /** True where more than a few of its records are in quarantine. */
  readonly isUnfit: boolean;
  /** Members of the API that no column takes. */
  readonly drift: Status['drift'];
  readonly refused: Status['refused'];
  readonly lastError: Status['failures'][number] | null;
  /** Of each pool or walk that has committed nothing since, newest first. */
  readonly errors: Status['failures'];
}

/** Where a database stands at a moment, from the database alone. */
export interface Report {
  /** The moment by the database's clock, unix seconds: on a host whose clock is behind, a head that stands looks young. */
  readonly at: number;
  readonly database: string;
  readonly network: string | null;
  /** The number of that network. */
  readonly globalId: number | null;
  /** Seconds since a daemon last wrote; null where none has run. */
  readonly silence: number | null;
  /** True where that daemon ran on this host and is gone; whether one of another host still runs, its silence tells. */
  readonly hasEnded: boolean;
  readonly head: {
    readonly seqno: number;
    /** Its block time, and the time below which no row can still appear; unix seconds. */
    readonly time: number;
    /** Seconds since its block time. */
    readonly age: number;
    readonly watermark: number;
    readonly waitingFor: string | null;
    /** How long the chain takes to name the blocks of a second; null where too few polls are known. */
    readonly naming: Naming | null;
  } | null;
  /** What the watermark waits for, where it is not known yet. */
  readonly awaited: string | null;
  /** Seconds of which the source lacks blocks: no dataset is read there. */
  readonly gaps: Status['refused'];
  readonly datasets: readonly DatasetReport[];
  readonly collections: readonly CollectionReport[];
  readonly leases: Status['leases'];
  readonly spending: Spending;
  /** The lake that a daemon keeps up; null where none does. */
  readonly lake: {
    readonly place: string;
    /** Seconds since all that was covered was in the lake, or since the first round began, where none has ended. */
    readonly age: number;
    readonly isWhole: boolean;
    /** Why the last round failed. */
    readonly error: string | null;
  } | null;
}

interface ReportOptions {
  /** `exact` counts for seconds, for a person who asks once; `estimated` is Postgres' own idea, for callers that ask all the time. */
  readonly rows: 'exact' | 'estimated';
  /** Counts subjects of look-ups, which takes long where there are millions. Default: counts them now. */
  readonly countLookups?: () => Promise<readonly LookupCounts[]>;
}

/** Reads where every dataset that the database knows of stands. */
export async function readReport(
  database: Database,
  datasets: readonly Dataset<AnyJob>[],
  options: ReportOptions,
): Promise<Report> {
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
  const saved = await readSavedWatermark(database);
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
    at: now,
    database: database.label,
    network: network === undefined ? null : networkName(network),
    globalId: network ?? null,
    ...lifeOf(await readOwner(database, 'watermark')),
    head: headOf(saved, now),
    awaited: saved?.utime === 0 ? saved.waitingFor : null,
    gaps: status.refused.filter(isGap),
    datasets: reports,
    collections: await readCollectionReports(database, collections, { status, lookups, count }),
    leases: status.leases,
    spending: await readSpending(database),
    lake: lakeOf(await readSetting(database, 'lake'), now),
  };
}

function lifeOf(daemon: Awaited<ReturnType<typeof readOwner>>): Pick<Report, 'silence' | 'hasEnded'> {
  if (daemon === undefined) return { silence: null, hasEnded: false };
  return { silence: daemon.silence, hasEnded: hasEnded(daemon.owner) };
}

function lakeOf(lake: Settings['lake'] | undefined, now: number): Report['lake'] {
  if (lake === undefined) return null;
  const { place, upTo, begunAt, error } = lake;
  return { place, age: ageOf(upTo ?? begunAt, now), isWhole: upTo !== null, error };
}

function headOf(watermark: SavedWatermark | undefined, now: number): Report['head'] {
  if (watermark === undefined || watermark.utime === 0) return null;
  const { headSeqno: seqno, headUtime: time, utime, waitingFor, polls = [] } = watermark;
  return { seqno, time, age: ageOf(time, now), watermark: utime, waitingFor, naming: namingOf(polls) };
}

interface ReportFacts {
  readonly status: Status;
  readonly unfit: readonly Unfit[];
  readonly rows: readonly RowCount[];
  readonly isWithoutPools: boolean;
  readonly since: number | undefined;
  readonly now: number;
}

function reportOn(
  { name }: Dataset,
  { status, unfit, rows, isWithoutPools, since, now }: ReportFacts,
): DatasetReport {
  const streams = status.streams.filter((row) => row.dataset === name && row.pass === 0);
  const covered = shared(streams.map((stream) => stream.covered));
  const end = covered.at(-1)?.to;
  const errors = status.failures.filter((row) => row.dataset === name);
  return {
    dataset: name,
    since: since ?? null,
    covered,
    verified: shared(streams.map((stream) => stream.verified)),
    holes: holesIn(covered),
    missing: since === undefined || end === undefined ? [] : without([{ from: since, to: end }], covered),
    rows,
    lag: lagOf(covered, now),
    isWithoutPools,
    quarantined: status.quarantined.get(name) ?? 0,
    isUnfit: unfit.some(({ dataset, isMuch }) => dataset === name && isMuch),
    drift: status.drift.filter((row) => row.dataset === name),
    refused: status.refused.filter((row) => row.dataset === name && !isGap(row)),
    lastError: errors[0] ?? null,
    errors,
  };
}

/** Seconds that lie in each of the lists. */
function shared(lists: readonly (readonly Range[])[]): Range[] {
  const [first, ...others] = lists;
  return first === undefined ? [] : others.reduce<Range[]>((both, list) => common(both, list), union(first));
}
