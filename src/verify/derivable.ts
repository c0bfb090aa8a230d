import { lengthOf, type Range, without } from '../range.ts';

/** More holes than this share of a span, and reading them one by one costs more than the span. */
const MOST_HOLES = 1 / 5;

/** Seconds whose rows are all there, and how many they are. */
export interface CountedSpan {
  readonly span: Range;
  readonly rows: number;
}

/**
 * Which stretches need not be read. One of less than a page between two holes is read along with them, by one request
 * instead of two; a span that is then more than a fifth holes is read whole, because each hole costs a request and a
 * range of coverage of its own.
 */
export function worthKeeping(span: Range, stretches: readonly CountedSpan[], pageSize: number): Range[] {
  const kept = stretches
    .filter(({ span: { from, to }, rows }) => rows >= pageSize || from === span.from || to === span.to)
    .map((stretch) => stretch.span);
  const holes = without([span], kept);
  return lengthOf(holes) > lengthOf([span]) * MOST_HOLES ? [] : kept;
}
