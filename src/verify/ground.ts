import type { Dataset } from '../dataset/dataset.ts';
import { readEverRead } from '../ledger/stored-coverage.ts';
import { readFloors } from '../ledger/floors.ts';
import type { Session } from '../postgres/database.ts';
import { withdrawGroundless, type GroundDataset } from '../write/verifications.ts';
import { streamOf } from '../crawl/streams/streams.ts';
import { common, type Range, without } from '../range.ts';
import type { Check } from './checks/check.ts';
import { checksOf } from './checks/every-check.ts';

/** A dataset on which checks of another one rest. */
interface Ground extends GroundDataset {
  readonly dataset: Dataset;
}

/** The datasets on which the checks of one rest. */
export function groundsOf({ job }: Dataset, jobs: readonly Dataset[]): Ground[] {
  const checks = checksOf(job);
  return jobs
    .filter(({ name }) => checks.some(({ needs }) => needs.includes(name)))
    .map((dataset) => {
      const resting = checks.filter(({ needs }) => needs.includes(dataset.name));
      const isOptional = resting.every((check) => check.isOptional === true);
      return { name: dataset.name, dataset, isOptional };
    });
}

/** Each dataset after those that its checks rest on, which are added where nobody chose them. */
export function withGround(datasets: readonly Dataset[], jobs: readonly Dataset[]): Dataset[] {
  const ordered = new Map<string, Dataset>();
  const add = (dataset: Dataset) => {
    if (ordered.has(dataset.name)) return;
    for (const ground of groundsOf(dataset, jobs)) add(ground.dataset);
    ordered.set(dataset.name, dataset);
  };
  for (const dataset of datasets) add(dataset);
  return [...ordered.values()];
}

/** What a check can look at, of the covered seconds of a dataset. */
export interface Reach {
  /** Seconds of which all is proved in this run that the check needs. */
  readonly able: readonly Range[];
  /** Seconds that can have the grade without the check: what it needs was never read there. */
  readonly free: readonly Range[];
  /** Seconds of which retention has dropped what it needs, or what that rests on. */
  readonly expired: readonly Range[];
  /** All others: nothing proves them. */
  readonly lacking: readonly Range[];
}

interface Grounded {
  readonly dataset: Dataset;
  readonly jobs: readonly Dataset[];
  readonly covered: readonly Range[];
  /** Seconds of other datasets that are proved in this run, by name. */
  readonly proved: ReadonlyMap<string, readonly Range[]>;
}

/** The one place that says where a check can run, and what becomes of the seconds where it cannot. */
export async function reachOf(
  session: Session,
  { needs, isOptional }: Check,
  { dataset, jobs, covered, proved }: Grounded,
): Promise<Reach> {
  if (needs.length === 0) return { able: covered, free: [], expired: [], lacking: [] };
  const able = needs.reduce<readonly Range[]>((left, name) => common(left, proved.get(name) ?? []), covered);
  let free: readonly Range[] = isOptional === true ? without(covered, able) : [];
  for (const job of jobs.filter(({ name }) => needs.includes(name)))
    free = without(free, await readEverRead(session, streamOf(job), free));
  const rest = without(covered, [...able, ...free]);
  if (rest.length === 0) return { able, free, expired: [], lacking: [] };
  const floors = await readFloors(session);
  const below = withGround([dataset], jobs)
    .filter((ground) => ground !== dataset)
    .map(({ name }): Range => ({ from: 0, to: floors.datasets.get(name) ?? 0 }));
  return { able, free, expired: common(rest, below), lacking: without(rest, below) };
}

/**
 * Takes the certificate from every second of these ranges in which what a dataset rests on has none, chosen or not: rows
 * that are not to be had are no longer covered, and whatever rests on them was proved by rows that are gone.
 */
export async function withdrawFallen(
  { database, jobs }: { readonly database: Session; readonly jobs: readonly Dataset[] },
  ranges: readonly Range[],
): Promise<void> {
  for (const dataset of withGround(jobs, jobs)) {
    for (const ground of groundsOf(dataset, jobs))
      await withdrawGroundless(database, dataset.name, ground, ranges);
  }
}
