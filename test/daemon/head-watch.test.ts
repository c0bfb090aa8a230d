import { expect, test } from 'vitest';
import { createHeadWatch } from '../../src/dataset/tail-pace.ts';

test('it learns how often blocks come, also where a poll finds several, and looks for the next one when it is due', () => {
  const watch = createHeadWatch({ freshness: 5, rps: 25 });
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
  // It stands still.
  poll(14.4, 103, 1012);
  poll(24.5, 103, 1012);
  poll(29.5, 104, 1029);
  expect(pauses.slice(0, 7)).toEqual([1.5, 2.4, 0.5, 0.5, 2.4, 0.5, 5]);
});

test('it forgets how often blocks came before the last thirty', () => {
  const watch = createHeadWatch({ freshness: 5, rps: 25 });
  for (let block = 0; block < 40; block += 1) watch.pauseAfter({ seqno: block, utime: 5 * block }, 5 * block);
  for (let block = 40; block < 80; block += 1)
    watch.pauseAfter({ seqno: block, utime: 200 + (block - 40) }, 200 + (block - 40));
  expect(watch.interval()).toBe(1);
});
