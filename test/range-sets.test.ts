import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { common, partsOf, type Range, stretchesOf, union, without } from '../src/range.ts';

const ranges = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 12 })).map(([from, length]): Range => ({
    from,
    to: from + length,
  })),
  { maxLength: 8 },
);

/** The seconds of ranges, one by one. */
function seconds(list: readonly Range[]): Set<number> {
  return new Set(
    list.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index)),
  );
}

function isTidy(list: readonly Range[]): boolean {
  return list.every(({ from, to }, index) => from < to && from > (list[index - 1]?.to ?? -1));
}

describe('ranges as sets of seconds', () => {
  test('union has the seconds of either', () => {
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        expect(seconds(union(a, b))).toEqual(new Set([...seconds(a), ...seconds(b)].sort((x, y) => x - y)));
        expect(isTidy(union(a, b))).toBe(true);
      }),
    );
  });

  test('common has the seconds of both', () => {
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        const other = seconds(b);
        expect(seconds(common(a, b))).toEqual(new Set([...seconds(union(a))].filter((s) => other.has(s))));
        expect(isTidy(common(a, b))).toBe(true);
      }),
    );
  });

  test('without has the seconds of the first alone', () => {
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        const other = seconds(b);
        expect(seconds(without(a, b))).toEqual(new Set([...seconds(union(a))].filter((s) => !other.has(s))));
      }),
    );
  });
});

test('close ranges are parts of one, and the seconds between them do not count', () => {
  const [a, b, c] = [
    { from: 0, to: 10 },
    { from: 15, to: 20 },
    { from: 26, to: 30 },
  ];
  expect(stretchesOf([c, a, b], 5)).toEqual([{ from: 0, to: 20, parts: [a, b] }, c]);
  expect(stretchesOf([a, b, c], 4)).toEqual([a, b, c]);
  expect(stretchesOf([a, b, c], Infinity)).toEqual([{ from: 0, to: 30, parts: [a, b, c] }]);
  expect(stretchesOf([], Infinity)).toEqual([]);
  expect(stretchesOf([a, b, c], Infinity).flatMap(partsOf)).toEqual([a, b, c]);
});
