import { expect, test } from 'vitest';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { restingRequests, watermarkRequests } from '../../src/dataset/pace.ts';
import { testConfig } from '../support/crawl.ts';

test('at rest each masterchain block costs a request of shard_states, and all datasets stay under three a second', async () => {
  const { freshness } = testConfig();
  const costs = new Map(
    chooseDatasets(['all'], await loadDatasets()).map(({ name, job }) => [
      name,
      restingRequests(job, freshness),
    ]),
  );
  expect(costs.get('shard_states')).toBe(24);
  const sum = [...costs.values()].reduce((total, cost) => total + cost, watermarkRequests(freshness));
  expect(sum).toBeLessThan(180);
});
