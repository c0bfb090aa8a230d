import * as z from 'zod';
import { Lacking, withLacking, type Paginator } from './paginator.ts';
import type { Range } from '../../range.ts';

/** Seqnos of masterchain blocks, half-open. */
const Seqnos = z.object({ from: z.number(), to: z.number() });

export type Seqnos = z.infer<typeof Seqnos>;

/** The first masterchain block at or after a second of chain time. */
const Border = z.object({ utime: z.number(), seqno: z.number() });

/**
 * The masterchain blocks that have been read. Example: blocks 100 to 104 are wanted. After 104 and 103
 * `covered` is `[{ from: 103, to: 105 }]`, so 102 comes next. If 100 was read earlier, it is `[{ from: 100,
 * to: 101 }, { from: 103, to: 105 }]`. After 102 and 101 there is one range.
 */
const Cursor = z.object({
  /** Ascending ranges that neither overlap nor touch. */
  covered: z.array(Seqnos),
  /** The borders that were looked up last. */
  borders: z.array(Border),
  /** Blocks for which the server fails. */
  lacking: z.array(Lacking).default([]),
});

export type SeqnoCursor = z.infer<typeof Cursor>;

const BORDERS = 32;

/** Reads one masterchain block a request: a value without state or I/O. */
export const seqnos = {
  start: (stored: unknown): SeqnoCursor =>
    Cursor.safeParse(stored).data ?? { covered: [], borders: [], lacking: [] },
  /** The newest missing block; undefined if none is missing. */
  missing: ({ covered }: SeqnoCursor, wanted: Seqnos): number | undefined => {
    let last = wanted.to - 1;
    for (const range of covered.toReversed()) {
      if (range.from <= last && last < range.to) last = range.from - 1;
    }
    return last >= wanted.from ? last : undefined;
  },
  next: (cursor: SeqnoCursor, seqno: number): SeqnoCursor => ({
    ...cursor,
    covered: withSeqno(cursor.covered, seqno),
    lacking: cursor.lacking.filter(({ at }) => at !== seqno),
  }),
  /** Remembers that the server failed for a block. */
  pass: (cursor: SeqnoCursor, seqno: number, now: number): SeqnoCursor => ({
    ...cursor,
    lacking: withLacking(cursor.lacking, seqno, now),
  }),
  /** Remembers the block at a second of chain time. */
  withBorder: (cursor: SeqnoCursor, border: z.infer<typeof Border>): SeqnoCursor => ({
    ...cursor,
    borders: [border, ...cursor.borders.filter(({ utime }) => utime !== border.utime)].slice(0, BORDERS),
  }),
};

/** Ascending ranges that neither overlap nor touch, with one more seqno. */
function withSeqno(covered: readonly Seqnos[], seqno: number): Seqnos[] {
  const before = covered.filter(({ to }) => to < seqno);
  const after = covered.filter(({ from }) => from > seqno + 1);
  const touching = covered.filter(({ from, to }) => to >= seqno && from <= seqno + 1);
  const merged = {
    from: Math.min(seqno, ...touching.map(({ from }) => from)),
    to: Math.max(seqno + 1, ...touching.map(({ to }) => to)),
  };
  return [...before, merged, ...after];
}

export interface ByBlockCursor {
  readonly span: Range;
  /** Remaining masterchain blocks, ascending; the first one is being read. */
  readonly seqnos: readonly number[];
  /** Records of the first block that were read. */
  readonly skip: number;
}

/**
 * Reads a span through the masterchain blocks that register its records, one after the other. For endpoints
 * that take a block's number, `limit` and `offset`, and whose responses never change. Only the last block
 * completes the span. `seqnosOf` must return at least one block. Records of other seconds do no harm.
 */
export function byBlock(
  seqnosOf: (span: Range) => readonly number[],
  { param, maxSize }: { readonly param: string; readonly maxSize: number },
): Paginator<ByBlockCursor> {
  return {
    maxSize,
    wholeSeconds: true,
    start: (span) => ({ span, seqnos: seqnosOf(span), skip: 0 }),
    request: ({ seqnos: [seqno], skip }, size) => ({
      [param]: seqno,
      limit: size,
      offset: skip,
      sort: 'asc',
    }),
    next: ({ span, seqnos, skip }, { positions, size }) => {
      if (positions.length >= size)
        return { completed: undefined, cursor: { span, seqnos, skip: skip + positions.length } };
      const rest = seqnos.slice(1);
      return rest.length === 0
        ? { completed: span, cursor: undefined }
        : { completed: undefined, cursor: { span, seqnos: rest, skip: 0 } };
    },
  };
}
