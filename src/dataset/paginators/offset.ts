import type { OffsetCursor, OffsetPaginator } from '../cursor-paginators.ts';

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
