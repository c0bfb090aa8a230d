import { expect, test } from 'vitest';
import { createFinalityDelay, type PollResult } from '../../../src/crawl/watermark/finality-delay.ts';

const START = 1000;

/** What was seen in the 30 s before the first poll. */
const BEFORE = [30, 20, 10].map((ago) => ({ newest: START - ago, utime: START - ago - 10 }));

/** Polls of a chain that keeps up with our clock, each given by its second, newest block and watermark. */
function watermarksOf(
  polls: readonly (readonly [number, number, number])[],
  before: readonly PollResult[] = BEFORE,
) {
  const settling = createFinalityDelay(30, before);
  return polls.map(([at, newest, utime]) => settling.addPoll({ newest, utime }, at).utime);
}

/** A chain whose watermark is 10 s behind its newest block. */
const follows = (...seconds: number[]) => seconds.map((at) => [at, START + at, START + at - 10] as const);

test('a watermark that keeps up with the chain is reported unchanged', () => {
  const polls = follows(0, 10, 20, 30, 40, 50, 60);
  expect(watermarksOf(polls)).toEqual(polls.map(([, , utime]) => utime));
});

test('what a replica that lags 30 s may lack of a late block is not within 30 s of the watermark', () => {
  const held = [0, 10, 20, 30, 40, 50].map((at) => [at, START + at, 990] as const);
  // The late block appeared between newest 1050 and 1060: until 1090 a replica may not have it.
  const given = watermarksOf([...held, ...follows(60, 70, 80, 90, 100)]);
  expect(given).toEqual([990, 990, 990, 990, 990, 990, 1020, 1020, 1020, 1080, 1090]);
});

test('after a silence it is unknown which blocks came late: new blocks are held back until they have been visible for 30 s', () => {
  expect(watermarksOf(follows(0, 10, 300, 310, 320, 330, 340))).toEqual([
    990, 1000, 1030, 1030, 1030, 1320, 1330,
  ]);
});

test('a head that does not move is passed after 30 s of our clock, and not before', () => {
  const still = [300, 310, 320, 329, 330, 400].map((at) => [at, 1300, 1290] as const);
  expect(watermarksOf([...follows(0), ...still])).toEqual([990, 1020, 1020, 1020, 1020, 1290, 1290]);
});

test('a process continues from the polls of the previous one, even if that one held back', () => {
  const all = [...follows(0, 10), ...follows(100, 110, 120, 130, 140)];
  for (let restart = 1; restart < all.length; restart += 1) {
    const first = createFinalityDelay(30, BEFORE);
    const given = all
      .slice(0, restart)
      .map(([at, newest, utime]) => first.addPoll({ newest, utime }, at).utime);
    // Another process has another clock.
    const rest = all.slice(restart).map(([at, newest, utime]) => [at - 5000, newest, utime] as const);
    expect([...given, ...watermarksOf(rest, first.polls())]).toEqual([
      990, 1000, 1030, 1030, 1030, 1120, 1130,
    ]);
  }
});

test('after a restart at a head that does not move, the new process waits 30 s', () => {
  const still = [7000, 7010, 7029, 7030].map((at) => [at, 1300, 1290] as const);
  expect(watermarksOf(still, [{ newest: 1000, utime: 990 }])).toEqual([1020, 1020, 1020, 1290]);
});

test('of a chain that was not polled yet, what is near its head is held back until it has been visible for 30 s', () => {
  // A late block may have come just before the first poll: nothing of the last five minutes is within 30 s of
  // this.
  expect(watermarksOf(follows(0, 10, 20, 30, 40), [])).toEqual([730, 730, 730, 1020, 1030]);
  // A block that is missing at first is late for a process that reads then, too.
  expect(watermarksOf([[0, 1000, 600], ...follows(10, 20, 30, 40)], [])).toEqual([600, 630, 630, 630, 1030]);
});

test('a block that does not follow from the head releases nothing, but dates the watermark that is found with it', () => {
  const settling = createFinalityDelay(30, BEFORE);
  const everywhere = (at: number, newest: number, utime: number, seen = newest) =>
    settling.addPoll({ newest, utime, seen }, at).everywhere;
  expect(everywhere(0, 1000, 990)).toBe(960);
  expect(everywhere(10, 1010, 1000, 4000)).toBe(970);
  expect(everywhere(11, 1011, 1001)).toBe(970);
  // This goes by our clock: what the newest block has gained since is not known.
  expect([everywhere(39, 1039, 1001), everywhere(41, 1041, 1001)]).toEqual([990, 1001]);
  // A masterchain block is missing, and a late block comes as late as 1075: until 1105 a replica may lack it.
  expect(everywhere(75, 1041, 1031, 1075)).toBe(1001);
  expect(everywhere(78, 1078, 1068)).toBe(1001);
  expect([everywhere(100, 1104, 1090), everywhere(101, 1105, 1091)]).toEqual([1001, 1031]);
});

