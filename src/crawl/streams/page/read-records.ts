import type { Job, Reading, Rows } from '../../../dataset/job.ts';
import { formatTime } from '../../../range.ts';

/**
 * Reads records of a stream as its job says. A record with a row dated after the record itself cannot be: its partition
 * would lie in the future, where retention and every index looks last. It goes to quarantine instead.
 */
export function readRecords(job: Job, records: readonly unknown[]): Reading {
  const reading = job.read(records);
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
        raw: records[index],
      })),
    ],
  };
}

function hasLateRow(utime: number, rows: Rows): boolean {
  const own = formatTime(utime);
  return Object.values(rows).some((list) => list?.some((row) => 'utime' in row && String(row.utime) > own));
}
