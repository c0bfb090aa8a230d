import type { Config } from '../config.ts';
import type { Report } from './report.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { formatDuration, lengthOf, without } from '../range.ts';

/** The tail may be so many times its freshness behind before that is worth telling. */
const PATIENCE = 4;
/** A head that is older than this, in seconds, does not move: blocks come every few seconds. */
export const STILL_HEAD = 120;

/** Whether the daemon has caught up, and why not. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** Ready: the head moves, each dataset follows it, and nothing since `ETL_SINCE` is missing but what cannot be had. */
export function readinessOf(
  report: Report,
  datasets: readonly Dataset[],
  config: Pick<Config, 'freshness' | 'watermarkDelay'>,
  now: number,
): Readiness {
  const reasons = [
    ...headReasons(report, now),
    ...datasets.flatMap(({ name, job }) => {
      const limit =
        PATIENCE * config.freshness + (job.delaySeconds ?? config.watermarkDelay) + STILL_HEAD / 2;
      return datasetReasons(name, report, limit, now);
    }),
  ];
  return { ready: reasons.length === 0, reasons };
}

function headReasons({ head }: Report, now: number): string[] {
  if (head === null) return ['nobody has looked for the head of the chain yet'];
  const age = now - head.time;
  const waiting = head.waitingFor === null ? '' : `: waiting for ${head.waitingFor}`;
  return age > STILL_HEAD ? [`the newest masterchain block is ${formatDuration(age)} old${waiting}`] : [];
}

/** Why a dataset is not where it should be: `limit` is how many seconds it may be behind the clock. */
export function datasetReasons(
  name: string,
  { datasets }: Pick<Report, 'datasets'>,
  limit: number,
  now: number,
): string[] {
  const report = datasets.find(({ dataset }) => dataset === name);
  const end = report?.covered.at(-1)?.to;
  if (report === undefined || end === undefined) return [`${name}: nothing is covered yet`];
  const behind = now - end;
  const open = without(
    report.missing,
    report.refused.flatMap(({ span }) => span),
  );
  return [
    ...(behind > limit ? [`${name}: ${formatDuration(behind)} behind the clock`] : []),
    ...(open.length > 0 ? [`${name}: ${formatDuration(lengthOf(open))} of its past are not read yet`] : []),
  ];
}
