import * as z from 'zod';
import { DAY } from '../../range.ts';
import { Lacking, withLacking } from './paginator.ts';

/**
 * How far a list has been read. An example of a list of 2500 records, read in pages of 1000 (`end` and
 * `beyond` omitted if unchanged):
 *
 * | after | cursor | next request |
 * |---|---|---|
 * | nothing | `{ at: 0, end: 0, round: true, ended: null }` | offset 0 |
 * | 1000 records | `{ at: 1000, end: 1000, round: true }` | offset 1000 |
 * | 500 records at offset 2000 | `{ at: 3000, end: 2500, round: true }` | offset 3000 |
 * | no record at offset 3000 | `{ at: 3000, end: 2500, round: false, ended: 1760000000 }` | none: the round is over |
 * | the next poll | `{ at: 2500, end: 2500, round: false }` | offset 2500: what was appended |
 * | a day later | `{ at: 0, end: 0, round: true }` | offset 0: a new round |
 */
export const OffsetCursor = z.object({
  /** Offset of the next request. */
  at: z.number(),
  /** Offset after the last record so far: appended records have this offset or a greater one. */
  end: z.number(),
  /** True while the whole list is read; false if only appended records are requested. */
  round: z.boolean(),
  /** Unix seconds at which the last complete round ended; null before the first. */
  ended: z.number().nullable(),
  /**
   * The offset at which the server failed even for a small page: the rest cannot be read. Null if that never happened.
   */
  beyond: z.number().nullable(),
  /** Rows that the server does not serve. */
  lacking: z.array(Lacking).default([]),
});

export type OffsetCursor = z.infer<typeof OffsetCursor>;
export type OffsetStep = ReturnType<typeof offset.next>;

const START: OffsetCursor = { at: 0, end: 0, round: true, ended: null, beyond: null, lacking: [] };

/**
 * Reads a list by offset: a value without state or I/O. Advances by the requested limit and not by the received records. Some servers drop records of a page after
 * they have cut it, so a short page is not the end, but an empty one is. A poll of the end is one request: a
 * short page ends it, and the next poll requests later rows.
 */
export const offset = {
  /** Maximum number of records in a response. */
  maxSize: 1000,
  /** Seconds between two readings of the whole list. */
  rescanSeconds: DAY,
  /** Seconds between two checks for appended rows. */
  everySeconds: 300,
  /**
   * The start of a poll. An unfinished round continues. A finished one is followed by a poll of the list's end or,
   * `rescanSeconds` after it ended, by a new round. Undefined if the end cannot be read. `now`: unix seconds.
   */
  start(cursor: OffsetCursor | undefined, now: number): OffsetCursor | undefined {
    if (cursor === undefined) return START;
    if (cursor.round) return cursor;
    if (now - (cursor.ended ?? 0) >= offset.rescanSeconds)
      return { ...START, ended: cursor.ended, lacking: cursor.lacking };
    return cursor.beyond === null ? { ...cursor, at: cursor.end } : undefined;
  },
  request: (cursor: OffsetCursor, size: number) => ({ limit: size, offset: cursor.at }),
  /**
   * Advances after a page of `records` records, of which `limit` were requested. `done`: at the end of the list,
   * nothing is requested until the next poll.
   */
  next(
    cursor: OffsetCursor,
    limit: number,
    records: number,
    now: number,
  ): { readonly cursor: OffsetCursor; readonly done: boolean } {
    if (records === 0)
      return { cursor: { ...cursor, round: false, ended: cursor.round ? now : cursor.ended }, done: true };
    const end = cursor.at + records;
    const next = { ...cursor, at: cursor.at + limit, end: Math.max(cursor.end, end) };
    return { cursor: next, done: !cursor.round && records < limit };
  },
  /** Continues after a row that the server does not serve. */
  pass: (cursor: OffsetCursor, now: number): OffsetCursor => ({
    ...cursor,
    at: cursor.at + 1,
    end: Math.max(cursor.end, cursor.at + 1),
    lacking: withLacking(cursor.lacking, cursor.at, now),
  }),
  /** Ends the round if the server fails even for a small page. */
  giveUp: (cursor: OffsetCursor, now: number): OffsetCursor => ({
    ...cursor,
    round: false,
    ended: now,
    beyond: cursor.at,
  }),
};
