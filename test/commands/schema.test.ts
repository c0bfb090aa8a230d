import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestStore } from '../support/database/database.ts';
import { createDatabase } from '../support/database/postgres.ts';
import { query } from '../support/database/query.ts';
import { openCli, type Cli } from '../support/program/cli.ts';

let cli: Cli;
let scratch: string;
beforeAll(async () => {
  cli = await openCli();
  scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-schema-'));
});
afterAll(async () => {
  await cli.close();
  await rm(scratch, { recursive: true, force: true });
});

const RANGE = ['--from', '2026-01-01', '--to', '2026-01-02'];
const ADDRESS = `0:${'A'.repeat(64)}`;

/** Every command that works with a database, except those that write what they read into it. */
const READING = [
  ['status'],
  ['verify', ...RANGE],
  ['why', '0'.repeat(64)],
  ['doctor'],
  ['sql', 'select 1'],
  ['reader'],
  ['prune', '--dry-run'],
  ['watch', 'add', ADDRESS],
  ['watch', 'list'],
  ['quarantine', 'list'],
  ['export', ...RANGE, '--out', 'lake'],
];

describe('commands that only read', () => {
  test('say that nothing was crawled into an empty database, and leave it empty', async () => {
    const { url, drop } = await createDatabase();
    for (const args of READING) {
      const { code, stdout, stderr } = await cli.ask(args, {
        DATABASE_URL: url,
        ETL_RETENTION: 'blocks:90d',
      });
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(
        /error: nothing was crawled yet: .* has no schema of toncenter-etl\nhint: .*backfill/,
      );
    }
    expect(await query(url, "select nspname from pg_namespace where nspname in ('ton', 'etl')")).toEqual([]);
    await drop();
  });

  test('say so of a directory without a database, too, and create none', async () => {
    const ETL_DATA_DIR = join(scratch, 'none');
    for (const args of [...READING, ['sql', '--url']]) {
      const { code, stderr } = await cli.ask(args, { ETL_DATA_DIR, ETL_RETENTION: 'blocks:90d' });
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain(`error: nothing was crawled yet: there is no database in ${ETL_DATA_DIR}`);
      expect(stderr).toContain(`hint: Run \`ETL_DATA_DIR=${ETL_DATA_DIR} toncenter-etl backfill\` or`);
    }
    expect(await readdir(scratch)).toEqual([]);
    // If only the demo has run, its rows are named.
    await mkdir(join(ETL_DATA_DIR, 'demo', 'postgres'), { recursive: true });
    const { code, stderr } = await cli.ask(['status'], { ETL_DATA_DIR });
    expect(code).toBe(2);
    expect(stderr).toContain(
      `hint: demo keeps its rows elsewhere: set ETL_DATA_DIR=${join(ETL_DATA_DIR, 'demo')}.`,
    );
  });

  test('leave a database of another version as it is; migrate brings it up to date', async () => {
    const store = await openTestStore();
    const settings = { DATABASE_URL: store.url, ETL_RETENTION: 'blocks:90d' };
    const state = `select (select jsonb_agg(m) from etl.migrations m) as had, (select value from etl.settings where name = 'repeatable') as functions`;
    await query(
      store.url,
      `update etl.settings set value = '{"sha256": "aaaabbbbcccc"}' where name = 'repeatable'`,
    );
    const before = await query(store.url, state);
    for (const args of [...READING, ['plan', ...RANGE]]) {
      const { code, stderr } = await cli.ask(args, settings);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toMatch(
        /error: the database's schema is version \S+, this program needs \S+\nhint: Run `toncenter-etl migrate`/,
      );
    }
    expect(await query(store.url, state)).toEqual(before);
    expect(await cli.ask(['migrate'], settings)).toMatchObject({ code: 0 });
    expect(await cli.ask(['status'], settings)).toMatchObject({ code: 0 });
    await store.close();
  });
});

test('plan creates the schema of an empty database before it asks the API, and no rows', async () => {
  const { url, drop } = await createDatabase();
  const nowhere = { DATABASE_URL: url, TONCENTER_NETWORK: 'http://127.0.0.1:1', ETL_ATTEMPTS: '1' };
  expect(await cli.ask(['plan', ...RANGE], nowhere)).toMatchObject({ code: 75, stdout: '' });
  expect(await query(url, 'select count(*)::int as rows from ton.blocks')).toEqual([{ rows: 0 }]);
  await drop();
});

test('a database that only reads for a while is waited for while its tables are created', async () => {
  const { url, drop } = await createDatabase();
  const name = new URL(url).pathname.slice(1);
  await query(url, `alter database ${name} set default_transaction_read_only = on`);
  const running = cli.start(['migrate'], { DATABASE_URL: url, ETL_ATTEMPTS: '6', LOG_FORMAT: 'json' });
  await running.sees(/not available, retrying/);
  await query(
    url,
    `begin; set transaction read write; alter database ${name} reset default_transaction_read_only; commit`,
  );
  expect(await running.ended).toMatchObject({ code: 0 });
  await drop();
});
