import { rawOf } from '../../dataset/bytes/view.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import { DAY, isInside, type Range } from '../../range.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { askPage, type PageRead } from '../streams/page.ts';

/** The result of a sample request, and the part of the range that it stands for. */
export interface Sample {
  /** The part of the range that the sample stands for. */
  readonly stratum: Range;
  /** Its first second. */
  readonly from: number;
  /** Seconds that were seen whole. */
  readonly seconds: number;
  readonly rows: number;
  /** Rows of the second in which the page ended, which was not seen whole. There are many if it ended in a burst. */
  readonly cut: number;
  /** Characters of JSON of these rows. */
  readonly bytes: number;
}

/** Rows of one sample: enough to be significant, few enough to cost the server little. */
const ROWS = 200;
/** How often a full window is narrowed at most. */
const MOST_PAGES = 6;
/** Multiples of the golden ratio fill an interval evenly, for any number of them. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

type ProbeContext = Pick<CrawlContext, 'api' | 'network' | 'lts' | 'tuning'>;

interface ProbeOptions {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly range: Range;
  /** Number of samples. */
  readonly count: number;
  readonly signal: AbortSignal;
}

/**
 * Takes one sample of each of `count` equal parts of a range. If the parts last a day or longer, the samples are spread
 * evenly over the hours of the day. Otherwise a network with quiet nights could be taken for a quiet one.
 */
export async function probe(
  context: ProbeContext,
  { range, count, ...options }: ProbeOptions,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const [index, stratum] of partsOf(range, count).entries()) {
    const from = placeIn(stratum, index);
    samples.push({ stratum, from, ...(await sample(context, options, { from, to: stratum.to })) });
  }
  return samples;
}

export function partsOf({ from, to }: Range, count: number): Range[] {
  const edge = (part: number) => from + Math.floor(((to - from) * part) / count);
  return Array.from({ length: count }, (_, part) => ({ from: edge(part), to: edge(part + 1) })).filter(
    (part) => part.from < part.to,
  );
}

/** The second at which the sample of a part begins. */
export function placeIn({ from, to }: Range, index: number): number {
  const share = (index * GOLDEN) % 1;
  const length = to - from;
  if (length < DAY) return from + Math.floor(length * 0.9 * share);
  const earliest = from + Math.floor((length - DAY) / 2);
  const hour = Math.floor(share * DAY);
  return earliest + ((((hour - earliest) % DAY) + DAY) % DAY);
}

/** The values of a column in the rows of the first page of a range. */
export async function valuesIn(
  context: ProbeContext,
  { dataset, stream, range, column, signal }: Omit<ProbeOptions, 'count'> & { readonly column: string },
): Promise<string[]> {
  const { paginator } = dataset.job;
  const { limits } = context.tuning(dataset);
  const { value } = await askPage(context, {
    ...{ dataset, stream, signal, priority: 'backfill' },
    cursor: paginator.start(range),
    size: limits.limit(paginator.maxSize),
    trust: limits.openSpan(range),
  });
  const rows = value.reading.accepted.flatMap((accepted) => Object.values(accepted.rows).flat());
  const values = rows.map((row): unknown => (row === undefined ? undefined : Reflect.get(row, column)));
  return [...new Set(values.filter((found) => typeof found === 'string'))];
}

/**
 * Follows the dataset's own paginator until some seconds are complete. Rows of an incomplete second at a
 * page's end do not count.
 */
async function sample(
  context: ProbeContext,
  { dataset, stream, signal }: Pick<ProbeOptions, 'dataset' | 'stream' | 'signal'>,
  span: Range,
): Promise<Omit<Sample, 'stratum' | 'from'>> {
  const { paginator } = dataset.job;
  const { limits } = context.tuning(dataset);
  const size = limits.limit(Math.min(ROWS, paginator.maxSize));
  const trust = limits.openSpan(span);
  let cursor: unknown = paginator.start(span);
  for (let page = 0; page < MOST_PAGES && cursor !== undefined; page += 1) {
    const paging = { dataset, stream, cursor, size, trust };
    const { value } = await askPage(context, { ...paging, priority: 'backfill', signal });
    const { completed } = value.step;
    if (completed !== undefined)
      return { seconds: completed.to - completed.from, ...measure(value, completed, span) };
    cursor = value.step.cursor;
  }
  return { seconds: 0, rows: 0, cut: 0, bytes: 0 };
}

/** Counts the rows of a page in its completed seconds, and the characters of their JSON. */
function measure(
  { records, reading }: PageRead,
  completed: Range,
  span: Range,
): Pick<Sample, 'rows' | 'cut' | 'bytes'> {
  const within = (range: Range) =>
    records.filter((_, index) => isInside(reading.positions[index]?.utime ?? -1, range));
  const rows = within(completed);
  const bytes = rows.reduce<number>((sum, record) => sum + sizeOf(rawOf(record)), 0);
  return { rows: rows.length, cut: within(span).length - rows.length, bytes };
}

function sizeOf(raw: unknown): number {
  return JSON.stringify(raw, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    .length;
}
