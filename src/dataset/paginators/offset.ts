import type { Params } from '../paginator.ts';

/** How far a list has been read. */
export interface OffsetCursor {
  /** Where to ask next. */
  readonly at: number;
  /** Behind the last record that came: what is appended from now on lies there or beyond. */
  readonly end: number;
  /** True while the whole list is read; false: only what was appended is asked for. */
  readonly round: boolean;
  /** Unix seconds at which the last whole round ended; null before one has. */
  readonly ended: number | null;
  /** The offset at which the server gave up though asked for little: what lies beyond is out of reach. Else null. */
  readonly beyond: number | null;
}

export interface OffsetStep {
  readonly cursor: OffsetCursor;
  /** True at the list's end: there is nothing to ask for until later. */
  readonly done: boolean;
}

/** Reads a list by offset: a value without state or I/O, cursor in, cursor out. */
export interface OffsetPaginator {
  /** The most records that one page may be asked for. */
  readonly maxSize: number;
  /**
   * Where a look at the list begins: an unfinished round goes on, a finished one is followed by a look at its end, or,
   * `rescan` seconds after it ended, by a new one. Undefined where the end is out of reach. `now`: unix seconds.
   */
  start(cursor: OffsetCursor | undefined, now: number, rescan: number): OffsetCursor | undefined;
  request(cursor: OffsetCursor, size: number): Params & { readonly limit: number; readonly offset: number };
  /** After a page of so many records where `limit` were asked for. */
  next(cursor: OffsetCursor, limit: number, records: number, now: number): OffsetStep;
  /** The server cannot go further, however little it is asked for: the round ends here. */
  giveUp(cursor: OffsetCursor, now: number): OffsetCursor;
}

const FRESH: OffsetCursor = { at: 0, end: 0, round: true, ended: null, beyond: null };

/**
 * Advances by the limit that was asked for, not by the records received: some servers drop records of a page after they
 * have cut it, so a short page is not the end; an empty one is. A look at the end alone is one request: a short page
 * ends it, and what may lie behind is asked for by the next look.
 */
export function offset({ maxSize = 1000 }: { maxSize?: number } = {}): OffsetPaginator {
  return {
    maxSize,
    start(cursor, now, rescan) {
      if (cursor === undefined) return FRESH;
      if (cursor.round) return cursor;
      if (now - (cursor.ended ?? 0) >= rescan) return { ...FRESH, ended: cursor.ended };
      return cursor.beyond === null ? { ...cursor, at: cursor.end } : undefined;
    },
    request: (cursor, size) => ({ limit: size, offset: cursor.at }),
    next(cursor, limit, records, now) {
      if (records === 0)
        return { cursor: { ...cursor, round: false, ended: cursor.round ? now : cursor.ended }, done: true };
      const end = cursor.at + records;
      const next = { ...cursor, at: cursor.at + limit, end: Math.max(cursor.end, end) };
      return { cursor: next, done: !cursor.round && records < limit };
    },
    giveUp: (cursor, now) => ({ ...cursor, round: false, ended: now, beyond: cursor.at }),
  };
}
