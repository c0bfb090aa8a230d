import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examineDatabase } from '../../src/doctor/examine-database.ts';
import { openTestStore, type TestStore } from '../support/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const wallTime = (late = 0) => Date.now() / 1000 - late;
const examine = async (late = 0) =>
  (await examineDatabase(store.database, () => wallTime(late))).map(({ check, what }) => `${check}: ${what}`);

test('a clock that differs is reported with by how much, in either direction; one that differs little is not', async () => {
  expect(await examine(3)).toEqual([]);
  const [slow, ...more] = await examine(125);
  expect(more).toEqual([]);
  expect(slow).toMatch(/^clock: this machine's clock and the database's differ by 2m ?[456]s$/);
  expect(await examine(-3600)).toEqual([
    expect.stringMatching(/^clock: .* differ by (1h|59m ?59s|1h ?[1-3]s)$/),
  ]);
});

test('a rate that the server does not bear is reported while it is fresh', async () => {
  const refused = (factor: number, ago: number) =>
    store.database.run(sql`
      insert into etl.budget (host, rps, free_at, slack, factor, refusals, refused_at, server_started_at)
      values ('api.example', 10, 0, 0.03, ${factor}, 17, extract(epoch from now()) - ${ago}::int, 0)
      on conflict (host) do update set factor = excluded.factor, refused_at = excluded.refused_at`);
  await refused(0.95, 60);
  expect(await examine()).toEqual([]);
  await refused(0.5, 7200);
  expect(await examine()).toEqual([]);
  await refused(0.5, 60);
  expect(await examine()).toEqual([
    'rate: api.example refuses at 10 requests a second (17 refusals); 4.9 are used',
  ]);
});
