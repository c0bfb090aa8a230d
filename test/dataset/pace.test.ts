import { expect, test } from 'vitest';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { watermarkRequests } from '../../src/dataset/tail-pace.ts';
import { restingRequests, tailPeriodSeconds } from '../../src/dataset/tail-pace.ts';
import { datasetsNamed, testConfig } from '../support/crawl.ts';

/** Requests a minute at rest, dataset by dataset, and of all together with the polls. */
async function costsOf(words: readonly string[], freshness: number) {
  const costs = new Map(
    chooseDatasets(words, await loadDatasets()).map(({ name, job }) => [
      name,
      restingRequests(job, freshness),
    ]),
  );
  const sum = [...costs.values()].reduce((total, cost) => total + cost, watermarkRequests(freshness));
  return { costs, sum };
}

test('at rest each masterchain block costs a request of shard_states, and all datasets stay under five a second', async () => {
  const { costs, sum } = await costsOf(['all'], testConfig().freshness);
  expect(costs.get('shard_states')).toBe(24);
  expect(sum).toBeLessThan(300);
});

test('at rest core costs about three requests a second, and all datasets less than that where rows may be ten seconds late', async () => {
  expect((await costsOf(['core'], testConfig().freshness)).sum).toBeLessThan(200);
  expect((await costsOf(['all'], 10)).sum).toBeLessThan(180);
});

test('rounds of the tail are a second or two apart, and longer only where the rate has no room for more', async () => {
  const core = await datasetsNamed('blocks', 'transactions', 'traces', 'jetton_transfers');
  const period = (rps: number, interval?: number) => tailPeriodSeconds(core, { freshness: 5, rps }, interval);
  expect([period(25), period(25, 0.5), period(25, 2.5)]).toEqual([2, 2, 1]);
  expect(period(1, 2.5)).toBeCloseTo(4 / 0.3);
});
