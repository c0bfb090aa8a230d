import type { Dataset } from '../../dataset/dataset.ts';
import { type Stream, readMissing, readDue } from '../../ledger/stored-coverage.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { claimLeases, findFree, readOthers, type Lease } from '../../ledger/leases.ts';
import type { Priority } from '../../budget/request-budget.ts';
import { HOUR, intersect, type Range, lengthOf } from '../../range.ts';
import { SECOND_READING_SECONDS } from '../tail-pace.ts';
import { readPools } from '../../ledger/subjects.ts';
import { readFloors, type Floors } from '../../ledger/stored-settings.ts';

/** Wanted ranges of one stream. Claims are tried zone by zone, so that no lease lies in two zones. */
export interface Want {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly zones: readonly (readonly Range[])[];
  /** With `repair`, what is read overwrites the stored rows, because some of them are wrong. */
  readonly priority: Priority;
}

/** A lease and the work that it is for. */
export interface Assignment extends Want {
  readonly lease: Lease;
}

interface PlannerOptions {
  readonly database: Database;
  /** Name of this worker in leases and logs. */
  readonly owner: string;
  /**
   * The length of a lease in seconds, as a function of the free seconds. `streams`: how many streams have
   * something free.
   */
  readonly lengthOf: (dataset: Dataset, streams: number) => (free: number) => number;
}

export type Planner = ReturnType<typeof createPlanner>;

/**
 * Few, so that processes that start together share the free ranges. More than one, because a claim takes many
 * round trips.
 */
const MOST_AT_ONCE = 4;

/** Hands out `wanted - covered - leased - refused`, one dataset after the other, the newest hole first. */
export function createPlanner({ database, owner, lengthOf }: PlannerOptions) {
  let turn = 0;
  /** The next leases for this many idle readers, all of one stream; empty if nothing is free. */
  const takeSome = async (wants: readonly Want[], readers: number): Promise<Assignment[]> => {
    const requested = wants.map(({ stream, zones }) => ({ stream, wanted: zones.flat() }));
    const free = new Set(await findFree(database, requested));
    for (let step = 0; step < wants.length; step += 1) {
      turn = (turn + 1) % wants.length;
      const want = wants[turn];
      if (want === undefined || !free.has(turn)) continue;
      const leases = await claimFirst(want, free.size, readers);
      if (leases.length > 0) return leases.map((lease) => ({ ...want, lease }));
    }
    return [];
  };
  return {
    takeSome,
    /** The next lease of the wanted ranges; undefined if nothing is free. */
    take: async (wants: readonly Want[]) => (await takeSome(wants, 1))[0],
    /** The readers of other processes that have leases of this priority. */
    others: (priority: Priority) => readOthers(database, owner, priority),
  };

  async function claimFirst(
    { dataset, stream, zones, priority }: Want,
    streams: number,
    readers: number,
  ): Promise<Lease[]> {
    // Every stream with free ranges gets its share of the readers.
    const most = Math.min(MOST_AT_ONCE, Math.ceil(readers / streams));
    for (const wanted of zones) {
      const claim = { stream, wanted, length: lengthOf(dataset, streams), owner, priority };
      const leases = await claimLeases(database, claim, most);
      if (leases.length > 0) return leases;
    }
    return [];
  }
}

/**
 * A window must not cross this age. Older rows come from an archive that lags on some servers. A short page
 * of a crossing window could come from the archive and lack its newest part.
 */
const ARCHIVE_AGE = HOUR;

/** Splits a range at the age at which servers change from live data to the archive. */
export function splitAtArchive(
  range: Range,
  watermark: number,
): [live: Range | undefined, archived: Range | undefined] {
  const border = watermark - ARCHIVE_AGE;
  return [
    intersect(range, { from: border, to: Infinity }),
    intersect(range, { from: -Infinity, to: border }),
  ];
}

/** The parts of a range that one window must not cross, the newer part first. */
export function zonesOf(range: Range, watermark: number): Range[] {
  return splitAtArchive(range, watermark).filter((zone) => zone !== undefined);
}

/** A range that a run wants of every scope of a dataset, a part of which may be covered already. */
export interface Work {
  readonly dataset: string;
  readonly range: Range;
  /** The seconds that are not covered yet, by scope, including those that were refused. */
  readonly missing: ReadonlyMap<string, readonly Range[]>;
}

