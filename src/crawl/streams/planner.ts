import type { Dataset } from '../../dataset/dataset.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import type { Database } from '../../postgres/database.ts';
import { claimLeases, findFree, readOthers, type Lease } from '../../ledger/leases.ts';
import type { OtherReaders } from '../../budget/in-flight.ts';
import type { Priority } from '../../budget/priority.ts';
import { HOUR, intersect, type Range } from '../../range.ts';

/** Wanted ranges of one stream. Claims are tried zone by zone, so that no lease lies in two zones. */
export interface Want {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly zones: readonly (readonly Range[])[];
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

/** Hands out `wanted - covered - leased - refused`, one dataset after the other, the newest hole first. */
export interface Planner {
  /** The next lease of the wanted ranges; undefined if nothing is free. */
  take(wants: readonly Want[]): Promise<Assignment | undefined>;
  /** The next leases for this many idle readers, all of one stream; empty if nothing is free. */
  takeSome(wants: readonly Want[], readers: number): Promise<Assignment[]>;
  /** The readers of other processes that have leases of this priority. */
  others(priority: Priority): Promise<OtherReaders>;
}

/**
 * Few, so that processes that start together share the free ranges. More than one, because a claim takes many
 * round trips.
 */
const MOST_AT_ONCE = 4;

export function createPlanner({ database, owner, lengthOf }: PlannerOptions): Planner {
  let turn = 0;
  const takeSome: Planner['takeSome'] = async (wants, readers) => {
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
    take: async (wants) => (await takeSome(wants, 1))[0],
    others: (priority) => readOthers(database, owner, priority),
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
