import { parseBody, parseJson, requireHoldable } from '../../../api/response/parse-json.ts';
import { canBeBytes, readBody } from '../../../api/response/body-text.ts';
import type { KeyGuard } from '../../../api/response/key-guard.ts';
import { echoOf } from '../../../api/response/v3-echo.ts';
import { listOf } from '../../../api/response/v3-envelope.ts';
import { readList } from '../../../dataset/bytes/read-list.ts';
import { surveyJson } from '../../../dataset/doubled.ts';
import type { Job, RecordsReading } from '../../../dataset/job.ts';
import type { Echo } from '../../../dataset/paginator.ts';
import { bytesOfRecords } from '../../../db/write/rows/lines.ts';
import { linesOfBytes, type RowBytes } from '../../../db/write/rows/line-bytes.ts';
import { targetOf } from '../../../db/write/rows/target.ts';
import type { Strings } from '../../../dataset/strings.ts';
import type { Range } from '../../../range.ts';
import { idsOf, inside, odditiesOf, type Content, type Oddities } from './content.ts';
import { readRecords } from './read-records.ts';

/** A page whose rows are bytes. */
export interface ReadPage {
  readonly positions: RecordsReading['positions'];
  readonly joins: RecordsReading['joins'];
  readonly echo: Echo;
  readonly tables: readonly RowBytes[];
  readonly ids: readonly string[];
  readonly oddities: Oddities;
}

export interface HowToRead {
  readonly job: Job;
  /** What of the page is written. */
  readonly span: Range;
  /** What data may not hold. */
  readonly key: KeyGuard;
  /** Waits until it may take some milliseconds of this thread: others have their turns between. */
  readonly turn: () => Promise<void>;
}

/** Of a body that is no larger, no values fill the memory. */
const LARGE = 2 ** 22;

/**
 * Reads a page: of its bytes and its job alone, so that any thread can. What it returns needs them no more. Throws what is
 * wrong with the page.
 */
export async function readPage(body: Buffer, how: HowToRead): Promise<ReadPage> {
  await how.turn();
  if (body.byteLength > LARGE) requireHoldable(surveyJson(body.toString('latin1')).values);
  const whole = (await readInBytes(body, how)) ?? readParsed(body, how);
  const page = await pageOfRecords(whole, how);
  whole.release();
  return page;
}

async function pageOfRecords(
  { json, records, strings }: BodyOfRecords,
  { job, span, turn }: HowToRead,
): Promise<ReadPage> {
  await turn();
  const reading = readRecords(job, records, strings);
  const within = inside([reading], span);
  await turn();
  return {
    positions: reading.positions,
    joins: reading.joins,
    echo: echoOf(json),
    tables: bytesOfRecords(job.tables, within.accepted),
    ids: idsOf(within),
    oddities: odditiesOf(within),
  };
}

/** A body without its records, and these. */
interface BodyOfRecords {
  readonly json: unknown;
  readonly records: readonly unknown[];
  readonly strings: Strings;
  /** Nobody reads the records any more. */
  readonly release: () => void;
}

/** Undefined for a body that has to be parsed as a whole, which also tells what is wrong with it. */
async function readInBytes(
  bytes: Buffer,
  { job: { list, record }, key, turn }: HowToRead,
): Promise<BodyOfRecords | undefined> {
  if (!canBeBytes(bytes) || key.mayBeIn(bytes)) return undefined;
  try {
    const read = await readList({ bytes, list, record, parse: parseJson, turn });
    return read && { ...read, json: parseBody(read.rest), strings: 'bytes' };
  } catch {
    return undefined;
  }
}

function readParsed(body: Buffer, { job, key }: HowToRead): BodyOfRecords {
  const { text, strings } = readBody(body, 'bytes');
  const json = parseBody(key.without(text), body);
  return { json, records: listOf(job.list)(json), strings, release: () => undefined };
}

/** What a page has to write. */
export function contentOfPage({ tables }: Pick<Job, 'tables'>, page: ReadPage): Content {
  const rows = Object.values(tables).flatMap((table, index) => {
    const written = page.tables[index];
    return written === undefined ? [] : [linesOfBytes(targetOf(table), written)];
  });
  return { rows, ids: page.ids, ...page.oddities };
}
