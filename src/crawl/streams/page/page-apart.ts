import { stringify } from 'lossless-json';
import * as z from 'zod';
import { parseJson } from '../../../api/response/parse-json.ts';
import { readBody } from '../../../api/response/body-text.ts';
import { echoOf } from '../../../api/response/v3-echo.ts';
import { listOf } from '../../../api/response/v3-envelope.ts';
import type { Job, RecordsReading } from '../../../dataset/job.ts';
import type { Echo } from '../../../dataset/paginator.ts';
import { bytesOfRecords } from '../../../db/write/rows/lines.ts';
import { linesOfBytes, type TableBytes } from '../../../db/write/rows/line-bytes.ts';
import { targetOf } from '../../../db/write/rows/target.ts';
import type { Range } from '../../../range.ts';
import { idsOf, inside, odditiesOf, type Content, type Oddities } from './content.ts';
import { readRecords } from './read-records.ts';

/** A page as it is sent between threads: nothing but what can be copied or handed over. */
export interface PageApart {
  readonly positions: RecordsReading['positions'];
  readonly joins: RecordsReading['joins'];
  readonly echo: Echo;
  readonly tables: readonly TableBytes[];
  readonly ids: readonly string[];
  /** As JSON without loss; empty for none, as nearly always. */
  readonly odd: string;
}

interface HowToRead {
  readonly job: Job;
  /** What of the page is written. */
  readonly span: Range;
  /** Takes the key out of a text, where data may not hold it. */
  readonly withoutKey: (text: string) => string;
}

/** Reads a page: of its bytes and its job alone, so that any thread can. Throws what is wrong with the page. */
export function readApart(body: Buffer, { job, span, withoutKey }: HowToRead): PageApart {
  const { text, strings } = readBody(body, 'bytes');
  const json = parseJson(withoutKey(text), body);
  const reading = readRecords(job, listOf(job.list)(json), strings);
  const written = inside([reading], span);
  const oddities = odditiesOf(written);
  const isOdd = oddities.rejected.length > 0 || oddities.extras.length > 0;
  return {
    positions: reading.positions,
    joins: reading.joins,
    echo: echoOf(json),
    tables: bytesOfRecords(job.tables, written.accepted),
    ids: idsOf(written),
    odd: isOdd ? (stringify(oddities) ?? '') : '',
  };
}

/** What a page that another thread has read has to write. */
export function contentApart({ tables }: Pick<Job, 'tables'>, page: PageApart): Content {
  const rows = Object.values(tables).flatMap((table, index) => {
    const written = page.tables[index];
    return written === undefined ? [] : [linesOfBytes(targetOf(table), written)];
  });
  const oddities: Oddities = page.odd === '' ? NONE : Odd.parse(parseJson(page.odd));
  return { rows, ids: page.ids, ...oddities };
}

const NONE: Oddities = { rejected: [], extras: [] };

const Odd = z.object({
  rejected: z.array(
    z.object({
      position: z.object({ utime: z.number(), lt: z.string(), id: z.string() }),
      span: z.object({ from: z.number(), to: z.number() }),
      path: z.string(),
      reason: z.string(),
      raw: z.unknown(),
    }),
  ),
  extras: z.array(z.record(z.string(), z.unknown())),
});
