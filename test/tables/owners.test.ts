import { expect, test } from 'vitest';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { factsOf } from '../../src/tables/describe.ts';
import { ownersOf } from '../../src/tables/owners.ts';

test('a table that several datasets fill says for which one it is', async () => {
  const jobs = await loadJobs();
  const tables = new Map(jobs.flatMap(({ job }) => Object.entries(job.tables)));
  const shared: string[] = [];
  for (const [name, table] of tables) {
    const filling = jobs.filter(({ job }) => name in job.tables).map((dataset) => dataset.name);
    const { owner } = factsOf(table);
    expect(owner === undefined ? filling.length : filling, name).toEqual(
      owner === undefined ? 1 : expect.arrayContaining([owner]),
    );
    if (owner === undefined) continue;
    shared.push(name);
    expect(ownersOf(name, jobs)[0]?.name).toBe(owner);
  }
  expect(shared).toContain('transactions');
});
