import type { Reading } from '../job.ts';
import { formatTime } from '../range.ts';

/**
 * A record with a row dated after the record itself cannot be: its partition would lie in the future, where retention
 * and every index looks last. It goes to quarantine instead.
 */
export function refuseLateRows(reading: Reading): Reading {
  const late = reading.accepted.filter(({ position, rows }) => {
    const own = formatTime(position.utime);
    return Object.values(rows).some((list) => list?.some((row) => 'utime' in row && String(row.utime) > own));
  });
  if (late.length === 0) return reading;
  return {
    ...reading,
    accepted: reading.accepted.filter((record) => !late.includes(record)),
    rejected: [
      ...reading.rejected,
      ...late.map(({ position, raw }) => ({
        position,
        path: 'utime',
        reason: 'a row of this record is dated after the record itself',
        raw,
      })),
    ],
  };
}
