import type { Reading, Rows } from '../../dataset/job.ts';
import { formatTime } from '../../range.ts';

/**
 * A record with a row dated after the record itself cannot be: its partition would lie in the future, where retention
 * and every index looks last. It goes to quarantine instead. `raws` are the records that were read.
 */
export function refuseLateRows(reading: Reading, raws: readonly unknown[]): Reading {
  const late = reading.accepted.filter(({ position, rows }) => hasLateRow(position.utime, rows));
  if (late.length === 0) return reading;
  return {
    ...reading,
    accepted: reading.accepted.filter((record) => !late.includes(record)),
    rejected: [
      ...reading.rejected,
      ...late.map(({ position, index }) => ({
        position,
        path: 'utime',
        reason: 'a row of this record is dated after the record itself',
        raw: raws[index],
      })),
    ],
  };
}

function hasLateRow(utime: number, rows: Rows): boolean {
  const own = formatTime(utime);
  return Object.values(rows).some((list) => list?.some((row) => 'utime' in row && String(row.utime) > own));
}
