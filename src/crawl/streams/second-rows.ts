import type { Dataset } from '../../dataset/dataset.ts';
import { requireInside, type Paginator } from '../../dataset/paginators/paginator.ts';
import { mayConcernPage, type EtlError } from '../../errors.ts';
import { spanOfSecond, type Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import type { NetworkWatch } from '../source-guard.ts';
import { askPage, type FetchedPage } from './page.ts';
import type { Assignment } from './planner.ts';

/** Maximum number of requests for one second. Halving finds one bad row among a thousand in about twenty. */
const MOST_REQUESTS = 200;

/** After this many consecutive rows that are not served, the rest of the second is skipped. */
const MOST_IN_ROW = 8;

interface RowsReading extends Assignment {
  readonly stop: Stop;
  readonly network: NetworkWatch;
}

/** A page of rows of one second. */
interface AskedRows {
  readonly second: number;
  readonly offset: number;
  readonly limit: number;
}

/** The rows of a second that the server serves. */
export interface ServedOfSecond {
  readonly pages: readonly FetchedPage[];
  /** Number of rows that it did not serve, as far as known. */
  readonly unserved: number;
  /** The last error of rows that it did not serve. */
  readonly failure: EtlError | undefined;
  /** True if these are certainly all rows of the second. */
  readonly isWhole: boolean;
}

/** The state of reading a second row by row. */
interface SecondProgress extends Omit<ServedOfSecond, 'isWhole'> {
  readonly offset: number;
  /** A row before this offset is known not to be served; Infinity if there is none. */
  readonly until: number;
  /** Number of rows since the last page, none of which was served. */
  readonly inRow: number;
  readonly hasEnded: boolean;
}

/**
 * Reads the rows of a second except those that the server does not serve. A failing page is halved until one
 * row is left, which is skipped. Servers that sort by time alone may return the rows of a second in another
 * order each time. Then a second that took several pages may lack some.
 */
export async function readServed(
  context: CrawlContext,
  reading: RowsReading,
  second: number,
): Promise<ServedOfSecond> {
  let at: SecondProgress = {
    pages: [],
    unserved: 0,
    failure: undefined,
    offset: 0,
    until: Infinity,
    inRow: 0,
    hasEnded: false,
  };
  for (let requests = 0; requests < MOST_REQUESTS && !at.hasEnded; requests += 1) {
    if (reading.stop.finishing.aborted || at.inRow === MOST_IN_ROW) break;
    at = await readRows(context, reading, second, at);
  }
  const { pages, unserved, failure, hasEnded } = at;
  const isInOrder = pages.length === 1 || !reading.dataset.job.paginator.wholeSeconds;
  return { pages, unserved, failure, isWhole: hasEnded && unserved === 0 && isInOrder };
}

async function readRows(
  context: CrawlContext,
  reading: RowsReading,
  second: number,
  at: SecondProgress,
): Promise<SecondProgress> {
  const { maxSize } = reading.dataset.job.paginator;
  const { offset, until } = at;
  const limit = until === Infinity ? maxSize : Math.max(1, Math.floor((until - offset) / 2));
  try {
    const page = await askRows(context, reading, { second, offset, limit });
    if (page === undefined) return { ...at, inRow: MOST_IN_ROW };
    const next = offset + page.value.reading.positions.length;
    const hasEnded = page.value.step.cursor === undefined;
    const left = next >= until ? Infinity : until;
    return { ...at, pages: [...at.pages, page], offset: next, until: left, inRow: 0, hasEnded };
  } catch (error) {
    if (!mayConcernPage(error)) throw error;
    if (limit > 1) return { ...at, failure: error, until: offset + limit };
    const isFirst = at.pages.length === 0 && at.unserved === 0;
    if (isFirst && !(await servesElsewhere(context, reading, spanOfSecond(second)))) throw error;
    const [unserved, inRow] = [at.unserved + 1, at.inRow + 1];
    return { ...at, failure: error, offset: offset + 1, until: Infinity, unserved, inRow };
  }
}

/**
 * True if the server answers the same request for another second: then the page causes the failure. The other
 * second may hold such a row too, so several are tried.
 */
export async function servesElsewhere(
  context: CrawlContext,
  reading: RowsReading,
  span: Range,
): Promise<boolean> {
  const { from, to } = span;
  const middle = Math.floor((from + to) / 2);
  for (const second of new Set([to - 1 > from ? to - 1 : to, middle > from ? middle : to, from - 1])) {
    try {
      if ((await askRows(context, reading, { second, offset: 0, limit: 1 })) !== undefined) return true;
    } catch (error) {
      if (!mayConcernPage(error)) throw error;
    }
  }
  return false;
}

/** Requests rows of a second; undefined if the endpoint cannot be asked for them. */
async function askRows(
  { api, lts, tuning }: CrawlContext,
  { dataset, lease, priority, stop, network }: RowsReading,
  rows: AskedRows,
): Promise<FetchedPage | undefined> {
  const { limits } = tuning(dataset);
  const limit = limits.limit(rows.limit);
  const paging = dataset.job.paginator.ofSecond?.(rows.second, { ...rows, limit });
  if (paging === undefined) return undefined;
  const page = await askPage(
    { api, lts, network },
    {
      dataset: rowByRow(dataset, rows.second, paging),
      stream: lease.stream,
      cursor: undefined,
      size: limit,
      trust: limits.openSpan(spanOfSecond(rows.second)),
      priority,
      signal: stop.leaving,
      attemptsInDoubt: rows.limit > 1 ? 1 : ATTEMPTS_IN_DOUBT,
    },
  );
  const { reading, step } = page.value;
  return { ...page, value: { reading, step } };
}

/** The dataset with a paginator for some rows of a second. If a step has a cursor, there may be more rows. */
function rowByRow(
  { name, job }: Dataset,
  second: number,
  paging: ReturnType<Paginator<unknown>['request']>,
): Dataset {
  const span = spanOfSecond(second);
  const { maxSize } = job.paginator;
  const paginator: Paginator<unknown> = {
    maxSize,
    wholeSeconds: true,
    start: () => undefined,
    request: () => paging,
    next: (_, { positions, size }) => {
      for (const position of positions) requireInside(position, span);
      return { completed: undefined, cursor: positions.length < size ? undefined : positions.length };
    },
  };
  return { name, job: { ...job, paginator } };
}
