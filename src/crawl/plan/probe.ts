import { listOf } from '../../api/v3-envelope.ts';
import { echoOf } from '../../api/v3-echo.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Stream } from '../../db/coverage/coverage.ts';
import { DAY, type Range } from '../../range.ts';
import type { CrawlContext } from '../streams/crawler.ts';

/** What a look into a part of a range found. */
export interface Sample {
  /** The part of the range that the look stands for. */
  readonly stratum: Range;
  /** Its first second. */
  readonly from: number;
  /** Seconds that were seen whole. */
  readonly seconds: number;
  readonly rows: number;
  /** Characters of JSON of these rows. */
  readonly bytes: number;
}

/** Rows asked for in one look: enough that their number says something, few enough to cost the server little. */
const ROWS = 200;
/** A window that comes out full is narrowed so often. */
const MOST_PAGES = 6;
/** Multiples of it fill an interval evenly, however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Looks once into each of `count` equal parts of a range. Where the parts are days or longer, the looks are spread
 * evenly over the hours of the day, so that a network whose nights are quiet is not taken for a quiet one.
 */
export async function probe(
  context: Pick<CrawlContext, 'api'>,
  dataset: Dataset,
  stream: Stream,
  range: Range,
  count: number,
  signal: AbortSignal,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const [index, stratum] of partsOf(range, count).entries()) {
    const from = placeIn(stratum, index);
    samples.push({
      stratum,
      from,
      ...(await look(context, dataset, stream, { from, to: stratum.to }, signal)),
    });
  }
  return samples;
}

export function partsOf({ from, to }: Range, count: number): Range[] {
  const edge = (part: number) => from + Math.floor(((to - from) * part) / count);
  return Array.from({ length: count }, (_, part) => ({ from: edge(part), to: edge(part + 1) })).filter(
    (part) => part.from < part.to,
  );
}

/** Where in a part of the range to look. */
export function placeIn({ from, to }: Range, index: number): number {
  const share = (index * GOLDEN) % 1;
  const length = to - from;
  if (length < DAY) return from + Math.floor(length * 0.9 * share);
  const earliest = from + Math.floor((length - DAY) / 2);
  const hour = Math.floor(share * DAY);
  return earliest + ((((hour - earliest) % DAY) + DAY) % DAY);
}

/** Follows the dataset's own paginator until some seconds are complete: what is cut short at a page's end is left out. */
async function look(
  { api }: Pick<CrawlContext, 'api'>,
  { job }: Dataset,
  { scope }: Stream,
  span: Range,
  signal: AbortSignal,
): Promise<Omit<Sample, 'stratum' | 'from'>> {
  const records = listOf(job.list);
  let cursor: unknown = job.paginator.start(span);
  for (let page = 0; page < MOST_PAGES && cursor !== undefined; page += 1) {
    const paging = job.paginator.request(cursor, Math.min(ROWS, job.paginator.maxSize));
    const { value } = await api.get({
      path: job.path,
      params: {
        ...job.params,
        ...(job.scopes === undefined ? {} : { [job.scopes.param]: scope }),
        ...paging,
      },
      priority: 'backfill',
      signal,
      parse: (body) => {
        const raws = records(body);
        const reading = job.read(raws);
        const step = job.paginator.next(cursor, { ...reading, size: paging.limit, echo: echoOf(body) });
        const inside = (utime: number) =>
          step.completed !== undefined && utime >= step.completed.from && utime < step.completed.to;
        const kept = raws.filter((_, index) => inside(reading.positions[index]?.utime ?? -1));
        return { step, rows: kept.length, bytes: kept.reduce<number>((sum, raw) => sum + sizeOf(raw), 0) };
      },
    });
    const { completed } = value.step;
    if (completed !== undefined)
      return { seconds: completed.to - completed.from, rows: value.rows, bytes: value.bytes };
    cursor = value.step.cursor;
  }
  return { seconds: 0, rows: 0, bytes: 0 };
}

function sizeOf(raw: unknown): number {
  return JSON.stringify(raw, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    .length;
}
