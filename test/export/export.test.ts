import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exportRows } from '../../src/commands/export.ts';
import { readManifest, type Manifest } from '../../src/export/manifest.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { WIDE_NUMBERS } from '../../src/export/wide-numbers.ts';
import { silent, testConfig } from '../support/crawl.ts';
import { twoDays } from '../support/two-days.ts';

let store: CrawledStore;
let duck: DuckDBConnection;
let directory: string;
let outcome: { code: number; printed: string[] };

const RANGE = { from: '2026-01', to: '2026-02-01T00:20Z' };

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  duck = await DuckDBConnection.create();
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-export-'));
  outcome = await run({ only: ['all'], format: 'parquet', out: join(directory, 'parquet') });
});
afterAll(async () => {
  duck.closeSync();
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

async function run(flags: { only: string[]; format: string; out: string; from?: string; to?: string }) {
  const printed: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  const error = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const invocation = {
    config: testConfig({ databaseUrl: store.url }),
    logger: silent,
    now: Date.now() / 1000,
  };
  const code = await exportRows(invocation, { ...RANGE, ...flags });
  log.mockRestore();
  error.mockRestore();
  return { code, printed };
}

const written = (printed: readonly string[]) =>
  printed.filter((line) => line.startsWith('written ')).map((line) => /^written (\S+):/.exec(line)?.[1]);

async function ofDuck(statement: string): Promise<unknown[]> {
  const reader = await duck.runAndReadAll(statement);
  return reader.getRowsJson()[0] ?? [];
}

/** A number for all values of a column, in the words of both databases. */
function sums(column: { name: string; type: string }): { duck: string; postgres: string } {
  const name = `"${column.name}"`;
  const both = (text: string) => ({ duck: text, postgres: text });
  const isNumber = /^(bigint|integer|smallint|numeric)$/.test(column.type) && !WIDE_NUMBERS.has(column.name);
  if (isNumber) return both(`sum(${name})`);
  if (column.type === 'boolean') return both(`sum(case when ${name} then 1 else 0 end)`);
  if (column.type === 'double precision') return both(`round(sum(${name}))::bigint`);
  if (column.type === 'timestamp with time zone')
    return {
      duck: `sum(epoch_us(${name}))`,
      postgres: `sum((extract(epoch from ${name}) * 1000000)::bigint)`,
    };
  return { duck: `sum(strlen(${name}))`, postgres: `sum(octet_length(${name}::text))` };
}

const manifest = (): Promise<Manifest> => readManifest(join(directory, 'parquet'), 'parquet');

const within = ({ from, to }: { from: string | null; to: string | null }) =>
  from === null ? 'true' : `utime >= '${from}' and utime < '${to}'`;

describe('export to parquet', () => {
  test('takes lists and look-ups that were read as they are now, and says when', async () => {
    const { files } = await manifest();
    const [masters] = files.filter(({ table }) => table === 'jetton_masters');
    expect(masters).toMatchObject({
      file: 'jetton_masters/jetton_masters.parquet',
      from: null,
      grade: 'as read',
    });
    expect(masters?.taken_at).toMatch(/^20\d\d-.*Z$/);
    const rows = await store.ask('select count(*) as rows from jetton_masters');
    expect(rows).toEqual([{ rows: String(masters?.rows) }]);
    expect(files.filter(({ table }) => table === 'blocks').map(({ taken_at }) => taken_at)).toEqual([
      null,
      null,
    ]);
    // Nobody looked them up.
    expect(files.filter(({ table }) => table === 'dns_records')).toEqual([]);
  });

  test('writes a file for each partition, and a manifest of all of them', async () => {
    expect(outcome.code).toBe(0);
    const { files } = await manifest();
    const streams = files.filter(({ table }) => table === 'transactions');
    expect(streams).toMatchObject([
      {
        file: 'transactions/transactions_2026_01_01.parquet',
        from: '2026-01-01T00:00:00Z',
        to: '2026-02-01T00:00:00Z',
      },
      {
        file: 'transactions/transactions_2026_02_01.parquet',
        from: '2026-02-01T00:00:00Z',
        to: '2026-02-01T00:20:00Z',
      },
    ]);
    for (const { file, bytes } of files)
      expect((await stat(join(directory, 'parquet', file))).size).toBe(bytes);
    expect(
      (await readdir(join(directory, 'parquet'), { recursive: true })).filter((name) => /partial/.test(name)),
    ).toEqual([]);
  });

  test('says of each file how far to trust it', async () => {
    const { files } = await manifest();
    const grades = files
      .filter(({ table }) => table === 'blocks')
      .map(({ from, grade }) => `${from ?? ''} ${grade}`);
    // Nobody read January before the network began.
    expect(grades).toEqual(['2026-01-01T00:00:00Z incomplete', '2026-02-01T00:00:00Z covered']);
  });

  test('DuckDB reads the same rows: every column of every table has the sum that Postgres has', async () => {
    const { files } = await manifest();
    expect(new Set(files.map(({ table }) => table)).size).toBeGreaterThan(10);
    for (const entry of files) {
      const each = entry.columns.map((column) => ({ ...sums(column), name: `"${column.name}"` }));
      const of = (side: 'duck' | 'postgres') =>
        each
          .map((column) => `count(${column.name})::text || ' ' || coalesce((${column[side]})::text, 'none')`)
          .join(', ');
      const path = join(directory, 'parquet', entry.file);
      const [mine = {}] = await store.ask(
        `select array_to_json(array[count(*)::text, ${of('postgres')}])::text as all from ${entry.table} where ${within(entry)}`,
      );
      const theirs = await ofDuck(`select count(*)::text, ${of('duck')} from read_parquet('${path}')`);
      expect(theirs, entry.file).toEqual(JSON.parse(mine['all'] ?? '') as unknown[]);
      expect(theirs[0], entry.file).toBe(String(entry.rows));
    }
  });

  test('types are those that analysts calculate with', async () => {
    const reader = await duck.runAndReadAll(
      `describe select utime, lt, account, total_fees, aborted, extra, compute_exit_code
       from read_parquet('${join(directory, 'parquet', 'transactions')}/*.parquet')`,
    );
    expect(reader.getRowsJson().map(([name, type]) => [name, type])).toEqual([
      ['utime', 'TIMESTAMP WITH TIME ZONE'],
      ['lt', 'BIGINT'],
      ['account', 'VARCHAR'],
      ['total_fees', 'DECIMAL(38,0)'],
      ['aborted', 'BOOLEAN'],
      ['extra', 'VARCHAR'],
      ['compute_exit_code', 'INTEGER'],
    ]);
  });

  test('a second run writes nothing; a row that changed, vanished or came writes its file alone', async () => {
    const again = () => run({ only: ['all'], format: 'parquet', out: join(directory, 'parquet') });
    const { printed } = await again();
    expect(written(printed)).toEqual([]);
    expect(printed).toHaveLength((await manifest()).files.length);

    await store.ask(
      `update traces set loaded_at = clock_timestamp() where trace_id = (select min(trace_id) from traces where utime >= '2026-02-01Z' and utime < '2026-02-01 00:20Z')`,
    );
    expect(written((await again()).printed)).toEqual(['traces/traces_2026_02_01.parquet']);

    await store.ask(
      `delete from jetton_transfers where (utime, transaction_hash) = (select utime, transaction_hash from jetton_transfers where utime < '2026-02-01Z' limit 1)`,
    );
    expect(written((await again()).printed)).toEqual([
      'jetton_transfers/jetton_transfers_2026_01_01.parquet',
    ]);

    await rm(join(directory, 'parquet', 'blocks', 'blocks_2026_01_01.parquet'));
    expect(written((await again()).printed)).toEqual(['blocks/blocks_2026_01_01.parquet']);
    expect(written((await again()).printed)).toEqual([]);
  });
});

describe('export to csv', () => {
  test('holds every digit, and tells null from the empty string', async () => {
    const out = join(directory, 'csv');
    const { code } = await run({ only: ['jetton_transfers'], format: 'csv', out, from: '2026-02-01' });
    expect(code).toBe(0);
    const [file = ''] = (await readManifest(out, 'csv')).files.map((entry) => entry.file);
    const path = join(out, file);
    const theirs = await ofDuck(
      `select count(*)::text, sum(amount::hugeint)::text, count(custom_payload)::text, min(utime)
       from read_csv('${path}', header = true, all_varchar = true)`,
    );
    const [mine = {}] = await store.ask(
      `select count(*), sum(amount), count(custom_payload) as payloads, (min(utime) at time zone 'UTC')::text || '+00' as first
       from jetton_transfers where utime >= '2026-02-01Z' and utime < '2026-02-01 00:20Z'`,
    );
    expect(theirs).toEqual(Object.values(mine));
  });
});

test('a directory with something else is left alone', async () => {
  const out = join(directory, 'other');
  await run({ only: ['validator_events'], format: 'csv', out });
  await expect(run({ only: ['validator_events'], format: 'parquet', out })).rejects.toThrow(
    /holds csv files/,
  );
  await writeFile(join(out, 'manifest.json'), '{"name":"a web app"}');
  await expect(run({ only: ['validator_events'], format: 'csv', out })).rejects.toThrow(
    /no manifest of an export/,
  );
  expect(await readFile(join(out, 'manifest.json'), 'utf8')).toBe('{"name":"a web app"}');
  await expect(run({ only: ['blocks'], format: 'xml', out })).rejects.toThrow(/parquet or csv/);
});
