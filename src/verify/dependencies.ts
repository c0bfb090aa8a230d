import type { Dataset } from '../dataset/dataset.ts';
import { readEverRead } from '../ledger/stored-coverage.ts';
import { readFloors } from '../ledger/stored-settings.ts';
import type { Session } from '../postgres/database.ts';
import { withdrawUnsupported, type Dependency } from '../write/certificates.ts';
import { streamOf } from '../crawl/streams/planner.ts';
import { common, type Range, without } from '../range.ts';
import type { Check } from './checks/check.ts';
import { checksOf } from './checks/every-check.ts';

/** A dataset that must be proved before another dataset's checks can run. */
interface DatasetDependency extends Dependency {
  readonly dataset: Dataset;
}

export function dependenciesOf({ job }: Dataset, jobs: readonly Dataset[]): DatasetDependency[] {
  const checks = checksOf(job);
  return jobs
    .filter(({ name }) => checks.some(({ needs }) => needs.includes(name)))
    .map((dataset) => {
      const resting = checks.filter(({ needs }) => needs.includes(dataset.name));
      const isOptional = resting.every((check) => check.isOptional === true);
      return { name: dataset.name, dataset, isOptional };
    });
}

/** Sorts datasets so that each comes after those that its checks need. Adds needed datasets that were not chosen. */
export function withDependencies(datasets: readonly Dataset[], jobs: readonly Dataset[]): Dataset[] {
  const ordered = new Map<string, Dataset>();
  const add = (dataset: Dataset) => {
    if (ordered.has(dataset.name)) return;
    for (const dependency of dependenciesOf(dataset, jobs)) add(dependency.dataset);
    ordered.set(dataset.name, dataset);
  };
  for (const dataset of datasets) add(dataset);
  return [...ordered.values()];
}

/** The covered seconds of a dataset, by what a check can do with them. */
export interface Eligibility {
  /** Seconds in which everything that the check needs is proved in this run. */
  readonly eligible: readonly Range[];
  /** Seconds for which retention has dropped a dataset that the check needs, directly or indirectly. */
  readonly expired: readonly Range[];
  /** All other seconds: nothing proves them. */
  readonly unproved: readonly Range[];
}

interface EligibilityInput {
  readonly dataset: Dataset;
  readonly jobs: readonly Dataset[];
  readonly covered: readonly Range[];
  /** Seconds of other datasets that are proved in this run, by name. */
  readonly proved: ReadonlyMap<string, readonly Range[]>;
}

/** Decides in which seconds a check can run, and what happens to the others. */
export async function eligibilityOf(
  session: Session,
  { needs, isOptional }: Check,
  { dataset, jobs, covered, proved }: EligibilityInput,
): Promise<Eligibility> {
  if (needs.length === 0) return { eligible: covered, expired: [], unproved: [] };
  const eligible = needs.reduce<readonly Range[]>(
    (left, name) => common(left, proved.get(name) ?? []),
    covered,
  );
  // Seconds that can have the grade without the check: it is optional, and what it needs was never read there.
  let exempt: readonly Range[] = isOptional === true ? without(covered, eligible) : [];
  for (const job of jobs.filter(({ name }) => needs.includes(name)))
    exempt = without(exempt, await readEverRead(session, streamOf(job), exempt));
  const rest = without(covered, [...eligible, ...exempt]);
  if (rest.length === 0) return { eligible, expired: [], unproved: [] };
  const floors = await readFloors(session);
  const below = withDependencies([dataset], jobs)
    .filter((dependency) => dependency !== dataset)
    .map(({ name }): Range => ({ from: 0, to: floors.datasets.get(name) ?? 0 }));
  return { eligible, expired: common(rest, below), unproved: without(rest, below) };
}

/**
 * Withdraws the certificates of seconds in which a dataset that they depend on has none. It does so for all datasets,
 * chosen or not: rows that are missing were evidence for the certificates of other datasets.
 */
export async function withdrawDependents(
  { database, jobs }: { readonly database: Session; readonly jobs: readonly Dataset[] },
  ranges: readonly Range[],
): Promise<void> {
  for (const dataset of withDependencies(jobs, jobs)) {
    for (const dependency of dependenciesOf(dataset, jobs))
      await withdrawUnsupported(database, dataset.name, dependency, ranges);
  }
}
