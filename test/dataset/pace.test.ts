import { expect, test } from 'vitest';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { restingRequests } from '../../src/dataset/pace.ts';
import { testConfig } from '../support/crawl.ts';

test('at rest each masterchain block costs a request of shard_states, and all datasets stay under two a second', async () => {
  const { freshness } = testConfig();
  const costs = new Map(
    chooseDatasets(['all'], await loadDatasets()).map(({ name, job }) => [
      name,
      restingRequests(job, freshness),
    ]),
  );
  expect(costs.get('shard_states')).toBe(24);
  expect([...costs.values()].reduce((sum, cost) => sum + cost, 0)).toBeLessThan(120);
});
