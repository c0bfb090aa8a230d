import { rawOf } from '../../../dataset/bytes/view.ts';
import { timeOfRow, type Put } from '../../../dataset/declaration/sheet.ts';
import type { Job, RecordsReading } from '../../../dataset/job.ts';
import type { Strings } from '../../../dataset/strings.ts';
import { formatTime, spanOfSecond } from '../../../range.ts';

/**
 * Reads records of a stream as its job says. A record with a row dated after the record itself cannot be: its partition
 * would lie in the future, where retention and every index looks last. It goes to quarantine instead.
 */
export function readRecords(job: Job, records: readonly unknown[], strings?: Strings): RecordsReading {
  const reading = job.read(records, strings);
  const late = reading.accepted.filter(({ position, put }) => hasLateRow(position.utime, put));
  if (late.length === 0) return reading;
  return {
    ...reading,
    accepted: reading.accepted.filter((record) => !late.includes(record)),
    rejected: [
      ...reading.rejected,
      ...late.map(({ position, index }) => ({
        position,
        span: spanOfSecond(position.utime),
        path: 'utime',
        reason: 'a row of this record is dated after the record itself',
        raw: rawOf(records[index], strings),
      })),
    ],
  };
}

function hasLateRow(utime: number, put: (put: Put) => void): boolean {
  const own = formatTime(utime);
  let isLate = false;
  put((sheet, record, given) => {
    isLate ||= (timeOfRow(sheet, record, given) ?? own) > own;
  });
  return isLate;
}
