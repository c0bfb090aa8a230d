import { expect, test } from 'vitest';
import { createSettling, type PollResult } from '../../../src/crawl/watermark/settling.ts';

const settle = (polls: readonly PollResult[], before?: PollResult) => polls.map(createSettling(30, before));

test('a watermark that keeps up with the chain is given as it is, also where it limps a little', () => {
  const polls = [0, 10, 20, 30, 40, 50, 60].map((at) => ({
    newest: 1000 + at,
    utime: 990 + at - (at % 20) / 4,
  }));
  expect(settle(polls)).toEqual(polls.map(({ utime }) => utime));
});

test('after a jump, what a replica that lags 30 s may lack is not within 30 s of the watermark', () => {
  const held = [0, 10, 20, 30, 40, 50].map((at) => ({ newest: 1000 + at, utime: 990 }));
  const after = [60, 70, 80, 90, 100].map((at) => ({ newest: 1000 + at, utime: 1000 + at - 10 }));
  // The late block appeared between newest 1050 and 1060: until 1090 a replica may stand before it.
  expect(settle([...held, ...after])).toEqual([990, 990, 990, 990, 990, 990, 1020, 1020, 1020, 1080, 1090]);
});

test('what another process saw last counts as long as it is fresh', () => {
  const now = { newest: 1100, utime: 1090 };
  expect(settle([now], { newest: 1090, utime: 1000 })).toEqual([1030]);
  expect(settle([now], { newest: 1000, utime: 900 })).toEqual([1090]);
  expect(settle([now])).toEqual([1090]);
});

test('what another process saw last counts until 30 s have passed since the jump, however many polls there are', () => {
  const now = [1100, 1121, 1129, 1131].map((newest) => ({ newest, utime: newest - 10 }));
  expect(settle(now, { newest: 1090, utime: 1000 })).toEqual([1030, 1030, 1030, 1121]);
});
