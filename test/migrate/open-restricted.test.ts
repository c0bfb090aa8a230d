import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { openRestricted } from '../../src/migrate/reader.ts';
import { openTestStore } from '../support/database/database.ts';

test('processes that create the role at the same time, in several databases of a server, all get in', async () => {
  const stores = await Promise.all([1, 2, 3].map(() => openTestStore()));
  const all = stores.flatMap(({ database, url }) =>
    [1, 2, 3].map(async () => {
      const options = { database, url, embedded: {}, applicationName: 'test', right: 'read' } as const;
      await (await openRestricted(options)).close();
    }),
  );
  const refused = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected');
  await Promise.all(stores.map((store) => store.close()));
  expect(refused).toEqual([]);
});

test('a role that writes may change facts about the data, but not what cannot be restored', async () => {
  const store = await openTestStore();
  const options = { ...store, embedded: {}, applicationName: 'test', right: 'write' } as const;
  const writer = await openRestricted(options);
  const write = (statement: string) => writer.script(`set transaction read write; ${statement}`);
  try {
    await store.database.script(`
      insert into etl.closed_days (relation, day, definition, closed_at) values ('daily_activity', '2026-01-01', '', now());
      insert into etl.coverage (dataset, covered) values ('blocks', '{[1767225600,1767312000)}')`);
    for (const table of [
      'migrations',
      'settings',
      'partitions',
      'closed_days',
      'kept_daily_activity',
      'kept_dex_volume',
    ])
      for (const statement of [`delete from etl.${table}`, `truncate etl.${table}`])
        await expect(write(statement)).rejects.toMatchObject({ code: 'database_access' });
    for (const table of [
      'coverage',
      'watch',
      'quarantine',
      'refused',
      'writes',
      'seals',
      'sealed',
      'budget',
      'cursors',
    ])
      await write(`delete from etl.${table}`);
    // Only the program itself may open days again after a change of coverage.
    expect(await store.database.run(sql`select from etl.coverage`)).toBe(0);
    await write('delete from ton.blocks');
    // The privileges of the role are still correct.
    await (await openRestricted(options)).close();
  } finally {
    await writer.close();
    await store.close();
  }
});
