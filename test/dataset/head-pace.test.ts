import { expect, test } from 'vitest';
import {
  longestPollSeconds,
  pollSeconds,
  roundSeconds,
  seenWithinSeconds,
  watermarkRequests,
} from '../../src/dataset/tail-pace.ts';

const plan = { freshness: 5, rps: 25 };
const justSeen = (interval: number | undefined) => pollSeconds({ interval, stillFor: 0 }, plan);
const lookedFor = (stillFor: number, interval = 2.5) => pollSeconds({ interval, stillFor }, plan);

test('a block is looked for from a while before it is due, twice a second', () => {
  expect([justSeen(2.5), justSeen(5), justSeen(undefined)]).toEqual([1.5, 3, 1.5]);
  expect([lookedFor(1.5), lookedFor(9)]).toEqual([0.5, 0.5]);
});

test('blocks that come quicker than rounds should are gathered', () => {
  expect([justSeen(0.5), justSeen(1)]).toEqual([2, 2]);
  expect([roundSeconds(5, 0.5), roundSeconds(5, 2), roundSeconds(5, 5)]).toEqual([2, 1, 1]);
  // Nobody knows yet how quick they are.
  expect(roundSeconds(5)).toBe(2);
});

test('a head that stands still is polled less often, however long it does', () => {
  expect([lookedFor(11), lookedFor(3600)]).toEqual([5, 5]);
  expect([lookedFor(11, 5), lookedFor(16, 5)]).toEqual([0.5, 5]);
});

test('polls take at most 15 % of the budget', () => {
  for (const rps of [1, 2, 5, 10]) {
    expect(2 / pollSeconds({ interval: 0.4, stillFor: 0 }, { freshness: 5, rps })).toBeLessThan(0.151 * rps);
    expect(1 / pollSeconds({ interval: 0.4, stillFor: 1 }, { freshness: 5, rps })).toBeLessThan(0.151 * rps);
  }
});

test('who bears more seconds asks less often', () => {
  expect([2, 5, 10, 60].map((freshness) => Math.round(watermarkRequests(freshness)))).toEqual([
    168, 96, 30, 5,
  ]);
  expect(seenWithinSeconds({ ...plan, freshness: 60 })).toBe(24);
  expect(seenWithinSeconds(plan)).toBe(2);
  expect([longestPollSeconds(plan), longestPollSeconds({ freshness: 5, rps: 1 })]).toEqual([5, 2 / 0.15]);
});
