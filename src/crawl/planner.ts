import type { Dataset } from '../dataset.ts';
import type { Stream } from '../db/coverage.ts';
import type { Database } from '../db/database.ts';
import { claimLease, type Lease } from '../db/leases.ts';
import type { Priority } from '../priority.ts';
import type { Range } from '../range.ts';

/** A lease and what it is for. */
export interface Assignment {
  readonly dataset: Dataset;
  readonly lease: Lease;
  readonly priority: Priority;
}

/** Work that is wanted of one dataset. Claims are tried zone by zone, so that no lease lies in two of them. */
export interface Want {
  readonly dataset: Dataset;
  readonly zones: readonly Range[];
  readonly priority: Priority;
}

interface PlannerOptions {
  readonly database: Database;
  /** Name of this worker in leases and logs. */
  readonly owner: string;
  readonly leaseSeconds: (dataset: Dataset) => number;
}

/** Hands out `wanted - covered - leased - refused`, dataset by dataset in turn, the newest gap first. */
export interface Planner {
  /** The next lease of what is wanted now; undefined where nothing is free. */
  take(wants: readonly Want[]): Promise<Assignment | undefined>;
}

export function createPlanner({ database, owner, leaseSeconds }: PlannerOptions): Planner {
  let turn = 0;
  return {
    async take(wants) {
      for (let step = 0; step < wants.length; step += 1) {
        turn = (turn + 1) % wants.length;
        const want = wants[turn];
        const lease = want && (await claimFirst(want));
        if (want !== undefined && lease !== undefined)
          return { dataset: want.dataset, lease, priority: want.priority };
      }
      return undefined;
    },
  };

  async function claimFirst({ dataset, zones, priority }: Want): Promise<Lease | undefined> {
    for (const zone of zones) {
      const claim = {
        stream: streamOf(dataset),
        wanted: [zone],
        length: leaseSeconds(dataset),
        owner,
        priority,
      };
      const lease = await claimLease(database, claim);
      if (lease !== undefined) return lease;
    }
    return undefined;
  }
}

/** The first reading of a dataset that is read as a whole. */
export function streamOf(dataset: Dataset): Stream {
  return { dataset: dataset.name, scope: '', pass: 0 };
}

/**
 * Where windows may not cross: what is older than this is answered from an archive that lags by some servers, so a
 * short page of a window that crosses it could come from the archive and lack its newest part.
 */
const ARCHIVE_AGE = 3600;

/** Cuts a range at the age where servers change from live data to the archive; the newer part first. */
export function zonesOf(range: Range, watermark: number): Range[] {
  const border = watermark - ARCHIVE_AGE;
  return [
    { from: Math.max(range.from, border), to: range.to },
    { from: range.from, to: Math.min(range.to, border) },
  ].filter(({ from, to }) => from < to);
}