/** The missing seconds of a range, for each dataset with a part that can be read now. */
export async function readWork(
  database: Database,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<Work[]> {
  const works: Work[] = [];
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const missing = new Map<string, readonly Range[]>();
    for (const stream of await streamsOf(database, dataset))
      missing.set(stream.scope, await readMissing(database, stream, [part]));
    works.push({ dataset: dataset.name, range: part, missing });
  }
  return works;
}

/** The missing seconds of each dataset that lacks some, over all its scopes. */
export async function missingOf(
  { database }: { readonly database: Database },
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<ReadonlyMap<string, readonly Range[]>> {
  const works = await readWork(database, datasets, range, watermark);
  const missing = works.map(
    ({ dataset, missing: byScope }) => [dataset, [...byScope.values()].flat()] as const,
  );
  return new Map(missing.filter(([, ranges]) => ranges.length > 0));
}

/** The first reading of a dataset that is read as a whole. */
export function streamOf(dataset: Dataset): Stream {
  return { dataset: dataset.name, scope: '', pass: 0 };
}

/** The first readings of a dataset: one, or one for each known pool. */
export async function streamsOf(session: Session, dataset: Dataset): Promise<Stream[]> {
  const { scopes } = dataset.job;
  if (scopes === undefined) return [streamOf(dataset)];
  return (await readPools(session, dataset.name)).map((scope) => ({ ...streamOf(dataset), scope }));
}

/** The part of a range that a dataset can be asked for: some endpoints lag behind the chain. */
function readable(dataset: Dataset, range: Range, watermark: number): Range | undefined {
  return intersect(range, { from: -Infinity, to: watermark - (dataset.job.delaySeconds ?? 0) });
}

/** The end of a range that datasets cannot be asked for yet, because their endpoint lags behind the chain. */
export function delayedOf(
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): ReadonlyMap<string, Range> {
  const delayed = datasets.flatMap((dataset): [string, Range][] => {
    const from = Math.max(range.from, readable(dataset, range, watermark)?.to ?? range.from);
    return from < range.to ? [[dataset.name, { from, to: range.to }]] : [];
  });
  return new Map(delayed);
}

/** The part of a range above a dataset's floor; everything below it has expired. */
function aboveFloor({ name }: Dataset, range: Range | undefined, { datasets }: Floors): Range | undefined {
  const floor = datasets.get(name);
  return range === undefined || floor === undefined ? range : intersect(range, { from: floor, to: Infinity });
}

/** For each dataset, the part of a range that can be read and is kept. Datasets without one are omitted. */
async function readableNow(
  session: Session,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<[Dataset, Range][]> {
  const floors = await readFloors(session);
  return datasets.flatMap((dataset): [Dataset, Range][] => {
    const part = aboveFloor(dataset, readable(dataset, range, watermark), floors);
    return part === undefined ? [] : [[dataset, part]];
  });
}

/** Wanted first readings of the datasets in a range. */
export async function firstReadings(
  database: Database,
  datasets: readonly Dataset[],
  {
    range,
    watermark,
    priority,
  }: { readonly range: Range; readonly watermark: number; readonly priority: Priority },
): Promise<Want[]> {
  const wants: Want[] = [];
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const zones = zonesOf(part, watermark).map((zone) => [zone]);
    for (const stream of await streamsOf(database, dataset)) wants.push({ dataset, stream, zones, priority });
  }
  return wants;
}

/**
 * Wanted second readings: seconds that were covered at least `maturitySeconds` ago, both by chain time and by
 * the clock, and not confirmed since.
 */
export async function secondReadings(
  database: Database,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<Want[]> {
  const wants: Want[] = [];
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const { maturitySeconds } = dataset.job;
    if (maturitySeconds === undefined) continue;
    const mature = { from: part.from, to: Math.min(range.to, watermark - maturitySeconds) };
    if (mature.from >= mature.to) continue;
    const firsts = await streamsOf(database, dataset);
    for (const [first, due] of await readDue(database, firsts, mature, maturitySeconds)) {
      if (isWorthReading(dataset, due, watermark))
        wants.push({ dataset, stream: { ...first, pass: 1 }, zones: [due], priority: 'refresh' });
    }
  }
  return wants;
}

/**
 * Continuously maturing seconds are read again in larger pieces. Request by request, they would cost as much
 * as the tail.
 */
function isWorthReading({ job }: Dataset, due: readonly Range[], watermark: number): boolean {
  const { maturitySeconds = 0, delaySeconds = 0 } = job;
  const growing = watermark - maturitySeconds - delaySeconds - SECOND_READING_SECONDS;
  const end = due.at(-1)?.to;
  return end !== undefined && (end <= growing || lengthOf(due) >= SECOND_READING_SECONDS);
}
