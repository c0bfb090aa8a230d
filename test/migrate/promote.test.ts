import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { promoteTables } from '../../src/migrate/promote.ts';
import { UsageError, WrongDatabaseError } from '../../src/errors.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const whole = { from: START, to: START + 1200 };

let source: TestStore;
let target: TestStore;
let simulator: Simulator;
let crawl: Crawl;

beforeAll(async () => {
  source = await openTestStore();
  target = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 1500, load: 2 });
  crawl = await openTestCrawl(source, simulator.url);
  const datasets = await datasetsNamed('blocks', 'transactions', 'traces', 'actions');
  const readable = { range: whole, watermark: whole.to + 90_000 };
  await fillRange({ ...crawl, datasets, readable, stop: never });
  await source.database.script(`
    delete from etl.stable_jettons;
    insert into etl.stable_jettons values ('0:${'A'.repeat(64)}', 'USDX', 6);
    insert into etl.ton_proxies values ('0:${'B'.repeat(64)}', 'stonfi', 'ours');
    insert into etl.labels (address, label, imported_from) values ('0:${'C'.repeat(64)}', 'Shop', 'a.csv');
    insert into etl.watch values ('0:${'D'.repeat(64)}', 'mine');
    insert into etl.closed_days (relation, day, definition, closed_at) values ('dex_volume', '2026-05-01', 'x', now()), ('daily_activity', '2026-05-01', 'y', now())`);
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await source.close();
  await target.close();
});

const copy = (to: TestStore, signal = never.finishing, onRows: () => void = () => undefined) =>
  promoteTables({
    from: source.database,
    to: to.database,
    signal,
    onRows,
    partition: 'month',
  });

/** A digest of all values of a table as text. */
async function digest({ database }: TestStore, table: string): Promise<string> {
  const [row] = await database.rows(
    sql`select md5(coalesce(string_agg(t::text, e'\n' order by t::text), '')) as digest from ${sql.raw(table)} t`,
    z.object({ digest: z.string() }),
  );
  return row?.digest ?? '';
}

const TABLES = [
  'ton.blocks',
  'ton.transactions',
  'ton.messages',
  'ton.traces',
  'ton.actions',
  'etl.pages',
  'etl.coverage',
  // Rows that people have added and deleted, and days that are summed up.
  'etl.stable_jettons',
  'etl.ton_proxies',
  'etl.labels',
  'etl.watch',
  'etl.closed_days',
];

describe('promote', () => {
  test('claims nothing if it was stopped, and continues from there', async () => {
    const stop = new AbortController();
    let batches = 0;
    const stopped = await copy(target, stop.signal, () => {
      batches += 1;
      if (batches === 4) stop.abort();
    });
    expect(stopped).toBe(false);
    expect(await digest(target, 'etl.coverage')).not.toBe(await digest(source, 'etl.coverage'));
    const rest: number[] = [];
    expect(await copy(target, never.finishing, () => rest.push(1))).toBe(true);
    for (const table of TABLES)
      expect([table, await digest(target, table)]).toEqual([table, await digest(source, table)]);
  });

  test('lets the crawl continue there without another request', async () => {
    const before = simulator.stats.byPath.get('/api/v3/transactions') ?? 0;
    const other = await openTestCrawl(target, simulator.url);
    const datasets = await datasetsNamed('blocks', 'transactions');
    const readable = { range: { from: whole.from, to: whole.to + 60 }, watermark: whole.to + 90_000 };
    const missing = await fillRange({ ...other, datasets, readable, stop: never });
    await other.close();
    expect([...missing]).toEqual([]);
    expect((simulator.stats.byPath.get('/api/v3/transactions') ?? 0) - before).toBeLessThanOrEqual(2);
  });

  test('refuses a database with data of its own', async () => {
    await expect(copy(target)).rejects.toThrow(WrongDatabaseError);
  });

  test('refuses a source that is being written', async () => {
    await source.database.run(sql`
      insert into etl.leases (dataset, span, owner, priority, expires_at)
      values ('blocks', '[1,2)', 'somebody', 'tail', clock_timestamp() + interval '1 minute')`);
    await expect(copy(target)).rejects.toThrow(UsageError);
  });
});
