import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { actions } from '../../src/tables/ton/actions.ts';
import { createPartitions } from '../../src/write/target.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

test('every report keeps its results: each column of the view, of the same type', async () => {
  const rows = await store.database.rows(
    sql`
    select r.report, o.name, o.type, k.type as kept from etl.reports_by_day() r (report),
    lateral (select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = ('etl.open_' || report)::regclass and attnum > 0) o
    left join lateral (select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = ('etl.kept_' || report)::regclass and attnum > 0) k using (name)
    where k.type is distinct from o.type`,
    z.unknown(),
  );
  expect(rows).toEqual([]);
});

const TRADES = ['daily_legs', 'daily_pools', 'daily_trades', 'hourly_trades'];

test.each([
  { list: 'stable_jettons', change: 'update etl.stable_jettons set decimals = decimals', reports: TRADES },
  {
    list: 'ton_proxies',
    change: `insert into etl.ton_proxies (address, dex, note) values ('0:${'A'.repeat(64)}', null, 'x')`,
    reports: ['daily_changes', 'dex_volume', 'jetton_flows', ...TRADES],
  },
])('another list of $list opens the days that are made of it, if their rows are stored', async (given) => {
  const [stored, dropped] = ['2026-01-01', '2020-01-01'];
  await createPartitions(store.database, 'month').ensure([actions], [`${stored}T00:00:00Z`]);
  await store.database.script(
    `insert into etl.closed_days (relation, day, definition)
     select r, d, '' from etl.reports_by_day() r (r), (values (date '${stored}'), ('${dropped}')) d (d) on conflict do nothing`,
  );
  const closed = (day: string) =>
    store.database.rows(
      sql`select relation from etl.closed_days where day = ${day} order by 1`,
      z.object({ relation: z.string() }),
    );
  const before = await closed(stored);
  await store.database.script(given.change);
  expect(await closed(stored)).toEqual(before.filter(({ relation }) => !given.reports.includes(relation)));
  expect(await closed(dropped)).toEqual(before);
});
