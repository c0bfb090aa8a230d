import { expect, test } from 'vitest';
import { namingOf, restingLagsOf } from '../../src/status/report.ts';
import { datasetsNamed } from '../support/crawl.ts';
import { pollLagOf } from '../../src/crawl/tail-pace.ts';

test('the delay of the chain is measured by the newest block of the polls that first saw a second registered', () => {
  expect(namingOf([])).toBe(null);
  expect(namingOf([{ newest: 1000, utime: 998 }])).toBe(null);
  // Seconds 998 to 1000 after 5, 4 and 3 s, second 1001 after 4 s.
  const polls = [
    { newest: 1000, utime: 998 },
    { newest: 1003, utime: 1001 },
    { newest: 1005, utime: 1002 },
  ];
  expect(namingOf(polls)).toEqual({ usual: 4, most: 5 });
  // Seconds that another process had seen already are not counted again.
  expect(namingOf([...polls, { newest: 1006, utime: 1000 }])).toEqual({ usual: 4, most: 5 });
});

test('the next poll and the next round are bounded by what may be late, and by the rate if it leaves no room for more', async () => {
  const datasets = await datasetsNamed('blocks', 'transactions', 'validator_events');
  const plan = { freshnessSeconds: 5, watermarkDelaySeconds: 30 };
  expect(pollLagOf({ ...plan, rps: 25 })).toEqual({ seconds: 2, isBoundByRate: false });
  expect(pollLagOf({ ...plan, rps: 1 })).toMatchObject({ isBoundByRate: true });
  expect(restingLagsOf(datasets, { ...plan, rps: 25 })).toMatchObject([
    { dataset: 'blocks', delay: 30, isOwn: false, round: 2, isBoundByRate: false },
    { dataset: 'transactions', delay: 30, isOwn: false, round: 2, isBoundByRate: false },
    { dataset: 'validator_events', delay: 900, isOwn: true, round: 300, isBoundByRate: false },
  ]);
  const [blocks] = restingLagsOf(datasets, { ...plan, rps: 1 });
  expect(blocks).toMatchObject({ isBoundByRate: true });
  expect(blocks?.round).toBeCloseTo(2 / 0.3);
});
