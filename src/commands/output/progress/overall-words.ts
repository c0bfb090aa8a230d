import { formatDuration } from '../../../range.ts';
import { formatNumber } from '../format-number.ts';
import type { Overall, WaitsFor } from './course.ts';

const WAITS_FOR: Readonly<Record<WaitsFor, string>> = {
  budget: 'the budget',
  server: 'the server',
  database: 'the database',
  pause: 'the end of a pause that the API asked for',
  disk: 'room on the disk (ETL_MIN_FREE)',
  process: 'another process, which reads the rest',
};

/** How far a run is as a whole, in as many words as a line of so many columns takes. */
export function overallWords(
  { rows, rate, requests, left, waitsFor }: Overall,
  allowed: number | undefined,
  columns: number,
): string {
  const used = formatNumber(requests) + (allowed === undefined ? '' : ` of ${formatNumber(allowed)}`);
  // The last are the first to go.
  const words = [
    left === undefined ? 'time left not known yet' : `${formatDuration(left)} left`,
    `${formatNumber(rate)} rows/s`,
    `${used} requests`,
    ...(waitsFor === undefined ? [] : [`waits for ${WAITS_FOR[waitsFor]}`]),
    `${formatNumber(rows)} rows`,
  ];
  while (words.length > 1 && words.join(', ').length > columns) words.pop();
  return words.join(', ');
}

/** A percentage of fixed width; `-` where nobody knows it yet. */
export function formatPercent(percent: number | undefined): string {
  return (percent === undefined ? '-' : `${percent.toFixed(1)}%`).padStart(6);
}
