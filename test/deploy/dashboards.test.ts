import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { packageRoot } from '../../src/package.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { countAsDollar, openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { demoPart } from '../support/demo-part.ts';
import { some } from '../support/thorough.ts';

/* Dashboards of the data, for Grafana and Superset, on the demo network. */

/** Columns without a value if nothing is missing. */
const OF_HOLES = new Set(['holes', 'why']);

let store: CrawledStore;
let database: Database;
let account: string;

beforeAll(async () => {
  store = await openCrawledStore(demoPart);
  await countAsDollar(store);
  database = await openDatabase({ url: store.url, applicationName: 'dashboards' });
  const [busiest] = await store.ask(`select j.account from jetton_movements j where exists
    (select from action_accounts a where a.account = j.account) group by 1 order by count(*) desc, 1 limit 1`);
  account = busiest?.['account'] ?? '';
  await store.ask(`insert into etl.labels (address, label, category, imported_from)
    select address, 'Hot wallet', 'CEX', 'test.csv' from (values ('${account}'),
      ((select trader from dex_trades group by 1 order by count(*) desc limit 1))) v (address) on conflict do nothing`);
});
afterAll(async () => {
  await database.close();
  await store.close();
});

const ask = (statement: string) => runSql(database, statement, { write: false });

test('prices have no more digits than the decimals of clients', async () => {
  const views = ['daily_prices', 'hourly_prices', 'staking_prices'].map(
    (view) => `select price_ton as price from ${view}`,
  );
  const prices = [
    ...views,
    ...['daily_prices', 'hourly_prices'].map((view) => `select price_usd from ${view}`),
    'select lp_price_ton from dex_pools',
    ...['1e-18 / 3', '-1e-9 / 7', '0', '1e10 / 3', '0.001', '0.00099999999999999999999'].map(
      (price) => `select etl.as_price(${price})`,
    ),
  ];
  const wide = await store.ask(
    `select price from (${prices.join(' union all ')}) p where scale(price) + case when abs(price) < 1 then 0 else length(trunc(abs(price))::text) end > 38`,
  );
  expect(wide).toEqual([]);
  expect(await store.ask('select etl.as_price(2e-12 / 3) as price')).toEqual([
    { price: '0.000000000000666666666667' },
  ]);
});

describe('Grafana', () => {
  const Dashboard = z.object({
    uid: z.string(),
    panels: z.array(
      z.object({
        id: z.number(),
        title: z.string(),
        type: z.string(),
        gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
        targets: z.tuple([z.object({ rawSql: z.string(), format: z.enum(['time_series', 'table']) })]),
      }),
    ),
  });
  const read = (name: string) =>
    Dashboard.parse(
      JSON.parse(readFileSync(join(packageRoot, 'deploy', 'grafana', 'dashboards', `${name}.json`), 'utf8')),
    );

  test.each(['network', 'dex', 'account'])('draws each panel of %s from the demo', async (name) => {
    const { panels } = read(name);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, targets } of panels) {
      const [{ rawSql, format }] = targets;
      const filled = rawSql
        .replaceAll('$__timeFrom()', "'2026-01-01T00:00:00Z'::timestamptz")
        .replaceAll('$__timeTo()', "'2026-01-02T00:00:00Z'::timestamptz")
        .replaceAll('${account:sqlstring}', `'${account}'`);
      expect(filled).not.toContain('$');
      const { columns, rows } = await ask(filled);
      expect(rows.length, title).toBeGreaterThan(0);
      const empty = columns.filter(
        (name, at) => !OF_HOLES.has(name) && rows.every((row) => row[at] === null),
      );
      expect(empty, title).toEqual([]);
      if (format === 'time_series' && !title.includes(',')) expect(columns[0], title).toBe('time');
    }
  });

  test.each(['network', 'dex', 'account'])('no panel of %s covers another one', (name) => {
    const { panels } = read(name);
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)}:${y + Math.floor(index / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
  });
});

