import pg from 'pg';
import { openDatabase } from '../../src/db/connection/database.ts';
import { migrate } from '../../src/db/migrate/migrate.ts';
import { backfill } from '../../src/crawl/streams/backfill.ts';
import { startSimulator } from '../../test/support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../../test/support/crawl.ts';
import { readAll, writeVersion } from './version.ts';

/*
 * Keeps the database of this version as the one that later versions must be able to take over. To be run once before a
 * release, with DATABASE_URL leading to an empty database: `npm run upgrade-fixture`.
 */
const url = process.env['DATABASE_URL'] ?? '';
const START = Date.UTC(2026, 3, 1) / 1000;
const network = { start: START, duration: 8 * 3600, load: 0.5, accounts: 60 };
const range = { from: START + 60, to: START + 130 };
const datasets = ['blocks', 'transactions', 'traces', 'jetton_transfers', 'actions'];

const simulator = await startSimulator(network);
const database = await openDatabase({ url, applicationName: 'fixture' });
await migrate(database);
const crawl = await openTestCrawl({ url, database, close: () => Promise.resolve() }, simulator.url);
const chosen = await datasetsNamed(...datasets);
const missing = await backfill({
  ...crawl,
  datasets: chosen,
  stop: never,
  reach: { range, watermark: simulator.headTime },
});
if (missing.size > 0) throw new Error('the fixture could not be crawled whole');
await crawl.close();
await database.close();
await simulator.close();
const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
await client.connect();
const { rows: tables } = await client.query<{ name: string }>(`
  select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p')
    and c.relname not in ('migrations', 'settings', 'leases', 'workers', 'budget', 'spending')
  order by 1`);
const rows = await readAll(
  client,
  tables.map(({ name }) => name),
);
const settings = await client.query<{ text: string }>(
  `select to_json(s)::text as text from etl.settings s where name <> 'repeatable'`,
);
const migrations = await client.query<{ count: number }>('select count(*)::int as count from etl.migrations');
await client.end();
await writeVersion({
  network,
  range,
  datasets,
  migrations: migrations.rows[0]?.count ?? 0,
  rows: { ...rows, 'etl.settings': settings.rows.map(({ text }) => text) },
});
