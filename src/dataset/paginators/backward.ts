import type { Params } from './paginator.ts';

/** Where a transaction stands in its account's history. */
export interface HistoryPlace {
  readonly lt: string;
  readonly hash: string;
}

/**
 * Which part of an account's history is stored. Two parts can be: everything from `newest` down to `oldest`, and, while
 * what came later is read, everything from `top` down to `at`. An example with logical times alone, two records a page:
 *
 * | the account has | after | cursor | next request |
 * |---|---|---|---|
 * | 50 40 30 20 | nothing | all null | the newest |
 * | 50 40 30 20 | 50 40 | `{ newest: 50, oldest: 40 }` | from 40 down |
 * | 50 40 30 20 | 40 30, then 30 20, then 20 | `{ newest: 50, oldest: 20, complete: true }` | none |
 * | 80 70 60 50 … | 80 70 | `{ newest: 50, oldest: 20, top: 80, at: 70 }` | from 70 down to 50 |
 * | 80 70 60 50 … | 70 60, then 60 | `{ newest: 80, oldest: 20, complete: true }` | none |
 */
export interface BackwardCursor {
  /** The ends of what is stored without a break; null where nothing is. */
  readonly newest: HistoryPlace | null;
  readonly oldest: HistoryPlace | null;
  /** True once the account's first transaction, or the first that the servers keep, is stored. */
  readonly complete: boolean;
  /** The ends of what has been read of the part above `newest`; null where that part is not being read. */
  readonly top: HistoryPlace | null;
  readonly at: HistoryPlace | null;
}

export interface BackwardStep {
  readonly cursor: BackwardCursor;
  /** How many records at the page's beginning are repetitions of the one with which the last page ended. */
  readonly repeated: number;
  /** True where the newest transactions are stored and the beginning was reached: nothing is left to ask for. */
  readonly done: boolean;
}

/** Walks an account's history backwards: a value without state or I/O. */
export interface BackwardPaginator {
  readonly maxSize: number;
  start(cursor: BackwardCursor | undefined): BackwardCursor;
  request(cursor: BackwardCursor, phase: Phase, size: number): Params & { readonly limit: number };
  /** Which part to ask for next: first what is new, then what is old; undefined where both are done. */
  phase(cursor: BackwardCursor, headDone: boolean): Phase | undefined;
  next(cursor: BackwardCursor, phase: Phase, places: readonly HistoryPlace[], size: number): BackwardStep;
}

/** `head`: what is newer than all that is stored. `tail`: what is older. */
export type Phase = 'head' | 'tail';

const NOTHING: BackwardCursor = { newest: null, oldest: null, complete: false, top: null, at: null };

/** Records that the API gives at once. */
const MAX_SIZE = 100;

/**
 * The start of a page is inclusive, so each page but the first begins with the row that ended the last one; `to_lt` is
 * exclusive. A walk resumes from both ends: from the head down to what is stored, then from its oldest row on.
 */
export function newestFirst(): BackwardPaginator {
  return {
    maxSize: MAX_SIZE,
    start: (cursor) => cursor ?? NOTHING,
    phase(cursor, headDone) {
      if (!headDone) return 'head';
      return cursor.complete || cursor.oldest === null ? undefined : 'tail';
    },
    request(cursor, phase, size) {
      const from = phase === 'head' ? cursor.at : cursor.oldest;
      const until = phase === 'head' ? cursor.newest?.lt : undefined;
      return { limit: size, lt: from?.lt, hash: from?.hash, to_lt: until };
    },
    next: (cursor, phase, places, size) =>
      phase === 'head' ? afterHead(cursor, places, size) : afterTail(cursor, places),
  };
}

function repeatedIn(places: readonly HistoryPlace[], from: HistoryPlace | null): number {
  const [first] = places;
  return from !== null && first !== undefined && first.lt === from.lt ? 1 : 0;
}

/** A page that is not full has reached what is stored, or, where nothing is, the account's beginning. */
function afterHead(cursor: BackwardCursor, places: readonly HistoryPlace[], size: number): BackwardStep {
  const repeated = repeatedIn(places, cursor.at);
  const fresh = places.slice(repeated);
  const last = fresh.at(-1);
  const top = cursor.top ?? fresh[0] ?? null;
  if (cursor.newest === null) {
    // The first page of an account: what is older is the tail's business.
    if (last === undefined) return { cursor: { ...cursor, complete: true }, repeated, done: true };
    return { cursor: { ...NOTHING, newest: top, oldest: last }, repeated, done: true };
  }
  if (last !== undefined && places.length >= size)
    return { cursor: { ...cursor, top, at: last }, repeated, done: false };
  return { cursor: { ...cursor, newest: top ?? cursor.newest, top: null, at: null }, repeated, done: true };
}

/** No row tells what came before it: the beginning is reached where a page holds nothing but the row that it began with. */
function afterTail(cursor: BackwardCursor, places: readonly HistoryPlace[]): BackwardStep {
  const repeated = repeatedIn(places, cursor.oldest);
  const last = places.slice(repeated).at(-1);
  if (last === undefined) return { cursor: { ...cursor, complete: true }, repeated, done: true };
  return { cursor: { ...cursor, oldest: last }, repeated, done: false };
}
