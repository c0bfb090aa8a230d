import { formatDuration } from '../../../range.ts';
import { formatNumber } from '../format-number.ts';
import type { Overall } from './course.ts';

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
    `waits for the ${waitsFor}`,
    `${formatNumber(rows)} rows`,
  ];
  while (words.length > 1 && words.join(', ').length > columns) words.pop();
  return words.join(', ');
}

/** A percentage of fixed width; `-` where nobody knows it yet. */
export function formatPercent(percent: number | undefined): string {
  return (percent === undefined ? '-' : `${percent.toFixed(1)}%`).padStart(6);
}
