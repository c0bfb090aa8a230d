import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LakeBusyError } from '../../src/errors.ts';
import { s3Store } from '../../src/lake/lake.ts';
import { hasBuckets, homeWithHttpfs, openBucket, type Bucket } from '../support/bucket.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { openTestStore } from '../support/database/database.ts';
import { exported, imported, logIn, verified } from '../support/lake.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { twoDays } from '../support/two-days.ts';

/*
 * A lake in a bucket of moto, a server with the API of S3, conditional writes included. `pip install
 * "moto[server]" duckdb-extension-httpfs==<version of DuckDB>` installs it; `PYTHON` names the interpreter
 * that has it.
 */

const TABLES = ['blocks', 'transactions', 'traces'];
const ALL = { from: '2026-01-31', to: '2026-02-02', only: TABLES };
const LAKE = 's3://lake/of/ton';
const home = hasBuckets ? await homeWithHttpfs() : undefined;

describe.skipIf(!hasBuckets)('a bucket', () => {
  let bucket: Bucket;
  let source: CrawledStore;
  let folder: string;
  let cli: Cli;

  beforeAll(async () => {
    bucket = await openBucket();
    Object.assign(process.env, bucket.settings);
    folder = await mkdtemp(join(tmpdir(), 'toncenter-etl-s3-'));
    source = await openCrawledStore(twoDays);
    cli = await openCli();
  }, 300_000);
  afterAll(async () => {
    await cli.close();
    await source.close();
    await rm(folder, { recursive: true });
    if (home !== undefined) await rm(home, { recursive: true });
    bucket.close();
  });

  test('stores objects, and creates each of them once', async () => {
    const store = await s3Store('s3://lake/single', (name) => join(folder, name));
    expect(await store.create('a/b', 'first')).toBe(true);
    expect(await store.create('a/b', 'second')).toBe(false);
    expect(await store.read('a/b')).toBe('first');
    const bytes = randomBytes(40_000_000);
    await writeFile(join(folder, 'large'), bytes);
    await store.put('a/large', join(folder, 'large'));
    const fetched = await store.fetch('a/large');
    expect((await readFile(fetched?.path ?? '')).equals(bytes)).toBe(true);
    expect((await store.list('a/')).map(({ name }) => name)).toEqual(['a/b', 'a/large']);
    await store.remove('a/large');
    expect(await store.fetch('a/large')).toBeUndefined();
    await expect((await s3Store('s3://absent', String)).read('x')).rejects.toThrow(/s3:\/\/absent/);
  });

  test('holds a lake like a directory does', async () => {
    const target = await openTestStore();
    const run = () => exported(source.url, { ...ALL, format: 'parquet', out: LAKE });
    const ends = await Promise.allSettled([run(), run()]);
    for (const end of ends)
      expect(end).toSatisfy(() => end.status === 'fulfilled' || end.reason instanceof LakeBusyError);
    expect((await run()).code).toBe(0);
    expect((await run()).printed.filter((line) => line.startsWith('written'))).toEqual([]);
    expect(await verified(LAKE)).toMatchObject({ code: 0, printed: [] });
    expect((await imported(target.url, { ...ALL, lake: LAKE })).printed.length).toBeGreaterThan(1);
    // Rows that are stored are not imported again.
    const again = await imported(target.url, { ...ALL, lake: LAKE });
    expect(again.printed.filter((line) => !line.startsWith('not in the lake'))).toEqual([]);
    await target.close();
  });

  test.skipIf(home === undefined)('is queried by sql, with the results of the database', async () => {
    const settings = { ...bucket.settings, HOME: home ?? '' };
    for (const question of [
      'select day, transactions, aborted, accounts, messages, fees, traces, blocks from daily_activity order by day',
      'select account, count(*) as rows, sum(total_fees) as fees from transactions group by 1 order by 2 desc, 1 limit 5',
      `select hash, lt from transactions where utime >= '2026-02-01 00:00:00Z' order by utime, lt, hash limit 20`,
    ]) {
      const lake = await cli.run(['sql', '--lake', LAKE, '--csv', question], settings);
      const database = await cli.run(['sql', '--csv', question], { DATABASE_URL: source.url });
      expect(database.stdout.split('\n').length).toBeGreaterThan(3);
      expect(database.code).toBe(0);
      expect(lake).toEqual(database);
    }
    const absent = await cli.run(['sql', '--lake', 's3://lake/elsewhere', 'select 1 from blocks'], settings);
    expect(absent).toMatchObject({ code: 2, stdout: '' });
    expect(absent.stderr).toContain('there is no lake at s3://lake/elsewhere');
  });

  test('is kept up to date by sync', async () => {
    const simulator = await startSimulator(twoDays.options);
    const lake = 's3://lake/kept/up';
    const settings = {
      ...bucket.settings,
      DATABASE_URL: source.url,
      TONCENTER_NETWORK: simulator.url,
      TONCENTER_RPS: '50',
      ETL_DATASETS: TABLES.join(),
      ETL_LAKE: lake,
    };
    const daemon = cli.start(['sync'], settings);
    const status = async () => (await cli.ask(['status'], settings)).stdout;
    await expect
      .poll(status, { timeout: 120_000, interval: 1000 })
      .toContain(`lake      ${lake} has what was covered`);
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await verified(lake)).toMatchObject({ code: 0, printed: [] });
    for (const table of TABLES) {
      const { parts } = await logIn(lake, table);
      const [{ rows } = {}] = await source.ask(`select count(*) as rows from ${table}`);
      expect(
        parts.reduce((sum, part) => sum + part.rows, 0),
        table,
      ).toBe(Number(rows));
    }
    await simulator.close();
  });
});
