import { expect, test } from 'vitest';
import { createSettling, type Sight } from '../../../src/crawl/watermark/settling.ts';

const tell = (sights: readonly Sight[], before?: Sight) => sights.map(createSettling(before));

test('a watermark that keeps up with the chain is told as it is, also where it limps a little', () => {
  const sights = [0, 10, 20, 30, 40, 50, 60].map((at) => ({
    newest: 1000 + at,
    utime: 990 + at - (at % 20) / 4,
  }));
  expect(tell(sights)).toEqual(sights.map(({ utime }) => utime));
});

test('after a jump, what a replica that lags 30 s may lack is not within 30 s of what is told', () => {
  const held = [0, 10, 20, 30, 40, 50].map((at) => ({ newest: 1000 + at, utime: 990 }));
  const after = [60, 70, 80, 90, 100].map((at) => ({ newest: 1000 + at, utime: 1000 + at - 10 }));
  // The late block appeared between newest 1050 and 1060: until 1090 a replica may stand before it.
  expect(tell([...held, ...after])).toEqual([990, 990, 990, 990, 990, 990, 1020, 1020, 1020, 1080, 1090]);
});

test('what another process saw last counts as long as it is fresh', () => {
  const now = { newest: 1100, utime: 1090 };
  expect(tell([now], { newest: 1090, utime: 1000 })).toEqual([1030]);
  expect(tell([now], { newest: 1000, utime: 900 })).toEqual([1090]);
  expect(tell([now])).toEqual([1090]);
});

test('what another process saw last counts until 30 s have passed since the jump, however many looks there are', () => {
  const now = [1100, 1121, 1129, 1131].map((newest) => ({ newest, utime: newest - 10 }));
  expect(tell(now, { newest: 1090, utime: 1000 })).toEqual([1030, 1030, 1030, 1121]);
});
