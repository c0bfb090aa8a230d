import * as z from 'zod';

/** The position of a transaction in its account's history. */
const HistoryPosition = z.object({ lt: z.string(), hash: z.string() });

export type HistoryPosition = z.infer<typeof HistoryPosition>;

/**
 * The stored parts of an account's history: everything from `newest` down to `oldest` and, while newer
 * transactions are read, everything from `top` down to `at`. An example with logical times only, two records
 * a page:
 *
 * | the account has | after | cursor | next request |
 * |---|---|---|---|
 * | 50 40 30 20 | nothing | all null | the newest |
 * | 50 40 30 20 | 50 40 | `{ newest: 50, oldest: 40 }` | from 40 down |
 * | 50 40 30 20 | 40 30, then 30 20, then 20 | `{ newest: 50, oldest: 20, complete: true }` | none |
 * | 80 70 60 50 … | 80 70 | `{ newest: 50, oldest: 20, top: 80, at: 70 }` | from 70 down to 50 |
 * | 80 70 60 50 … | 70 60, then 60 | `{ newest: 80, oldest: 20, complete: true }` | none |
 */
const Cursor = z.object({
  /** The ends of the contiguous stored part; null if nothing is stored. */
  newest: HistoryPosition.nullable(),
  oldest: HistoryPosition.nullable(),
  /** True once the account's first transaction, or the first one that the servers keep, is stored. */
  complete: z.boolean(),
  /** The ends of the part above `newest` that is being read; null if it is not being read. */
  top: HistoryPosition.nullable(),
  at: HistoryPosition.nullable(),
});

export type BackwardCursor = z.infer<typeof Cursor>;

/** `head`: newer than all stored transactions. `tail`: older. */
type Phase = 'head' | 'tail';

const NOTHING: BackwardCursor = { newest: null, oldest: null, complete: false, top: null, at: null };

/**
 * Walks an account's history backwards: a value without state or I/O. The start of a page is inclusive, so each page but the first begins with the last row of the page before; `to_lt` is
 * exclusive. A walk resumes from both ends: from the head down to the stored part, then from its oldest row on.
 */
export const newestFirst = {
  /** Maximum number of records in a response. */
  maxSize: 100,
  start: (stored: unknown): BackwardCursor => Cursor.safeParse(stored).data ?? NOTHING,
  /** The part to request next: new transactions first, then old ones; undefined if both are done. */
  phase(cursor: BackwardCursor, headDone: boolean): Phase | undefined {
    if (!headDone) return 'head';
    return cursor.complete || cursor.oldest === null ? undefined : 'tail';
  },
  request(cursor: BackwardCursor, phase: Phase, size: number) {
    const from = phase === 'head' ? cursor.at : cursor.oldest;
    const until = phase === 'head' ? cursor.newest?.lt : undefined;
    return { limit: size, lt: from?.lt, hash: from?.hash, to_lt: until };
  },
  next: (cursor: BackwardCursor, phase: Phase, positions: readonly HistoryPosition[], size: number) =>
    phase === 'head' ? afterHead(cursor, positions, size) : afterTail(cursor, positions),
};

/** How many records at the page's start repeat the end of the last page. */
function repeatedIn(positions: readonly HistoryPosition[], from: HistoryPosition | null): number {
  const [first] = positions;
  return from !== null && first !== undefined && first.lt === from.lt ? 1 : 0;
}

/**
 * If a page is not full, it has reached the stored part or, if nothing is stored, the account's beginning. `done`: the
 * newest transactions are stored.
 */
function afterHead(
  cursor: BackwardCursor,
  positions: readonly HistoryPosition[],
  size: number,
): { readonly cursor: BackwardCursor; readonly done: boolean } {
  const newRows = positions.slice(repeatedIn(positions, cursor.at));
  const last = newRows.at(-1);
  const top = cursor.top ?? newRows[0] ?? null;
  if (cursor.newest === null) {
    // The first page of an account. The tail reads older transactions.
    if (last === undefined) return { cursor: { ...cursor, complete: true }, done: true };
    return { cursor: { ...NOTHING, newest: top, oldest: last }, done: true };
  }
  if (last !== undefined && positions.length >= size)
    return { cursor: { ...cursor, top, at: last }, done: false };
  return { cursor: { ...cursor, newest: top ?? cursor.newest, top: null, at: null }, done: true };
}

/**
 * No row shows whether an earlier one exists. The beginning is reached if a page contains only the row with
 * which it began.
 */
function afterTail(cursor: BackwardCursor, positions: readonly HistoryPosition[]) {
  const last = positions.slice(repeatedIn(positions, cursor.oldest)).at(-1);
  if (last === undefined) return { cursor: { ...cursor, complete: true }, done: true };
  return { cursor: { ...cursor, oldest: last }, done: false };
}
