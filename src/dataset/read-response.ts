import { canonicalOf } from './declaration/canonical.ts';
import { nameable } from './position.ts';
import type { ZodType } from 'zod';
import type { Rejected } from './job.ts';
import type { Rows } from './rows.ts';
import { hashOf, readRecord, type Extra } from './record.ts';
import type { ResponseReading, Asked } from './walk.ts';
import { spanOfSecond, secondOfTime } from '../range.ts';

/** What a walk says of its records. */
export interface RecordSpec<Rec> {
  /** Strict, as a stream's record: see `defineJob`. */
  readonly record: ZodType<Rec>;
  /** Members (dotted paths) that name a record together, for the quarantine. */
  readonly id: readonly string[];
  readonly rows: (record: Rec, extra: Extra, asked: Asked) => Rows;
}

/** Reads the records of a response; the first one has the rank `first`. */
export function readResponse<Rec>(
  { record, rows, id }: RecordSpec<Rec>,
  raws: readonly unknown[],
  asked: Omit<Asked, 'rank'>,
  first: number,
): ResponseReading {
  const fitting: ResponseReading['fitting'][number][] = [];
  const rejected: Rejected[] = [];
  for (const [index, raw] of raws.entries()) {
    const canonical = canonicalOf(record, raw);
    const name = nameOf(canonical, id);
    const reading = readRecord(record, { raw, canonical });
    if (reading.ok) {
      const { extra } = reading;
      const written = rows(reading.record, extra, { ...asked, rank: first + index });
      fitting.push({ id: name, rows: written, extra, canonical });
    } else {
      const utime = secondOfTime(asked.at);
      const position = { utime, lt: '0', id: name };
      rejected.push({
        position,
        span: spanOfSecond(utime),
        path: reading.path,
        reason: reading.reason,
        raw,
      });
    }
  }
  return { fitting, rejected };
}

/** Text of a member by dotted path; undefined where it is neither text nor number. */
export function memberText(raw: unknown, path: string): string | undefined {
  let value = raw;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function nameOf(raw: unknown, id: readonly string[]): string {
  const parts = id.map((path) => memberText(raw, path));
  return parts.length > 0 && parts.every((part) => part !== undefined)
    ? nameable(parts.join('/'))
    : hashOf(raw);
}
