import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tablesOf } from '../../../src/export/write-rows.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { DAY, formatTime } from '../../../src/range.ts';
import { CLI, runApart } from '../at-scale/run-apart.ts';
import { HELD_BACK, serveNetwork, SPAN } from '../network.ts';
import { startServer, type BenchServer, type BenchStore } from '../store.ts';

/** Transactions a second, and for how long such a network is read: long enough that most pages are full. */
const NETWORKS = [
  { load: 1, seconds: 10_800 },
  { load: 10, seconds: 3600 },
  { load: 60, seconds: 1200 },
] as const;
const MONTH = 30 * DAY;

interface Needs {
  requests: number;
  rows: number;
  postgres: number;
  lake: number;
}

/**
 * `npm run bench -- sizing`: the table of docs/operator/sizing.md. It backfills and exports simulated
 * networks of several loads, counts requests, rows and bytes of each dataset, and multiplies them by the
 * length of a month.
 */
export async function measureSizing(
  tell: (measure: string, values: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const server = await startServer();
  const months: Map<string, Needs>[] = [];
  try {
    for (const network of NETWORKS) months.push(await monthOf(server, network, tell));
  } finally {
    await server.stop();
  }
  console.log(`| dataset | ${QUANTITIES.map(([title]) => title).join(' | ')} |`);
  console.log(`|---|${QUANTITIES.map(() => '---|').join('')}`);
  for (const dataset of months[0]?.keys() ?? []) {
    const cells = QUANTITIES.map(([, name, unit]) =>
      months.map((month) => rounded((month.get(dataset)?.[name] ?? NaN) / unit)).join(' / '),
    );
    console.log(`| \`${dataset}\` | ${cells.join(' | ')} |`);
  }
}

/** The columns of the table: the quantity and its unit. */
const QUANTITIES = [
  ['requests', 'requests', 1],
  ['million rows', 'rows', 1e6],
  ['GB of Postgres', 'postgres', 1e9],
  ['GB of lake', 'lake', 1e9],
] as const;

const rounded = (value: number) => Number(value.toPrecision(2)).toLocaleString('en');

async function monthOf(
  server: BenchServer,
  { load, seconds }: (typeof NETWORKS)[number],
  tell: (measure: string, values: Readonly<Record<string, unknown>>) => void,
): Promise<Map<string, Needs>> {
  const start = SPAN.from;
  // Twice: the newest blocks have no successors yet, which a crawl waits for.
  const api = await serveNetwork({ seed: 9, start, duration: seconds + 2 * HELD_BACK, accounts: 2000, load });
  const store = await server.create(`sizing_${load}`);
  const lake = await mkdtemp(join(tmpdir(), 'toncenter-etl-bench-sizing-'));
  try {
    const available = await loadJobs();
    // Datasets that are read pool by pool depend on the number of pools, and those that are not streams on
    // the number of their subjects.
    const streams = available.filter(({ job }) => !('walks' in job) && job.scopes === undefined);
    const chosen = ['--only', streams.map(({ name }) => name).join()];
    const range = ['--from', formatTime(start), '--to', formatTime(start + seconds)];
    const settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: api.url, TONCENTER_RPS: '1000' };
    const backfill = await runApart(server, CLI, ['backfill', ...range, ...chosen], settings);
    const exported = await runApart(server, CLI, ['export', ...range, ...chosen, '--out', lake], settings);
    tell('memory', { load, backfill: backfill.megabytes, export: exported.megabytes });
    await store.client.query('vacuum analyze');
    const month = new Map<string, Needs>();
    for (const { dataset, facts } of tablesOf(streams, available)) {
      const needs = month.get(dataset) ?? { requests: 0, rows: 0, postgres: 0, lake: 0 };
      const { rows, bytes } = await sizeOf(store, facts.name);
      needs.rows += rows;
      needs.postgres += bytes;
      needs.lake += await bytesBelow(join(lake, facts.name));
      month.set(dataset, needs);
    }
    for (const [dataset, needs] of month) {
      needs.requests = await requestsOf(store, dataset);
      for (const name of ['requests', 'rows', 'postgres', 'lake'] as const) needs[name] *= MONTH / seconds;
      tell('a month', { load, dataset, ...needs });
    }
    return month;
  } finally {
    await store.close();
    await rm(lake, { recursive: true });
    await api.stop();
  }
}

/** Rows of a table, and their size with indexes; an empty partition counts for nothing. */
async function sizeOf({ client }: BenchStore, table: string): Promise<{ rows: number; bytes: number }> {
  const { rows } = await client.query<{ rows: number; bytes: number }>(
    `select (select count(*)::float8 from ton."${table}") as rows, sum(pg_total_relation_size(relid))::float8 as bytes
     from pg_partition_tree('ton."${table}"') where isleaf`,
  );
  const [size = { rows: 0, bytes: 0 }] = rows;
  return size.rows === 0 ? { rows: 0, bytes: 0 } : size;
}

async function requestsOf({ client }: BenchStore, dataset: string): Promise<number> {
  const { rows } = await client.query<{ requests: number }>(
    'select count(*)::int as requests from etl.pages where dataset = $1',
    [dataset],
  );
  return rows[0]?.requests ?? 0;
}

async function bytesBelow(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const parts = names.filter((name) => name.endsWith('.parquet')).map((name) => stat(join(folder, name)));
  return (await Promise.all(parts)).reduce((sum, { size }) => sum + size, 0);
}
