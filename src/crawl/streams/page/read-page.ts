import { parseBody, parseJson, requireHoldable } from '../../../api/response/parse-json.ts';
import { echoOf } from '../../../api/response/v3-echo.ts';
import { listOf } from '../../../api/response/v3-envelope.ts';
import { readList } from '../../../dataset/bytes/read-list.ts';
import { rawOf } from '../../../dataset/bytes/view.ts';
import { timeOfRow, type Put } from '../../../dataset/declaration/row-layout.ts';
import { surveyJson } from '../../../dataset/declaration/doubled.ts';
import type { AcceptedRecord, Job, RecordsReading, Rejected } from '../../../dataset/job.ts';
import type { Echo } from '../../../dataset/paginators/paginator.ts';
import type { Extra } from '../../../dataset/declaration/record.ts';
import type { Tables } from '../../../dataset/rows.ts';
import { linesOfRecords } from '../../../write/lines.ts';
import type { Lines } from '../../../write/line-bytes.ts';
import { formatTime, isInside, spanOfSecond, type Range } from '../../../range.ts';

/*
 * From the body of a page to the rows to write. The records are found in the bytes of the body. Each is read
 * in place, or parsed alone if it has an unusual form (`dataset/bytes/read-list.ts`).
 */

/** A body: its raw records, their reading, and the window that it says it answers. */
export interface ReadBody {
  readonly records: readonly unknown[];
  readonly reading: RecordsReading;
  readonly echo: Echo;
  /** Called when the records are not needed any more. */
  readonly release: () => void;
}

/** Waits for a turn on this thread, so that other work runs in between. */
type Turn = () => Promise<void>;

/** Bodies below this size cannot fill the memory with their values, however small these are. */
const LARGE = 2 ** 22;

/** Reads the body of a page of a stream. Throws if the body is malformed. */
export async function readBody(job: Job, bytes: Buffer, turn: Turn): Promise<ReadBody> {
  const { list, record } = job;
  const found = await readList({ bytes, list, record, parse: parserOf(bytes), turn });
  // If the list was not found, parsing the whole body yields the error.
  const json = parseBody(found?.rest ?? bytes.toString());
  const rest = listOf(list)(json);
  if (rest.length > 0)
    throw new TypeError(`the record reader did not find "${list}" in a body that contains it`);
  await turn();
  const records = found?.records ?? [];
  const release = () => found?.release();
  return { records, reading: readRecords(job, records), echo: echoOf(json), release };
}

/**
 * Parses parts of a body. Views need no memory for their values. Once many characters are parsed, the values
 * of the whole body are counted.
 */
function parserOf(body: Buffer): (json: string) => unknown {
  let left = LARGE;
  return (json) => {
    if (left > 0 && left <= json.length) requireHoldable(surveyJson(body.toString('latin1')).values);
    left -= json.length;
    return parseJson(json);
  };
}

/**
 * Reads records of a stream by the job's rules. A record with a row that is dated after the record itself is rejected:
 * its partition would lie in the future, which retention and every index reach last. It goes to quarantine.
 */
export function readRecords(job: Job, records: readonly unknown[]): RecordsReading {
  const reading = job.read(records);
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
        raw: rawOf(records[index]),
      })),
    ],
  };
}

function hasLateRow(utime: number, put: (put: Put) => void): boolean {
  const own = formatTime(utime);
  let isLate = false;
  put((rowLayout, record, given) => {
    isLate ||= (timeOfRow(rowLayout, record, given) ?? own) > own;
  });
  return isLate;
}

/** The rows that pages have to write. */
export interface Content {
  /** Rows of the accepted records, table by table. */
  readonly rows: readonly Lines[];
  /** The ids of the accepted records. */
  readonly ids: readonly string[];
  readonly rejected: readonly Rejected[];
  /** Unknown members of each accepted record that has any. */
  readonly extras: readonly Extra[];
}

/** The rows of one page, or of all pages of a second that is written as a whole. */
export function contentOf(
  tables: Tables,
  { accepted, rejected }: Inside,
  how?: Parameters<typeof linesOfRecords>[2],
): Content {
  return {
    rows: linesOfRecords(tables, accepted, how),
    ids: accepted.map(({ position }) => position.id),
    rejected,
    extras: extrasOf(accepted),
  };
}

/** The unknown members of each record that has any. */
export function extrasOf(records: readonly { readonly extra: Extra }[]): Extra[] {
  return records.map(({ extra }) => extra).filter((extra) => Object.keys(extra).length > 0);
}

/** The records of pages that are written. */
export interface Inside {
  readonly accepted: readonly AcceptedRecord[];
  readonly rejected: readonly Rejected[];
}

/**
 * The records of pages within a span: the replaced seconds, or the lease. A page that looks ahead for
 * successors may end anywhere beyond the lease. What the tables hold must not depend on where pages end, so
 * the other records are read with their own second.
 */
export function inside(
  readings: readonly Pick<RecordsReading, 'accepted' | 'rejected'>[],
  span: Range | undefined,
): Inside {
  const isWritten = ({ position }: { readonly position: { readonly utime: number } }) =>
    span !== undefined && isInside(position.utime, span);
  return {
    accepted: readings.flatMap(({ accepted }) => accepted.filter(isWritten)),
    rejected: readings.flatMap(({ rejected }) => rejected.filter(isWritten)),
  };
}
