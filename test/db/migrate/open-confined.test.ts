import { expect, test } from 'vitest';
import { openConfined } from '../../../src/db/migrate/open-confined.ts';
import { openTestStore } from '../../support/database/database.ts';

test('processes that make the role at the same time, in several databases of a server, all get in', async () => {
  const stores = await Promise.all([1, 2, 3].map(() => openTestStore()));
  const all = stores.flatMap(({ database, url }) =>
    [1, 2, 3].map(async () => {
      const options = { database, url, embedded: {}, applicationName: 'test', right: 'read' } as const;
      await (await openConfined(options)).close();
    }),
  );
  const refused = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected');
  await Promise.all(stores.map((store) => store.close()));
  expect(refused).toEqual([]);
});
