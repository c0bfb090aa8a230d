import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/postgres/database.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { EXIT, toError } from '../../src/errors.ts';
import { formatTime } from '../../src/range.ts';
import { crawl } from '../support/failover/crawl.ts';
import { openPair, type Pair } from '../support/failover/pair.ts';
import { keysOf, violations } from '../support/kill/invariants.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { questions } from '../support/questions.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
const RANGE = { from: START, to: START + 600 };
const DATASETS = ['blocks', 'transactions'];
const OWNER = 'crawler';

let scratch: string;
let pair: Pair;
let cli: Cli;
let simulator: Simulator;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-failover-'));
  // Open to the user that Postgres runs as.
  await chmod(scratch, 0o755);
  [pair, cli, simulator] = await Promise.all([
    openPair(scratch),
    openCli(),
    startSimulator({ start: START, duration: 960, load: 1, accounts: 100, latencyMs: [10, 30] }),
  ]);
});
afterAll(async () => {
  await simulator.close();
  await cli.close();
  await pair.close();
  await rm(scratch, { recursive: true, force: true });
});

const ask = (url: string, ...args: string[]) =>
  cli.run(args, {
    DATABASE_URL: url,
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_RPS: '100',
    ETL_ATTEMPTS: '1',
  });

/** Waits until the standby has what the primary has. */
async function catchUp(): Promise<void> {
  const [there] = await pair.primary().query('select pg_current_wal_lsn()::text as lsn');
  const asked = `select pg_last_wal_replay_lsn() >= '${String(there?.['lsn'])}' as done`;
  await expect.poll(() => pair.standby().query(asked)).toEqual([{ done: true }]);
}

test('a standby without the schema says where it comes from', async () => {
  const migrating = await ask(pair.standby().url, 'migrate');
  expect(migrating.code).toBe(EXIT.tryAgain);
  expect(migrating.stderr).toMatch(
    /needs a migration, but the server is read-only[^]*hint: Run `TONCENTER_NETWORK=\S+ toncenter-etl migrate` on the primary/,
  );
  const reading = await ask(pair.standby().url, 'status');
  expect(reading.code).toBe(EXIT.usage);
  expect(reading.stderr).toContain('nothing was crawled yet');
});

test('a crawl ends when a standby was promoted; the next one reads again what was lost', async () => {
  const url = pair.url('read-write');
  let pages = 0;
  const order = { url, api: simulator.url, datasets: DATASETS, range: RANGE, page: 20, owner: OWNER };
  const onPage = () => (pages += 1);
  const first = crawl({ ...order, onPage }).then(
    (missing) => expect.fail(`it ended, ${missing} ranges are missing`),
    (error: unknown) => toError(error),
  );
  const reach = (count: number) => expect.poll(() => pages).toBeGreaterThan(count);
  await reach(5);
  await pair.cutOff();
  await reach(pages + 5);
  await pair.primary().kill();
  await pair.promote();

  const error = await first;
  expect(error).toMatchObject({ code: 'server_changed', exitCode: EXIT.tryAgain });
  expect(error.message).toMatch(/timeline is 2 instead of 1/);

  const counted = `select count(*)::int as held from etl.pages where worker = '${OWNER}' and completed is not null`;
  const [row] = await pair.primary().query(counted);
  expect(Number(row?.['held'])).toBeLessThan(pages);
  const client = new pg.Client({ connectionString: pair.primary().url });
  await client.connect();
  const keys = keysOf(simulator.truth, RANGE);
  expect(await violations(client, keys)).toEqual([]);
  expect(await crawl({ ...order, onPage })).toBe(0);

  expect(await violations(client, keys)).toEqual([]);
  await client.end();
});

test('on a standby everything that only reads works, and everything that writes waits', async () => {
  await pair.rejoin();
  const [primary, standby] = [pair.primary().url, pair.standby().url];
  // The test's own crawl is another build than the program, with another digest of the schema.
  expect(await ask(primary, 'migrate')).toMatchObject({ code: EXIT.done });
  await catchUp();
  expect(await ask(standby, 'sql', 'select 1')).toMatchObject({ code: EXIT.usage });
  for (const args of [['sql', 'select 1'], ['reader']])
    expect(await ask(primary, ...args)).toMatchObject({ code: EXIT.done });
  const [row] = await pair.primary().query('select hash from ton.transactions limit 1');
  await catchUp();

  const range = ['--from', formatTime(RANGE.from), '--to', formatTime(RANGE.to)];
  const ended = async (...args: string[]) => {
    const { code, stdout, stderr } = await ask(standby, ...args);
    return { args, code, stdout, stderr };
  };
  const done = { code: EXIT.done };
  const results = await Promise.all([
    ended('status', '--json'),
    ended('sql', '--csv', 'select count(*) from transactions'),
    ended('export', ...range, '--only', 'transactions', '--out', join(scratch, 'export')),
    ended('why', String(row?.['hash'])),
    ended('doctor'),
    ended('reader', '--keep-password'),
  ]);
  for (const result of results) expect(result).toMatchObject(done);
  // No request can be sent from here: the budget of requests is the primary's.
  const unknown = await ended('why', Buffer.alloc(32).toString('base64'));
  expect(unknown).toMatchObject({ code: EXIT.incomplete });
  expect(unknown.stdout).toMatch(/read-only/);
  const written = await Promise.all([ended('reader'), ended('backfill', ...range, '--only', 'transactions')]);
  expect(written.map(({ code }) => code)).toEqual([EXIT.usage, EXIT.tryAgain]);
  for (const { stderr } of written) expect(stderr).toMatch(/read-only/);
});

test('the questions have the same answers on a standby, and it reports what is complete', async () => {
  expect(questions.length).toBeGreaterThan(14);
  const complete = `select etl.assert_complete('transactions', to_timestamp(${RANGE.from}), to_timestamp(${RANGE.to}))`;
  const answers = async (url: string) => {
    const database = await openDatabase({ url, applicationName: 'questions' });
    const given: unknown[] = [];
    for (const statement of [...questions.map((question) => question.statement), complete])
      given.push(
        await runSql(database, statement, { write: false }).catch((error: unknown) => String(error)),
      );
    await database.close();
    return given;
  };
  const there = await answers(pair.standby().url);
  expect(there).toEqual(await answers(pair.primary().url));
  expect(there.at(-1)).toMatchObject({ rows: [['t']] });
});
