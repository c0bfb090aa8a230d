import { expect, test } from 'vitest';
import { createSettling, type PollResult } from '../../../src/crawl/watermark/settling.ts';

const START = 1000;

/** What was seen in the 30 s before the first poll. */
const BEFORE = [30, 20, 10].map((ago) => ({ newest: START - ago, utime: START - ago - 10 }));

/** Polls of a chain that keeps up with our clock, each given by its second, newest block and watermark. */
function settle(
  polls: readonly (readonly [number, number, number])[],
  before: readonly PollResult[] = BEFORE,
) {
  const settling = createSettling(30, before);
  return polls.map(([at, newest, utime]) => settling.settle({ newest, utime }, at));
}

/** A chain whose watermark follows 10 s behind its newest block. */
const follows = (...seconds: number[]) => seconds.map((at) => [at, START + at, START + at - 10] as const);

test('a watermark that keeps up with the chain is given as it is', () => {
  const polls = follows(0, 10, 20, 30, 40, 50, 60);
  expect(settle(polls)).toEqual(polls.map(([, , utime]) => utime));
});

test('what a replica that lags 30 s may lack of a late block is not within 30 s of the watermark', () => {
  const held = [0, 10, 20, 30, 40, 50].map((at) => [at, START + at, 990] as const);
  // The late block appeared between newest 1050 and 1060: until 1090 a replica may stand before it.
  const given = settle([...held, ...follows(60, 70, 80, 90, 100)]);
  expect(given).toEqual([990, 990, 990, 990, 990, 990, 1020, 1020, 1020, 1080, 1090]);
});

test('after a silence nobody knows which blocks came late: what is new is held back until it has been visible for 30 s', () => {
  expect(settle(follows(0, 10, 300, 310, 320, 330, 340))).toEqual([990, 1000, 1030, 1030, 1030, 1320, 1330]);
});

test('a head that stands still is passed after 30 s of our clock, and not before', () => {
  const still = [300, 310, 320, 329, 330, 400].map((at) => [at, 1300, 1290] as const);
  expect(settle([...follows(0), ...still])).toEqual([990, 1020, 1020, 1020, 1020, 1290, 1290]);
});

test('a process goes on from the polls of the one before it, also where that one held back', () => {
  const all = [...follows(0, 10), ...follows(100, 110, 120, 130, 140)];
  for (let restart = 1; restart < all.length; restart += 1) {
    const first = createSettling(30, BEFORE);
    const given = all.slice(0, restart).map(([at, newest, utime]) => first.settle({ newest, utime }, at));
    // Another process has another clock.
    const rest = all.slice(restart).map(([at, newest, utime]) => [at - 5000, newest, utime] as const);
    expect([...given, ...settle(rest, first.polls())]).toEqual([990, 1000, 1030, 1030, 1030, 1120, 1130]);
  }
});

test('after a restart before a head that stands still, 30 s of the new process are waited for', () => {
  const still = [7000, 7010, 7029, 7030].map((at) => [at, 1300, 1290] as const);
  expect(settle(still, [{ newest: 1000, utime: 990 }])).toEqual([1020, 1020, 1020, 1290]);
});

test('of a chain that nobody has polled, what is near its head is held back until it has been visible for 30 s', () => {
  // A late block may have come just before the first poll: of the last five minutes nothing is within 30 s of this.
  expect(settle(follows(0, 10, 20, 30, 40), [])).toEqual([730, 730, 730, 1020, 1030]);
  // One that is missing at first is late for whoever reads then, too.
  expect(settle([[0, 1000, 600], ...follows(10, 20, 30, 40)], [])).toEqual([600, 630, 630, 630, 1030]);
});

test('it says when another poll lets more pass: when what was seen first has been visible for 30 s', () => {
  const settling = createSettling(30, BEFORE);
  const due = (at: number, newest: number, utime: number) => {
    settling.settle({ newest, utime }, at);
    return settling.dueAt();
  };
  expect(due(0, 1000, 990)).toBe(undefined);
  // What another process saw has no time of our clock.
  expect(due(9, 1009, 999)).toBe(undefined);
  expect(due(30, 1030, 1020)).toBe(undefined);
  // The poll of 9 s is 31 s old: 1 s is held back until that of 30 s has been visible for long enough.
  expect(due(40, 1040, 1030)).toBe(60);
  expect(due(60, 1060, 1050)).toBe(undefined);
  // A late block is missing, and comes.
  expect(due(70, 1070, 1050)).toBe(undefined);
  expect(due(100, 1100, 1050)).toBe(undefined);
  expect(due(104, 1104, 1094)).toBe(134);
  expect(due(134, 1134, 1124)).toBe(undefined);
});

test('it never falls, and without a delay nothing is held back', () => {
  const settling = createSettling(0, [{ newest: 1000, utime: 990 }]);
  expect(settling.settle({ newest: 1300, utime: 1290 }, 0)).toBe(1290);
  expect(settling.settle({ newest: 1300, utime: 1200 }, 1)).toBe(1290);
});
