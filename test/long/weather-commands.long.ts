import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, open as openFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbedded, type EmbeddedServer } from '../../src/embedded/embedded.ts';
import { EXIT } from '../../src/errors.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

/** Some of these are reserved for superusers. */
const CONNECTIONS = 12;
const START = Date.UTC(2026, 0, 1) / 1000;
const DURATION = 900;

/** This server is separate: other tests would not survive what is done to it. */
let server: EmbeddedServer;
let directory: string;
/** The server has a small disk of its own if this user may mount one. */
let hasOwnDisk: boolean;
let cli: Cli;
let simulator: Simulator;

/** Closes what was opened, the last first, even if a later opening or another close fails. */
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-weather-'));
  ends.push(() => rm(directory, { recursive: true, force: true }));
  hasOwnDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'tmpfs', directory]).status === 0;
  if (hasOwnDisk) ends.push(() => spawnSync('umount', ['--lazy', directory]));
  await chmod(directory, 0o755);
  cli = await openCli();
  ends.push(() => cli.close());
  simulator = await startSimulator({ start: START, duration: DURATION, load: 1, latencyMs: [20, 40] });
  ends.push(() => simulator.close());
  await open();
  ends.push(() => server.close());
  await asAdmin(`create role crawler login createdb password 'secret'`);
  await asAdmin('create database crawled owner crawler');
});
afterAll(async () => {
  const failures: unknown[] = [];
  for (const end of ends.reverse())
    await Promise.resolve()
      .then(end)
      .catch((error: unknown) => failures.push(error));
  expect(failures).toEqual([]);
});

async function open(): Promise<void> {
  const settings = { fsync: 'off', max_connections: String(CONNECTIONS) };
  server = await openEmbedded({ dataDir: join(directory, 'data'), settings });
}

async function asAdmin(statement: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: urlOf(server.url, { database }) });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement);
    return rows;
  } finally {
    await client.end();
  }
}

function urlOf(
  text: string,
  { database, user }: { database: string; user?: readonly [string, string] },
): string {
  const url = new URL(text);
  url.pathname = `/${database}`;
  if (user !== undefined) [url.username, url.password] = user;
  return url.href;
}

