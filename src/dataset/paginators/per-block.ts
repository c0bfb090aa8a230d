import type { SeqnoPaginator, Seqnos } from '../cursor-paginators.ts';

const BORDERS = 32;

export function perBlock({ param = 'seqno' }: { param?: string } = {}): SeqnoPaginator {
  return {
    start: (cursor) => cursor ?? { covered: [], borders: [] },
    missing: ({ covered }, wanted) => {
      let last = wanted.to - 1;
      for (const range of covered.toReversed()) {
        if (range.from <= last && last < range.to) last = range.from - 1;
      }
      return last >= wanted.from ? last : undefined;
    },
    request: (seqno) => ({ [param]: seqno }),
    next: (cursor, seqno) => ({ ...cursor, covered: withSeqno(cursor.covered, seqno) }),
    withBorder: (cursor, border) => ({
      ...cursor,
      borders: [border, ...cursor.borders.filter(({ utime }) => utime !== border.utime)].slice(0, BORDERS),
    }),
  };
}

/** Ascending ranges that neither overlap nor touch, with one seqno more. */
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
