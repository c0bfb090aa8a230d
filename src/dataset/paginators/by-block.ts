import type { Paginator } from './paginator.ts';
import type { Range } from '../../range.ts';

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