const endSessions = () =>
  asAdmin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'crawled'`);
const readOnly = async (value: 'on' | 'off') => {
  await asAdmin(`alter database crawled set default_transaction_read_only = ${value}`);
  await endSessions();
};

/** Takes every connection that is not a superuser's, and returns a function that releases them. */
async function takeConnections(): Promise<() => Promise<void>> {
  const url = urlOf(server.url, { database: 'postgres', user: ['crawler', 'secret'] });
  const taken: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      expect(error).toMatchObject({ code: '53300' });
      return async () => {
        await Promise.all(taken.map((each) => each.end()));
      };
    }
    taken.push(client);
  }
}

const settings = (more: Record<string, string> = {}) => ({
  DATABASE_URL: urlOf(server.url, { database: 'crawled', user: ['crawler', 'secret'] }),
  TONCENTER_NETWORK: simulator.url,
  TONCENTER_RPS: '50',
  LOG_LEVEL: 'info',
  ETL_SINCE: 'first',
  ETL_WATERMARK_DELAY: '2s',
  ...more,
});

const SYNC = ['sync', '--only', 'blocks,transactions,traces'];
const WAITS = /(not available, retrying)/;
const STARTED = /(daemon started)/;

/** Waits until a dataset is covered to its end: pauses of the daemon have grown up to a minute by then. */
async function covered(): Promise<void> {
  const end = Math.floor(START + DURATION * 0.9);
  const query = `select 1 from etl.coverage where dataset = 'traces' and pass = 0 and covered @> ${end}::bigint`;
  await expect.poll(() => asAdmin(query, 'crawled'), { interval: 200 }).toHaveLength(1);
}

test('a database that is read-only, ends sessions, is full of them or restarts is waited for, from the first moment on', async () => {
  // The database is empty, and nothing can be migrated.
  await readOnly('on');
  const once = ['backfill', '--from', String(START), '--to', String(START + 60), '--only', 'blocks'];
  const given = await cli.run(once, settings({ ETL_ATTEMPTS: '2' }));
  expect(given.code).toBe(EXIT.tryAgain);
  expect(given.stderr).toContain('but the server is read-only');
  const daemon = cli.start(SYNC, settings());
  await daemon.sees(WAITS);
  await readOnly('off');
  await daemon.sees(STARTED);
  await readOnly('on');
  await delay(1000);
  await readOnly('off');
  const giveBack = await takeConnections();
  await endSessions();
  const full = await cli.run(once, settings({ ETL_ATTEMPTS: '2' }));
  expect(full.code).toBe(EXIT.tryAgain);
  await giveBack();
  await server.close();
  await open();
  // Each session that it opens is ended for a while.
  const backfill = cli.start(
    ['backfill', '--from', String(START), '--to', String(START + 300), ...SYNC.slice(1)],
    settings(),
  );
  for (let round = 0; round < 8; round += 1) {
    await delay(250);
    await endSessions();
  }
  expect(await backfill.ended).toMatchObject({ code: EXIT.done });
  await covered();
  daemon.child.kill('SIGINT');
  expect(await daemon.ended).toMatchObject({ code: EXIT.done });
});

const DAY = ['--from', String(START), '--to', String(START + 300)];

test.each([
  ['verify', 'verify', ...DAY, '--only', 'blocks'],
  ['export', 'export', ...DAY, '--only', 'blocks', '--out', 'lake'],
  ['import', 'import', ...DAY, '--only', 'blocks', '--lake', 'lake'],
  ['status', 'status'],
  ['plan', 'plan', ...DAY, '--only', 'blocks'],
])('%s continues if its sessions are ended while it runs', async (_, ...command) => {
  const holder = new pg.Client({ connectionString: urlOf(server.url, { database: 'crawled' }) });
  await holder.connect();
  try {
    await holder.query('begin; lock table etl.coverage in access exclusive mode');
    const run = cli.start(command, settings());
    const waiting = `from pg_stat_activity where usename = 'crawler' and wait_event_type = 'Lock' and datname = 'crawled'`;
    await expect.poll(() => asAdmin(`select 1 ${waiting}`), { interval: 20 }).not.toEqual([]);
    await asAdmin(`select pg_terminate_backend(pid) ${waiting}`);
    await run.sees(WAITS);
    await holder.query('commit');
    const { code, stderr } = await run.ended;
    expect(code, stderr.slice(-1500)).toBe(EXIT.done);
  } finally {
    await holder.end();
  }
});

/** Fills the disk, and returns a function that frees it again. */
async function fillDisk(): Promise<() => Promise<void>> {
  const path = join(directory, 'full');
  const file = await openFile(path, 'w');
  for (const bytes of [2 ** 20, 2 ** 12]) {
    const block = Buffer.alloc(bytes);
    let written = bytes;
    while (written === bytes) written = await file.write(block).then((done) => done.bytesWritten, noRoom);
  }
  await file.close();
  return () => rm(path);
}

function noRoom(error: unknown): number {
  expect(error).toMatchObject({ code: 'ENOSPC' });
  return 0;
}

test('a full disk is waited for, and nothing is lost', async ({ skip }) => {
  skip(!hasOwnDisk, 'this user cannot mount a disk');
  await asAdmin('create database stored owner crawler');
  const url = urlOf(server.url, { database: 'stored', user: ['crawler', 'secret'] });
  const range = { from: START, to: START + 800 };
  const command = ['backfill', '--from', String(range.from), '--to', String(range.to), ...SYNC.slice(1)];
  const slow = { ETL_ATTEMPTS: '2', TONCENTER_RPS: '1' };
  const backfill = cli.start(command, settings({ DATABASE_URL: url, ...slow }));
  const pages = () => asAdmin('select 1 from etl.pages limit 1', 'stored').catch(() => []);
  await expect.poll(pages, { interval: 50 }).toHaveLength(1);
  // Otherwise it may be done before the disk is full.
  backfill.child.kill('SIGSTOP');
  const makeRoom = await fillDisk();
  backfill.child.kill('SIGCONT');
  await backfill.sees(WAITS);
  const first = await backfill.ended;
  expect(first, first.stderr.slice(-1500)).toMatchObject({ code: EXIT.tryAgain });
  await makeRoom();
  // A server that had no room for its log has ended.
  await server.close();
  await open();
  expect(await cli.run(command, settings({ DATABASE_URL: url }))).toMatchObject({ code: EXIT.done });
  const [stored] = await asAdmin(
    `select (select count(*)::int from ton.blocks) as blocks, (select count(*)::int from ton.transactions) as transactions,
       (select count(*)::int from ton.messages) as messages`,
    'stored',
  );
  expect(stored).toEqual(simulator.truth.counts(range));
});

test('a process that was stopped for longer than its leases loses them: nothing is lost, and nothing is read twice', async () => {
  await asAdmin('create database stopped owner crawler');
  const url = urlOf(server.url, { database: 'stopped', user: ['crawler', 'secret'] });
  const range = { from: START, to: START + 800 };
  const command = ['backfill', '--from', String(range.from), '--to', String(range.to), ...SYNC.slice(1)];
  const ask = (text: string) => asAdmin(text, 'stopped').catch(() => []);
  const stopped = cli.start(command, settings({ DATABASE_URL: url, TONCENTER_RPS: '3' }));
  const own = `owner like '%/${String(stopped.child.pid)}/%'`;
  const reads = `select 1 from etl.leases where ${own} and (select count(*) from etl.pages) > 1 limit 1`;
  await expect.poll(() => ask(reads), { interval: 20 }).toHaveLength(1);
  stopped.child.kill('SIGSTOP');
  // Two minutes later.
  await ask(`update etl.leases set expires_at = expires_at - interval '2 minutes' where ${own}`);
  const other = await cli.run(command, settings({ DATABASE_URL: url }));
  expect(other, other.stderr.slice(-1500)).toMatchObject({ code: EXIT.done });
  stopped.child.kill('SIGCONT');
  const { code, stderr } = await stopped.ended;
  expect(code, stderr.slice(-1500)).toBe(EXIT.done);
  const [stored] = await ask(
    `select (select count(*)::int from ton.blocks) as blocks, (select count(*)::int from ton.transactions) as transactions,
       (select count(*)::int from ton.messages) as messages`,
  );
  expect(stored).toEqual(simulator.truth.counts(range));
  const twice = await ask(`
    select a.dataset, (a.completed * b.completed)::text as seconds from etl.pages a join etl.pages b using (dataset, scope, pass)
    where a.id < b.id and a.completed && b.completed`);
  expect(twice).toEqual([]);
});

test.each([34, 40, 48])('a process that may open only %i files says so, without a stack', async (files) => {
  const few = await cli.runWithin(`-n ${files}`, ['backfill', '--from', '2026-01-01', '--to', '2026-01-02']);
  expect(few.code).toBe(EXIT.usage);
  expect(few.stderr).toMatch(/^error: too many open files|insufficient file descriptors/m);
  expect(few.stderr).toMatch(/\nhint: Raise the limit: .*\n$/);
  expect(few.stderr).not.toMatch(/^ +at /m);
});
