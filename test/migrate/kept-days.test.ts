import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
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

test('another list of stable jettons opens the days of prices, and no other days', async () => {
  const closed = () =>
    store.database.rows(
      sql`select relation from etl.closed_days order by 1`,
      z.object({ relation: z.string() }),
    );
  await store.database.run(
    sql`insert into etl.closed_days (relation, day, definition)
        select r, '2026-01-01', '' from etl.reports_by_day() r (r)`,
  );
  const before = await closed();
  await store.database.run(sql`update etl.stable_jettons set decimals = decimals`);
  expect(await closed()).toEqual(before.filter(({ relation }) => !/^(hourly|daily)_trades$/.test(relation)));
  expect((await closed()).length).toBe(before.length - 2);
});
