import { expect, test } from 'vitest';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import {
  createHeadWatch,
  longestPollSeconds,
  pollSeconds,
  restingRequests,
  roundSeconds,
  seenWithinSeconds,
  tailPeriodSeconds,
  watermarkRequests,
} from '../../src/crawl/tail-pace.ts';
import { datasetsNamed, testConfig } from '../support/crawl.ts';

/** Requests a minute without backlog, for each dataset, and for all of them with the polls. */
async function costsOf(words: readonly string[], freshnessSeconds: number) {
  const costs = new Map(
    chooseDatasets(words, await loadDatasets()).map(({ name, job }) => [
      name,
      restingRequests(job, freshnessSeconds),
    ]),
  );
  const sum = [...costs.values()].reduce((total, cost) => total + cost, watermarkRequests(freshnessSeconds));
  return { costs, sum };
}

test('without backlog each masterchain block costs a request of shard_states, and all datasets stay under five a second', async () => {
  const { costs, sum } = await costsOf(['all'], testConfig().freshnessSeconds);
  expect(costs.get('shard_states')).toBe(24);
  expect(sum).toBeLessThan(300);
});

test('without backlog core costs about three requests a second, and all datasets less than that if rows may be ten seconds late', async () => {
  expect((await costsOf(['core'], testConfig().freshnessSeconds)).sum).toBeLessThan(200);
  expect((await costsOf(['all'], 10)).sum).toBeLessThan(180);
});

test('rounds of the tail are a second or two apart, and longer only if the rate allows no more', async () => {
  const core = await datasetsNamed('blocks', 'transactions', 'traces', 'jetton_transfers');
  const period = (rps: number, interval?: number) =>
    tailPeriodSeconds(core, { freshnessSeconds: 5, rps }, interval);
  expect([period(25), period(25, 0.5), period(25, 2.5)]).toEqual([2, 2, 1]);
  expect(period(1, 2.5)).toBeCloseTo(4 / 0.3);
});

const plan = { freshnessSeconds: 5, rps: 25 };
const justSeen = (interval: number | undefined) => pollSeconds({ interval, stillFor: 0 }, plan);
const lookedFor = (stillFor: number, interval = 2.5) => pollSeconds({ interval, stillFor }, plan);

test('a block is polled twice a second from shortly before it is due', () => {
  expect([justSeen(2.5), justSeen(5), justSeen(undefined)]).toEqual([1.5, 3, 1.5]);
  expect([lookedFor(1.5), lookedFor(9)]).toEqual([0.5, 0.5]);
});

test('blocks that come faster than rounds are collected', () => {
  expect([justSeen(0.5), justSeen(1)]).toEqual([2, 2]);
  expect([roundSeconds(5, 0.5), roundSeconds(5, 2), roundSeconds(5, 5)]).toEqual([2, 1, 1]);
  // It is not known yet how fast they come.
  expect(roundSeconds(5)).toBe(2);
});

test('a head that does not move is polled less and less often', () => {
  expect([lookedFor(11), lookedFor(3600)]).toEqual([5, 5]);
  expect([lookedFor(11, 5), lookedFor(16, 5)]).toEqual([0.5, 5]);
});

test('polls take at most 15 % of the budget', () => {
  for (const rps of [1, 2, 5, 10]) {
    expect(2 / pollSeconds({ interval: 0.4, stillFor: 0 }, { freshnessSeconds: 5, rps })).toBeLessThan(
      0.151 * rps,
    );
    expect(1 / pollSeconds({ interval: 0.4, stillFor: 1 }, { freshnessSeconds: 5, rps })).toBeLessThan(
      0.151 * rps,
    );
  }
});

test('a freshness of more seconds needs fewer requests', () => {
  expect([2, 5, 10, 60].map((freshnessSeconds) => Math.round(watermarkRequests(freshnessSeconds)))).toEqual([
    168, 96, 30, 5,
  ]);
  expect(seenWithinSeconds({ ...plan, freshnessSeconds: 60 })).toBe(24);
  expect(seenWithinSeconds(plan)).toBe(2);
  expect([longestPollSeconds(plan), longestPollSeconds({ freshnessSeconds: 5, rps: 1 })]).toEqual([
    5,
    2 / 0.15,
  ]);
});

test('it learns how often blocks come, even if a poll finds several, and polls for the next one when it is due', () => {
  const watch = createHeadWatch({ freshnessSeconds: 5, rps: 25 });
  const pauses: number[] = [];
  const poll = (now: number, seqno: number, utime: number) => {
    pauses.push(watch.pauseAfter({ seqno, utime }, now));
  };
  expect(watch.interval()).toBe(undefined);
  poll(0, 100, 1000);
  expect(watch.interval()).toBe(undefined);
  poll(4, 101, 1004);
  expect(watch.interval()).toBe(4);
  poll(6.4, 101, 1004);
  poll(6.9, 101, 1004);
  // One was missed.
  poll(12, 103, 1012);
  expect(watch.interval()).toBe(4);
  // The head does not move.
  poll(14.4, 103, 1012);
  poll(24.5, 103, 1012);
  poll(29.5, 104, 1029);
  expect(pauses.slice(0, 7)).toEqual([1.5, 2.4, 0.5, 0.5, 2.4, 0.5, 5]);
});

test('it forgets how often blocks came before the last thirty', () => {
  const watch = createHeadWatch({ freshnessSeconds: 5, rps: 25 });
  for (let block = 0; block < 40; block += 1) watch.pauseAfter({ seqno: block, utime: 5 * block }, 5 * block);
  for (let block = 40; block < 80; block += 1)
    watch.pauseAfter({ seqno: block, utime: 200 + (block - 40) }, 200 + (block - 40));
  expect(watch.interval()).toBe(1);
});
