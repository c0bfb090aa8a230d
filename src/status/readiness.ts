import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { formatDuration, formatRange, lengthOf, without, type Range } from '../range.ts';
import type { Schedule } from '../settings/schedule.ts';
import { SILENT_SECONDS } from '../ledger/workers.ts';
import {
  ageOf,
  longestHeadAgeOf,
  longestLagOf,
  type LagLimits,
  type DatasetReport,
  type Report,
} from './report.ts';

/** A reason for not being ready, in a form that does not change with the clock alone. */
interface ReadinessReason {
  /** A sentence. `{age}` in it is replaced by the time since `since`. */
  readonly text: string;
  /** Unix seconds. */
  readonly since?: number;
}

/** Whether everything that is wanted is stored, and if not, why. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly ReadinessReason[];
}

/** The reasons as sentences, as of a moment. */
export function sayReasons({ reasons }: Readiness, at: number): string[] {
  return reasons.map(({ text, since }) =>
    since === undefined ? text : text.replace('{age}', formatDuration(ageOf(since, at))),
  );
}

/**
 * Ready means: the head moves, each dataset follows it, and nothing since `ETL_SINCE` is missing except what cannot
 * be read. `/ready`, `/metrics` and `status --check` all use this.
 */
export function readinessOf(
  report: Report,
  datasets: readonly Dataset[],
  limits: ReadinessLimits,
): Readiness {
  const reasons = [
    ...headReasons(report, limits),
    ...datasets.flatMap((dataset) => datasetReasons(dataset, report, limits)),
  ];
  return { ready: reasons.length === 0, reasons };
}

interface ReadinessLimits extends LagLimits {
  /** The start of what is wanted, unix seconds. Default: `ETL_SINCE`; without a daemon, the first covered second. */
  readonly from?: number | undefined;
}

function headReasons({ head, awaited, silence, hasEnded }: Report, limits: LagLimits): ReadinessReason[] {
  const isFollowed = silence !== null && silence <= SILENT_SECONDS && !hasEnded;
  // With --max-lag, backfills may keep the database up to date without polling the head. Then coverage alone decides.
  if (!isFollowed && limits.maxLagSeconds !== undefined) return [];
  if (awaited !== null) return [{ text: `the watermark is not known yet: waiting for ${awaited}` }];
  if (head === null)
    return [{ text: 'no daemon has polled the head yet; without one, give --max-lag, such as 26h' }];
  const waiting = head.waitingFor === null ? '' : `: waiting for ${head.waitingFor}`;
  if (head.age <= longestHeadAgeOf(limits)) return [];
  return [{ text: `the newest masterchain block is {age} old${waiting}`, since: head.time }];
}

function datasetReasons(
  dataset: Dataset,
  { datasets, gaps, at }: Report,
  limits: ReadinessLimits,
): ReadinessReason[] {
  const { name } = dataset;
  const report = datasets.find((one) => one.dataset === name);
  if (report?.isWithoutPools === true) return [];
  if (report === undefined || report.lag === null)
    return isWithinDelay(dataset, report, at, limits) ? [] : [{ text: `${name}: nothing is covered yet` }];
  const refused = [...report.refused, ...gaps].flatMap(({ span }) => span);
  const unread = without(missingFrom(report, limits.from), refused);
  const isBehind = report.lag > longestLagOf(dataset, limits);
  return [
    ...(isBehind ? [{ text: `${name}: {age} behind the clock`, since: at - report.lag }] : []),
    ...(report.isUnfit ? [{ text: `${name}: many of its records are in quarantine` }] : []),
    ...unreadReasons(name, unread),
  ];
}

/** What is wanted, lies below the end of coverage, and is not covered. */
function missingFrom({ covered, since, missing, holes }: DatasetReport, from?: number): readonly Range[] {
  if (from === undefined) return since === null ? holes : missing;
  return without([{ from, to: Math.max(from, covered.at(-1)?.to ?? from) }], covered);
}

function unreadReasons(name: string, unread: readonly Range[]): ReadinessReason[] {
  const [first] = unread;
  if (first === undefined) return [];
  const more = unread.length === 1 ? '' : ` and ${unread.length - 1} more`;
  const length = formatDuration(lengthOf(unread));
  return [{ text: `${name}: ${length} of history is not read yet: ${formatRange(first)}${more}` }];
}

/** True if the dataset is wanted for so short a time that its delay has not passed yet. */
function isWithinDelay(
  dataset: Dataset,
  report: DatasetReport | undefined,
  at: number,
  limits: LagLimits,
): boolean {
  const since = report?.since ?? null;
  return since !== null && ageOf(since, at) <= longestLagOf(dataset, limits);
}

/** The datasets that follow the head: all except those that a schedule reads from `ETL_SINCE` to the head. */
export function followedDatasets(
  datasets: readonly Dataset[],
  schedules: readonly Schedule[],
): readonly Dataset[] {
  const scheduled = new Set(
    schedules.flatMap(({ only, range }) =>
      // Names are checked even if a range is given: an unknown name is rejected at the start.
      chooseDatasets(only ?? [], datasets)
        .filter(() => range === undefined)
        .map(({ name }) => name),
    ),
  );
  return datasets.filter(({ name }) => !scheduled.has(name));
}