test('it says when more passes without another poll: when what was seen first has been visible for 30 s', () => {
  const settling = createFinalityDelay(30, BEFORE);
  const due = (at: number, newest: number, utime: number) => {
    settling.addPoll({ newest, utime }, at);
    return settling.dueAt();
  };
  expect(due(0, 1000, 990)).toBe(30);
  expect(due(9, 1009, 999)).toBe(30);
  // A poll of another process has no time by our clock, and by the chain's time its blocks have been visible
  // for long enough.
  expect(due(30, 1030, 1020)).toBe(39);
  expect(due(40, 1040, 1030)).toBe(60);
  expect(due(60, 1060, 1050)).toBe(70);
  // A late block is missing, and comes.
  expect(due(70, 1070, 1050)).toBe(90);
  expect(due(100, 1100, 1050)).toBe(undefined);
  expect(due(104, 1104, 1094)).toBe(134);
  expect(due(134, 1134, 1124)).toBe(164);
});

test('every replica shows what was below the watermark 30 s ago, wherever the watermark is today', () => {
  const settling = createFinalityDelay(30, [{ newest: 990, utime: 980 }]);
  const everywhere = (at: number, newest: number, utime: number) =>
    settling.addPoll({ newest, utime }, at).everywhere;
  expect([everywhere(0, 1000, 999), everywhere(15, 1015, 1000)]).toEqual([969, 970]);
  expect(settling.release(29.9).everywhere).toBe(970);
  // A shard lags: the watermark is 1000, and what is below 999 was there 30 s ago.
  expect(everywhere(30, 1030, 1000)).toBe(999);
  expect(settling.release(44.9).everywhere).toBe(999);
  expect(settling.release(45)).toEqual({ utime: 1000, everywhere: 1000 });
  // A late block comes, and with it all blocks that waited for it: none of them passes at once.
  expect(everywhere(46, 1046, 1045)).toBe(1000);
  expect(settling.dueAt()).toBe(76);
  expect([settling.release(75.9).everywhere, settling.release(76).everywhere]).toEqual([1000, 1045]);
  expect(settling.dueAt()).toBe(undefined);
});

test('a poll that sees no more than the one before it does not delay what that one saw', () => {
  const settling = createFinalityDelay(30, [{ newest: 990, utime: 980 }]);
  for (let at = 0; at < 30; at += 0.5) settling.addPoll({ newest: 1000, utime: 999 }, at);
  expect(settling.polls()).toHaveLength(2);
  expect(settling.release(30).everywhere).toBe(999);
});

test('if the delay is longer than the period before the first poll, it is unknown what every replica shows', () => {
  const settling = createFinalityDelay(600);
  expect(settling.addPoll({ newest: 1000, utime: 990 }, 0)).toEqual({ utime: 990, everywhere: 390 });
  expect(settling.addPoll({ newest: 1300, utime: 1290 }, 300)).toEqual({ utime: 1290, everywhere: 700 });
  expect(settling.release(599).everywhere).toBe(700);
  expect(settling.release(600).everywhere).toBe(990);
});

test('what is everywhere is never within the delay of the watermark that was reported then, and never falls', () => {
  const rows = [[0, 1000, 600], ...follows(10, 20, 30, 40), ...follows(300, 310, 331)] as const;
  const settling = createFinalityDelay(30, BEFORE);
  let last = 0;
  for (const [at, newest, utime] of rows) {
    const given = settling.addPoll({ newest, utime }, at);
    expect(given.everywhere).toBeGreaterThanOrEqual(Math.max(last, given.utime - 30));
    expect(given.everywhere).toBeLessThanOrEqual(given.utime);
    last = given.everywhere;
  }
});

test('it never falls, and without a delay nothing is held back', () => {
  const settling = createFinalityDelay(0, [{ newest: 1000, utime: 990 }]);
  expect(settling.addPoll({ newest: 1300, utime: 1290 }, 0).utime).toBe(1290);
  expect(settling.addPoll({ newest: 1300, utime: 1200 }, 1).utime).toBe(1290);
});
