import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { formatDuration, lengthOf, without } from '../range.ts';
import type { Schedule } from '../settings/schedule.ts';
import { ageOf, longestHeadAgeOf, longestLagOf, type LagLimits } from './lag.ts';
import type { DatasetReport, Report } from './report.ts';

/** Why something wanted is not there, in a form that the clock alone does not change. */
interface ReadinessReason {
  /** A sentence; `{age}` in it stands for the time since `since`. */
  readonly text: string;
  /** Unix seconds. */
  readonly since?: number;
}

/** Whether everything that is wanted is there, and why not. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly ReadinessReason[];
}

/** The reasons as sentences at a moment. */
export function sayReasons({ reasons }: Readiness, at: number): string[] {
  return reasons.map(({ text, since }) =>
    since === undefined ? text : text.replace('{age}', formatDuration(ageOf(since, at))),
  );
}

/**
 * Ready: the head moves, each dataset follows it, and nothing since `ETL_SINCE` is missing but what cannot be read.
 * `/ready`, `/metrics` and `status --check` ask this and nothing else.
 */
export function readinessOf(report: Report, datasets: readonly Dataset[], limits: LagLimits): Readiness {
  const reasons = [
    ...headReasons(report, limits),
    ...datasets.flatMap((dataset) => datasetReasons(dataset, report, limits)),
  ];
  return { ready: reasons.length === 0, reasons };
}

function headReasons({ head }: Report, limits: LagLimits): ReadinessReason[] {
  // Where --max-lag is given, the database may be kept up by backfills, which do not poll the head.
  if (head === null)
    return limits.maxLagSeconds === undefined ? [{ text: 'no daemon has polled the head yet' }] : [];
  const waiting = head.waitingFor === null ? '' : `: waiting for ${head.waitingFor}`;
  if (head.age <= longestHeadAgeOf(limits)) return [];
  return [{ text: `the newest masterchain block is {age} old${waiting}`, since: head.time }];
}

function datasetReasons(dataset: Dataset, { datasets, at }: Report, limits: LagLimits): ReadinessReason[] {
  const { name } = dataset;
  const report = datasets.find((one) => one.dataset === name);
  if (report?.isWithoutPools === true) return [];
  if (report === undefined || report.lag === null)
    return isAwaited(dataset, report, at, limits) ? [] : [{ text: `${name}: nothing is covered yet` }];
  const refused = report.refused.flatMap(({ span }) => span);
  const unread = lengthOf(without(report.missing, refused));
  const isBehind = report.lag > longestLagOf(dataset, limits);
  return [
    ...(isBehind ? [{ text: `${name}: {age} behind the clock`, since: at - report.lag }] : []),
    ...(report.isUnfit ? [{ text: `${name}: many of its records are in quarantine` }] : []),
    ...(unread > 0 ? [{ text: `${name}: ${formatDuration(unread)} of its past are not read yet` }] : []),
  ];
}

/** Wanted since so short a time that it may still be behind all of it: its delay has not passed. */
function isAwaited(
  dataset: Dataset,
  report: DatasetReport | undefined,
  at: number,
  limits: LagLimits,
): boolean {
  const since = report?.since ?? null;
  return since !== null && ageOf(since, at) <= longestLagOf(dataset, limits);
}

/** The datasets that keep up with the head: all but those that a schedule reads from `ETL_SINCE` to the head. */
export function followedDatasets(
  datasets: readonly Dataset[],
  schedules: readonly Schedule[],
): readonly Dataset[] {
  const scheduled = new Set(
    schedules.flatMap(({ only, range }) =>
      // Also where a range is named: a name that is no dataset here is refused at the start.
      chooseDatasets(only ?? [], datasets)
        .filter(() => range === undefined)
        .map(({ name }) => name),
    ),
  );
  return datasets.filter(({ name }) => !scheduled.has(name));
}