describe('Superset', () => {
  const folder = join(packageRoot, 'deploy', 'superset');
  const read = <T>(kind: string, schema: z.ZodType<T>) =>
    readdirSync(join(folder, kind)).map((file) =>
      schema.parse(parse(readFileSync(join(folder, kind, file), 'utf8'))),
    );
  const datasets = read(
    'datasets/TON',
    z.object({
      table_name: z.string(),
      uuid: z.string(),
      sql: z.string().nullable(),
      main_dttm_col: z.string().nullable(),
      database_uuid: z.string(),
      columns: z.array(z.object({ column_name: z.string() })),
      metrics: z.array(z.object({ metric_name: z.string(), expression: z.string() })),
    }),
  );
  const names = z.array(z.string()).default([]);
  const charts = read(
    'charts',
    z.object({
      slice_name: z.string(),
      uuid: z.string(),
      dataset_uuid: z.string(),
      params: z.object({
        x_axis: z.string().optional(),
        groupby: names,
        all_columns: names,
        metrics: names,
        metric: z.string().optional(),
        timeseries_limit_metric: z.string().optional(),
        adhoc_filters: z.array(z.object({ subject: z.string() })),
        column_config: z.record(z.string(), z.unknown()).default({}),
      }),
    }),
  );

  test.each(some(datasets, 6))('the dataset $table_name has its columns and metrics', async (dataset) => {
    const from = dataset.sql === null ? `ton.${dataset.table_name}` : `(${dataset.sql}) as virtual_table`;
    const columns = dataset.columns.map(({ column_name }) => column_name);
    expect((await ask(`select * from ${from} limit 0`)).columns).toEqual(columns);
    expect([...columns, null]).toContain(dataset.main_dttm_col);
    const account_is = columns.includes('account') ? ` where account = '${account}'` : '';
    const metrics = dataset.metrics.map(({ metric_name, expression }) => `${expression} as "${metric_name}"`);
    if (metrics.length > 0) await ask(`select ${metrics.join(', ')} from ${from}${account_is}`);
  });

  test('each chart names only what its dataset has', () => {
    for (const { slice_name, dataset_uuid, params } of charts) {
      const dataset = datasets.find(({ uuid }) => uuid === dataset_uuid);
      const columns = dataset?.columns.map(({ column_name }) => column_name);
      const metrics = dataset?.metrics.map(({ metric_name }) => metric_name);
      const { x_axis = [], metric = [], timeseries_limit_metric = [], adhoc_filters } = params;
      const subjects = adhoc_filters.map(({ subject }) => subject);
      const named = [x_axis, params.groupby, params.all_columns, subjects];
      expect(columns, slice_name).toEqual(expect.arrayContaining(named.flat()));
      const measured = [metric, params.metrics, timeseries_limit_metric];
      expect(metrics, slice_name).toEqual(expect.arrayContaining(measured.flat()));
      const formatted = Object.keys(params.column_config);
      expect([...(columns ?? []), ...(metrics ?? [])], slice_name).toEqual(expect.arrayContaining(formatted));
    }
  });

  test('each dashboard has charts of the bundle, and each chart is in one', () => {
    const Placed = z.object({ type: z.string(), meta: z.object({ uuid: z.string() }) });
    const placed = read('dashboards', z.object({ position: z.record(z.string(), z.unknown()) })).flatMap(
      ({ position }) =>
        Object.values(position).flatMap((each) => {
          const { success, data } = Placed.safeParse(each);
          return success ? [data.meta.uuid] : [];
        }),
    );
    expect(placed.sort()).toEqual(charts.map(({ uuid }) => uuid).sort());
    const [database] = read('databases', z.object({ uuid: z.string() }));
    expect(new Set(datasets.map(({ database_uuid }) => database_uuid))).toEqual(new Set([database?.uuid]));
  });
});
