import { lengthOf, type Range, without } from '../range.ts';

/** If holes are a larger share of a span than this, reading each of them costs more than reading the span. */
const MOST_HOLES = 1 / 5;

/** Seconds whose rows are all stored, and their number. */
export interface CountedSpan {
  readonly span: Range;
  readonly rows: number;
}

/**
 * The stretches that need not be read. A stretch of less than a page between two holes is read along with them, by one
 * request instead of two. If more than a fifth of the span then consists of holes, it is read as a whole, because each
 * hole costs a request and a range of coverage.
 */
export function worthKeeping(span: Range, stretches: readonly CountedSpan[], pageSize: number): Range[] {
  const kept = stretches
    .filter(({ span: { from, to }, rows }) => rows >= pageSize || from === span.from || to === span.to)
    .map((stretch) => stretch.span);
  const holes = without([span], kept);
  return lengthOf(holes) > lengthOf([span]) * MOST_HOLES ? [] : kept;
}
