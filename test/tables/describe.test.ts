import { expect, test } from 'vitest';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { factsOf, ownersOf } from '../../src/tables/describe.ts';

test('a table that several datasets fill names its owner', async () => {
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

test('every row of a stream is identified by more than its block time: seals and parts of a lake sort by the rest', async () => {
  const jobs = await loadJobs();
  const keys = jobs.flatMap(({ job }) =>
    Object.entries(job.tables).map(([name, table]) => [name, factsOf(table).key] as const),
  );
  expect(keys.length).toBeGreaterThan(20);
  expect(keys.filter(([, key]) => key[0] !== 'utime' || key.length < 2)).toEqual([]);
});
