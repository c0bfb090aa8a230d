import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/postgres/database.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import { examineDatabase } from '../../src/doctor/examine.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const wallTime = (late = 0) => Date.now() / 1000 - late;
const examine = async (late = 0) =>
  (await examineDatabase(store.database, () => wallTime(late))).map(({ check, what }) => `${check}: ${what}`);

test('a clock that is off is reported with the difference, in either direction; a small difference is not', async () => {
  expect(await examine(3)).toEqual([]);
  const [slow, ...more] = await examine(125);
  expect(more).toEqual([]);
  expect(slow).toMatch(/^clock: this machine's clock and the database's differ by 2m ?[456]s$/);
  expect(await examine(-3600)).toEqual([
    expect.stringMatching(/^clock: .* differ by (1h|59m ?59s|1h ?[1-3]s)$/),
  ]);
});

test('a rate that the server does not allow is reported while it is recent', async () => {
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
    'rate: api.example refuses at 10 requests a second (17 refusals); at most 4.9 are sent now',
  ]);
});

test('an error is dropped when its dataset has committed something since, and not before', async () => {
  const failures = async () => (await examine()).filter((what) => what.startsWith('failures'));
  await store.database.run(sql`
    insert into etl.failures (dataset, scope, code, message, at)
    select dataset, scope, 'database', 'it was away', now() - interval '1 minute'
    from unnest('{blocks,traces,jetton_masters,nft_sales,masterchain_heads}'::text[], '{"","",list,lookup,node}'::text[])
      as f (dataset, scope)`);
  const page = (dataset: string, ago: string) =>
    store.database.run(sql`
      insert into etl.pages (dataset, span, request, rows, bytes, ms, worker, committed_at)
      values (${dataset}, '[1,2)', '', 1, 1, 1, 'w', now() - ${ago}::interval)`);
  await page('blocks', '2 minutes');
  expect(await failures()).toHaveLength(5);
  await page('blocks', '1 second');
  // A look-up without a subject to request moves only its cursor.
  await store.database.run(
    // Another walk of the collection does not prove that the failed one works.
    sql`insert into etl.cursors (dataset, scope, cursor)
        values ('nft_sales', 'lookup', '{}'), ('masterchain_heads', 'index', '{}')`,
  );
  expect(await failures()).toEqual(
    ['jetton_masters', 'masterchain_heads', 'traces'].map(
      (name) => `failures: ${name} failed last with database: it was away`,
    ),
  );
});

test("a schema is the same whatever a role's settings do to names", async () => {
  const options = '-c search_path=ton,etl,public -c quote_all_identifiers=on';
  const url = `${store.url}?options=${encodeURIComponent(options)}`;
  const database = await openDatabase({ url, applicationName: 'test' });
  const found = await examineDatabase(database, wallTime).finally(() => database.close());
  expect(found.filter(({ check }) => check === 'schema')).toEqual([]);
});

test('additions to the tables are reported, and so are missing parts', async () => {
  await store.database.script(`
    create function public.drop_row() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger dropper before insert on ton.blocks for each row execute function public.drop_row();
    create rule nothing as on insert to ton.jetton_masters do instead nothing;
    alter table ton.address_book drop constraint address_book_pkey;
    alter table ton.traces add column doubled int generated always as (mc_seqno_end * 2) stored`);
  const schema = (await examine()).filter((what) => what.startsWith('schema'));
  expect(schema).toEqual([
    'schema: ton.traces has a column doubled that no migration created',
    'schema: ton.address_book lacks its primary key',
    'schema: ton.blocks has a trigger dropper that no migration created: it may drop or change rows',
    'schema: ton.jetton_masters has a rule nothing that no migration created: it may drop or change rows',
  ]);
});

test('a daemon that stopped writing is reported, soon on another host and at once on this one', async () => {
  const only = async () => (await examine()).filter((line) => line.startsWith('daemon'));
  await store.database.run(sql`truncate etl.budget`);
  expect(await only()).toEqual([]);
  const wrote = (owner: string, seconds: number) =>
    store.database.run(sql`
      insert into etl.settings (name, value, updated_at)
      values ('lookout', jsonb_build_object('owner', ${owner}::text), now() - make_interval(secs => ${seconds}))
      on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at`);
  await wrote('elsewhere/1/a', 5);
  expect(await only()).toEqual([]);
  await wrote('elsewhere/1/a', 100);
  expect(await only()).toEqual([expect.stringMatching(/^daemon: no heartbeat of a daemon for 1m 4\ds/)]);
  await wrote(`${hostname()}/${process.pid}/a`, 5);
  expect(await only()).toEqual([]);
  await wrote(`${hostname()}/${2 ** 22 + 1}/a`, 5);
  expect(await only()).toHaveLength(1);
});

test('a server whose lock table is too small for all partitions is reported, with the setting', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-locks-'));
  const settings = { fsync: 'off', max_connections: '12', max_locks_per_transaction: '10' };
  const server = await openEmbedded({ dataDir: join(directory, 'data'), settings });
  const database = await openDatabase({ url: server.url, applicationName: 'test' });
  const locks = async () =>
    (await examineDatabase(database, wallTime)).filter(({ check }) => check === 'locks');
  try {
    await migrate(database);
    expect(await locks()).toEqual([]);
    for (let day = 10; day < 50; day += 1)
      await database.script(
        `create table etl_partitions.day_${day} partition of ton.blocks for values from ('20${day}-01-01') to ('20${day}-01-02')`,
      );
    const [found, ...more] = await locks();
    expect(more).toEqual([]);
    const [, relations, room] = /are (\d+) relations.* has room for (\d+)\./.exec(found?.what ?? '') ?? [];
    expect(Number(relations)).toBeGreaterThanOrEqual(80);
    expect(Number(room)).toBe(120);
    const [, enough] = /max_locks_per_transaction = (\d+); then restart/.exec(found?.remedy ?? '') ?? [];
    expect(Number(enough) * 12).toBeGreaterThanOrEqual(2 * Number(relations));
  } finally {
    await database.close();
    await server.close();
    await rm(directory, { recursive: true });
  }
});
