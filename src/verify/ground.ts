import type { Dataset } from '../dataset/dataset.ts';
import type { Database } from '../db/connection/database.ts';
import { withdrawGroundless } from '../db/coverage/verifications.ts';
import type { Range } from '../range.ts';
import { checksOf } from './every-check.ts';

/** A dataset on which checks of another one rest. */
interface Ground {
  readonly dataset: Dataset;
  /** True: the other one can have its grade where this one has never been read. */
  readonly isOptional: boolean;
}

/** The datasets on which the checks of one rest. */
export function groundsOf({ job }: Dataset, jobs: readonly Dataset[]): Ground[] {
  const checks = checksOf(job);
  return jobs
    .filter(({ name }) => checks.some(({ needs }) => needs.includes(name)))
    .map((dataset) => {
      const resting = checks.filter(({ needs }) => needs.includes(dataset.name));
      return { dataset, isOptional: resting.every((check) => check.isOptional === true) };
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

/**
 * Takes the certificate from every second of a range in which what a dataset rests on has none, chosen or not: rows that
 * are not to be had are no longer covered, and whatever rests on them was proved by rows that are gone.
 */
export async function withdrawFallen(
  { database, jobs }: { readonly database: Database; readonly jobs: readonly Dataset[] },
  range: Range,
): Promise<void> {
  for (const dataset of withGround(jobs, jobs)) {
    for (const ground of groundsOf(dataset, jobs))
      await withdrawGroundless(database, dataset.name, { ...ground, name: ground.dataset.name }, range);
  }
}
