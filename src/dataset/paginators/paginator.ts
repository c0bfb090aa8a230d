import type { Range } from '../../range.ts';

/** A query parameter; an array becomes repeated keys. */
export type Param = string | number | boolean | readonly string[] | undefined;
export type Params = Readonly<Record<string, Param>>;

/** Where a record lies: seconds of chain time, logical time, and what tells it from its neighbours. */
export interface Position {
  readonly utime: number;
  readonly lt: string;
  readonly id: string;
}

/** One response as a paginator sees it. */
export interface Page {
  /** The limit that was asked for: a page with fewer rows is short. */
  readonly size: number;
  /** True where more was asked for, and the page counts as full because it may have been cut. */
  readonly isDoubted?: boolean;
  /** The records' positions in the order received. */
  readonly positions: readonly Position[];
  /** End of the seconds that were asked for, exclusive, where the paginator narrows its requests. */
  readonly until?: number;
  /** For endpoints whose 200 may be cut short. Undefined where a short page can be trusted. */
  readonly joins?: Joins;
  /** The window (both ends inclusive, unix seconds) that the response says it answers, where its endpoint echoes one. */
  readonly echo?: Echo;
}

/** What a page's records themselves show of what is missing. */
export interface Joins {
  /** The second before which nothing is missing. */
  readonly until: number;
  /** The first second of which the page certainly lacks what follows, though it holds what is later still. */
  readonly gapAt?: number;
  /** What records of the page follow from and the page lacks: what lies before it has them, unless the source has a gap. */
  readonly before?: readonly Predecessor[];
}

/** A block that a record of a page names as one before it. */
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

/** What to do after a page. */
export interface Step<Cursor> {
  /** Seconds that this page (with those before it) completes: always a prefix of what was left of the span. */
  readonly completed: Range | undefined;
  /** A second inside the span that cannot be read whole; the cursor has gone past it. */
  readonly saturated?: Range;
  /** Where to go on; undefined when the span is done. */
  readonly cursor: Cursor | undefined;
}

/**
 * Which page comes next: a value without state or I/O. A cursor is plain JSON, holds all that must be remembered
 * between pages of one span, and never outlives it: what is done is remembered as coverage.
 */
export interface Paginator<Cursor> {
  /** The most rows that one page may be asked for. */
  readonly maxSize: number;
  /** True where all rows of a second come between the page before it and the page that completes it. */
  readonly wholeSeconds: boolean;
  /** `alone`: nothing beyond the span is asked for with it, at first: what lies there may not be served. */
  start(span: Range, alone?: boolean): Cursor;
  /** The paging parameters of the next request, for a page of at most `size` rows. */
  request(cursor: Cursor, size: number): Params & { readonly limit: number };
  /** Throws a BadResponseError where the page cannot be a response to the request. */
  next(cursor: Cursor, page: Page): Step<Cursor>;
  /**
   * The parameters of a request for some rows of one second, behind the first `offset` of them; undefined where the endpoint
   * takes no offset. Left out where a span cannot be read in parts.
   */
  readonly ofSecond?: (
    second: number,
    rows: RowsOfSecond,
  ) => (Params & { readonly limit: number }) | undefined;
}

interface RowsOfSecond {
  readonly offset: number;
  readonly limit: number;
}

/** What seconds that are written, or held against stored rows, as a whole are read with. */
export type WholeSecondsPaginator<Cursor> = Paginator<Cursor> & { readonly wholeSeconds: true };
