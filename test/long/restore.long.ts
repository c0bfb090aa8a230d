import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { EXIT } from '../../src/errors.ts';
import { formatTime } from '../../src/range.ts';
import { installed, openDumpable, type DumpableServer } from '../support/database/dumpable.ts';
import { query } from '../support/database/query.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

const run = promisify(execFile);
/** The schemas that docs/operator/upgrade.md names. */
const SCHEMAS = ['ton', 'etl', 'etl_partitions'].map((name) => `--schema=${name}`);
/** Tables whose rows a verification proves. */
const TABLES = ['blocks', 'transactions', 'messages', 'traces'];

let scratch: string;
let cli: Cli;
let simulator: Simulator;
let server: DumpableServer;
const now = Math.floor(Date.now() / 1000);
const since = now - 1200;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-restore-'));
  // Open to the user that Postgres runs as.
  await chmod(scratch, 0o755);
  [cli, simulator, server] = await Promise.all([
    openCli(),
    startSimulator({ start: now - 5400, load: 1, accounts: 100, live: { head: now } }),
    openDumpable(join(scratch, 'server')),
  ]);
});
afterAll(async () => {
  await simulator.close();
  await cli.close();
  await server.close();
  await rm(scratch, { recursive: true, force: true });
});

const settings = (database: Readonly<Record<string, string>>) => ({
  ...database,
  TONCENTER_NETWORK: simulator.url,
  TONCENTER_RPS: '200',
  ETL_DATASETS: 'blocks,transactions,traces',
  ETL_WATERMARK_DELAY: '4s',
  LOG_LEVEL: 'info',
});
const urlOf = (name: string) => Object.assign(new URL(server.url), { pathname: `/${name}` }).href;

/** Runs a daemon until everything wanted is stored and `work` is done, and stops it as systemd does. */
async function runDaemon(
  given: Readonly<Record<string, string>>,
  work: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const daemon = cli.start(['sync'], settings(given));
  await daemon.sees(/ready: everything wanted is there/);
  await work();
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: EXIT.done });
}

/** The start and end of each dataset's coverage; it fails if there is a hole. */
async function coveredOf(url: string): Promise<{ from: number; to: number }> {
  const Covered = z.object({ from: z.number(), to: z.number(), parts: z.literal(1) });
  const rows = await query(
    url,
    `select min(lower(part))::int as "from", max(upper(part))::int as "to", count(*)::int as parts
     from etl.coverage, unnest(covered) part where dataset = 'transactions' and pass = 0`,
  );
  return Covered.parse(rows[0]);
}

/** A digest of every row of a range, without the times at which rows were written. */
async function digestsOf(url: string, { from, to }: { from: number; to: number }): Promise<unknown[]> {
  const digest = (table: string) =>
    query(
      url,
      `select '${table}' as name, count(*)::int as rows,
         md5(string_agg(text, ' ' order by text)) as digest
       from (select md5((to_jsonb(t) - 'loaded_at')::text) as text from ton.${table} t
             where utime >= to_timestamp(${from}) and utime < to_timestamp(${to})) one`,
    );
  return (await Promise.all(TABLES.map(digest))).flat();
}

test("a dump that is made during a daemon's run is restored, continues from its coverage, and is proved", async ({
  skip,
}) => {
  if (!server.canDump || !installed('pg_restore')) return skip('no pg_dump with its server here');
  await query(server.url, 'create database original');
  const [original, restored] = [urlOf('original'), urlOf('restored')];
  const dump = join(scratch, 'ton.dump');
  await runDaemon({ DATABASE_URL: original, ETL_SINCE: formatTime(since) }, async () => {
    await run('pg_dump', [
      '--format=custom',
      '--no-owner',
      '--no-privileges',
      ...SCHEMAS,
      `--file=${dump}`,
      original,
    ]);
    const before = await coveredOf(original);
    await expect.poll(() => coveredOf(original), { timeout: 60_000 }).not.toEqual(before);
  });

  await run('createdb', [`--maintenance-db=${server.url}`, 'restored']);
  await run('pg_restore', ['--no-owner', '--exit-on-error', `--dbname=${restored}`, dump]);
  const dumped = await coveredOf(restored);
  const reached = await coveredOf(original);
  expect(dumped.from).toBe(since);
  expect(dumped.to).toBeLessThan(reached.to);
  const counted = `select count(*)::int as pages from etl.pages where lower(span) < ${dumped.to - 60}`;
  const pages = await query(restored, counted);
  // Without ETL_SINCE: the wanted range is in the dump, too.
  await runDaemon({ DATABASE_URL: restored });

  const whole = await coveredOf(restored);
  expect(whole.from).toBe(since);
  expect(whole.to).toBeGreaterThanOrEqual(reached.to);
  expect(await query(restored, counted)).toEqual(pages);
  const range = ['--from', formatTime(since), '--to', formatTime(dumped.to)];
  const verified = await cli.run(['verify', ...range], settings({ DATABASE_URL: restored }));
  expect(verified, verified.stdout).toMatchObject({ code: EXIT.done });
  const both = { from: since, to: reached.to };
  expect(await digestsOf(restored, both)).toEqual(await digestsOf(original, both));
}, 300_000);

test('a copy of the embedded database continues from its coverage, and is proved', async () => {
  const [first, second] = [join(scratch, 'first'), join(scratch, 'second')];
  const range = (to: number) => ['--from', formatTime(now - 4000), '--to', formatTime(to)];
  const ask = (dataDir: string, ...args: string[]) => cli.run(args, settings({ ETL_DATA_DIR: dataDir }));
  expect(await ask(first, 'backfill', ...range(now - 3400))).toMatchObject({ code: EXIT.done });
  await run('cp', ['-a', first, second]);
  expect(await ask(second, 'backfill', ...range(now - 2800))).toMatchObject({ code: EXIT.done });
  expect(await ask(second, 'verify', ...range(now - 2800))).toMatchObject({ code: EXIT.done });
  const pages = `select count(*) from etl.pages where dataset = 'blocks' and lower(span) < ${now - 3500}`;
  const counts = [first, second].map((dataDir) => ask(dataDir, 'sql', '--csv', pages));
  const [ofFirst, ofSecond] = await Promise.all(counts);
  expect(ofFirst?.stdout).toMatch(/^count\r?\n[1-9]/);
  expect(ofSecond?.stdout).toBe(ofFirst?.stdout);
}, 300_000);
