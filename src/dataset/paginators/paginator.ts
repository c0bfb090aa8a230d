import * as z from 'zod';
import type { Range } from '../../range.ts';

/** Undefined if it is not a logical time: a record in quarantine may contain anything. */
export function readLt(lt: string): bigint | undefined {
  return /^\d{1,19}$/.test(lt) ? BigInt(lt) : undefined;
}

/** A query parameter; an array becomes repeated keys. */
export type Param = string | number | boolean | readonly string[] | undefined;
export type Params = Readonly<Record<string, Param>>;

/**
 * The position of a record: seconds of chain time, logical time, and an id that distinguishes it from its neighbors.
 */
export interface Position {
  readonly utime: number;
  readonly lt: string;
  readonly id: string;
}

/** One response as a paginator sees it. */
export interface Page {
  /** The requested limit: a page with fewer rows is short. */
  readonly size: number;
  /** True if the page counts as full although more was requested, because it may have been cut. */
  readonly isDoubted?: boolean;
  /** The positions of the records in the order received. */
  readonly positions: readonly Position[];
  /** End of the requested seconds, exclusive, if the paginator narrows its requests. */
  readonly until?: number;
  /** For endpoints whose 200 may be cut short. Undefined if a short page can be trusted. */
  readonly joins?: Joins;
  /** The window (both ends inclusive, unix seconds) in the response, if its endpoint echoes one. */
  readonly echo?: Echo;
}

/** What the records of a page show about missing ones. */
export interface Joins {
  /** The second before which nothing is missing. */
  readonly until: number;
  /** The first second whose successors the page certainly lacks, although it has later records. */
  readonly gapAt?: number;
  /**
   * Predecessors of the page's records that the page lacks. The rows before it contain them, unless the
   * source has a gap.
   */
  readonly before?: readonly Predecessor[];
  /** Indexes of records that are in the place of another one: they go to quarantine. */
  readonly misplaced?: readonly number[];
}

/** A block that a record of a page names as its predecessor. */
export interface Predecessor {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
  /** The second of the record that names it. */
  readonly namedAt: number;
}

export interface Echo {
  readonly start_utime?: number;
  readonly end_utime?: number;
}

/** The next step after a page. */
export interface Step<Cursor> {
  /** Seconds that this page completes, together with earlier ones: always a prefix of the rest of the span. */
  readonly completed: Range | undefined;
  /** A second of the span that cannot be read completely; the cursor has passed it. */
  readonly saturated?: Range;
  /** The next position; undefined if the span is done. */
  readonly cursor: Cursor | undefined;
}

export interface StartOptions {
  /** The first request asks for nothing beyond the span, which may not be served. */
  readonly alone?: boolean;
  /** Seconds that a page of the largest size is likely to hold; undefined if none was read yet. */
  readonly pageSeconds?: number | undefined;
}

/**
 * Decides which page comes next: a value without state or I/O. A cursor is plain JSON. It holds everything that must be
 * remembered between the pages of one span, and never outlives it. Completed seconds are remembered as coverage.
 */
export interface Paginator<Cursor> {
  /** Maximum number of rows in one page. */
  readonly maxSize: number;
  /** True if all rows of a second come after the page before it, up to the page that completes it. */
  readonly wholeSeconds: boolean;
  start(span: Range, options?: StartOptions): Cursor;
  /** The paging parameters of the next request, for a page of at most `size` rows. */
  request(cursor: Cursor, size: number): Params & { readonly limit: number };
  /** Throws a BadResponseError if the page cannot be a response to the request. */
  next(cursor: Cursor, page: Page): Step<Cursor>;
  /**
   * The parameters of a request for some rows of one second, after its first `offset` rows; undefined if the
   * endpoint takes no offset. Omitted if a span cannot be read in parts.
   */
  readonly ofSecond?: (
    second: number,
    rows: { readonly offset: number; readonly limit: number },
  ) => (Params & { readonly limit: number }) | undefined;
}

/** A paginator for seconds that are written as a whole, or compared with stored rows as a whole. */
export type WholeSecondsPaginator<Cursor> = Paginator<Cursor> & { readonly wholeSeconds: true };

/** By how much a request may grow at once: a quiet period does not mean that the next one is quiet. */
const GROWTH = 8;

interface SeenDensity {
  /** Seconds of the last request. */
  readonly length: number;
  /** Seconds that its page completed, and the number of their rows. */
  readonly seconds: number;
  readonly rows: number;
  /** How many rows the next page should have. */
  readonly aim: number;
}

/** The length of the next request in seconds. */
export function nextLength({ length, seconds, rows, aim }: SeenDensity): number {
  return Math.min(GROWTH * length, (aim * seconds) / Math.max(1, rows));
}

/** An offset of a list, or a seqno, for which the server fails. */
export const Lacking = z.object({
  at: z.number(),
  /** Attempts so far. */
  tries: z.number(),
  /** Unix seconds before which it is not retried. */
  until: z.number(),
});

export type Lacking = z.infer<typeof Lacking>;

const FIRST_PAUSE = 60;
const LONGEST_PAUSE = 24 * 60 * 60;

/** Notes a failed attempt. The next one follows after a minute, then after twice as long each time, at most a day. */
export function withLacking(known: readonly Lacking[], at: number, now: number): Lacking[] {
  const tries = (known.find((one) => one.at === at)?.tries ?? 0) + 1;
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(tries - 1, 20));
  const others = known.filter((one) => one.at !== at);
  return [...others, { at, tries, until: now + pause }].sort((one, other) => one.at - other.at);
}
