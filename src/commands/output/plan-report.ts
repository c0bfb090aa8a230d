import type { Guess } from '../../crawl/plan/estimate.ts';
import type { Planned } from '../../crawl/plan/plan-datasets.ts';
import { formatDuration, type Range } from '../../range.ts';
import { formatNumber } from './format-number.ts';
import { fitsTerminal, formatTable } from './table.ts';

/** Plans of requests a second that TON Center sells. */
const PLANS = [1, 10, 25, 100];
/** The budget keeps this part of a plan: slots lie a little apart. */
const USED = 0.96;

interface PlanReport {
  readonly range: Range;
  readonly planned: readonly Planned[];
  readonly rps: number;
  /** Requests that the estimate took. */
  readonly probes: number;
}

export function printPlan({ planned, rps, probes }: PlanReport): void {
  const total = totalOf(planned);
  const table = (show: typeof spread) =>
    formatTable(
      ['dataset', 'rows', 'requests', 'disk', `time at ${rps}/s`],
      [...planned, { dataset: 'in all', estimate: total }].map(({ dataset, estimate }) => [
        ...[dataset, show(estimate.rows, formatNumber), show(estimate.requests, formatNumber)],
        show(estimate.disk, formatBytes),
        show(estimate.requests, (count) => formatDuration(timeAt(count, rps))),
      ]),
    );
  const wide = table(spread);
  console.log();
  console.log(fitsTerminal(wide) ? wide : table(({ likely }, format) => format(likely)));
  console.log();
  for (const plan of PLANS) {
    const time = spread(total.requests, (count) => formatDuration(timeAt(count, plan)));
    console.log(`at ${String(plan).padStart(3)}/s  ${time}`);
  }
  console.log(
    `looked    with ${probes} requests; the backfill of this range will be held against this estimate`,
  );
}

export function planToJson({ range, planned, rps, probes }: PlanReport): object {
  const total = totalOf(planned);
  return {
    range,
    rps,
    probes,
    datasets: planned.map(({ dataset, missing, estimate: { rows, requests, disk } }) => ({
      dataset,
      missing,
      rows,
      requests,
      disk,
      secondsAt: secondsAt(requests, rps),
    })),
    total: { ...total, secondsAt: secondsAt(total.requests, rps) },
  };
}

interface Guesses {
  readonly rows: Guess;
  readonly requests: Guess;
  readonly disk: Guess;
}

function totalOf(planned: readonly Planned[]): Guesses {
  const sum = (member: keyof Guesses) => {
    const add = (bound: keyof Guess) =>
      planned.reduce((total, { estimate }) => total + estimate[member][bound], 0);
    return { low: add('low'), likely: add('likely'), high: add('high') };
  };
  return { rows: sum('rows'), requests: sum('requests'), disk: sum('disk') };
}

/** Seconds that so many requests take. */
const timeAt = (requests: number, rps: number) => requests / (rps * USED);

/** Seconds under each plan, by its requests a second. */
function secondsAt({ low, likely, high }: Guess, rps: number): Record<string, Guess> {
  const seconds = (plan: number) => ({
    low: timeAt(low, plan),
    likely: timeAt(likely, plan),
    high: timeAt(high, plan),
  });
  return Object.fromEntries([...new Set([rps, ...PLANS])].map((plan) => [plan, seconds(plan)]));
}

function spread({ low, likely, high }: Guess, format: (value: number) => string): string {
  return `${format(likely)} (${format(low)} to ${format(high)})`;
}

function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(2))} ${['B', 'kB', 'MB', 'GB', 'TB'][power] ?? ''}`;
}
