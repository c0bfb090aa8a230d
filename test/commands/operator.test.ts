import { readFileSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import pg from 'pg';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { saveWatermark } from '../../src/ledger/stored-settings.ts';
import { takeDuty } from '../../src/ledger/leases.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { query } from '../support/database/query.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { some, thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 5, 1) / 1000;
const DAY = 86_400;
/** Noon is ten times as busy as midnight. */
const CYCLE = 9 / 11;

let cli: Cli;
let store: TestStore;
let simulator: Simulator;
let settings: Record<string, string>;

beforeAll(async () => {
  cli = await openCli();
  store = await openTestStore();
  simulator = await startSimulator({
    start: START,
    duration: 2 * DAY + 7200,
    masterchainInterval: 240,
    maxShards: 1,
    tickTockEvery: 0,
    accounts: 200,
    load: { base: 0.05, dayCycle: CYCLE },
  });
  settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '500' };
});
afterAll(async () => {
  await simulator.close();
  await store.close();
  await cli.close();
});

const RANGE = ['--from', String(START), '--to', String(START + 2 * DAY)];

const Plan = z.object({
  probes: z.number(),
  datasets: z.array(
    z.object({
      dataset: z.string(),
      rows: z.object({ low: z.number(), likely: z.number(), high: z.number() }),
      secondsAt: z.record(z.string(), z.object({ likely: z.number() })),
    }),
  ),
});

describe('plan', () => {
  thorough(
    'estimates what a backfill then brings, within a factor 1.3, and is compared with it',
    async () => {
      const only = ['--only', 'transactions'];
      const planned = await cli.ask(['plan', ...RANGE, ...only, '--json'], settings);
      expect(planned.stderr).toBe('');
      const { datasets, probes } = Plan.parse(JSON.parse(planned.stdout));
      const [dataset] = datasets;
      const real = simulator.truth.counts({ from: START, to: START + 2 * DAY }).transactions;
      expect(dataset!.rows.likely / real).toBeGreaterThan(1 / 1.3);
      expect(dataset!.rows.likely / real).toBeLessThan(1.3);
      expect(Object.keys(dataset!.secondsAt)).toEqual(
        expect.arrayContaining(['1', '10', '25', '100', '500']),
      );
      expect(probes).toBeLessThan(40);
      const people = await cli.ask(['plan', ...RANGE, ...only], settings);
      expect(people.stdout).toMatch(/^transactions +\S+ \(\S+ to \S+\)/m);
      expect(people.stdout).toMatch(/^at {3}1\/s {2}/m);
      expect(people.stdout).toMatch(
        /^machine {3}processes 10 MB of JSON a second, assumed for a small machine/m,
      );
      // Storing the rows takes time, however many requests are allowed.
      expect(dataset!.secondsAt['500']!.likely).toBeGreaterThan(
        (1.5 * dataset!.rows.likely * 1000) / 10_000_000,
      );
      const run = await cli.ask(['backfill', ...RANGE, ...only], settings);
      expect(run.stdout).toMatch(/^estimate {2}transactions: .* rows .*expected.*requests/m);
      const [kept] = await store.database.rows(
        sql`select rows_likely as rows, rows_real as real, requests_real as requests from etl.estimates`,
        z.object({ rows: z.number(), real: z.number(), requests: z.number() }),
      );
      expect(kept!.rows).toBeCloseTo(dataset!.rows.likely, 5);
      expect(kept!.real / real).toBeGreaterThan(0.99);
      expect(kept!.real / real).toBeLessThan(1.05);
      expect(kept!.requests).toBeGreaterThan(5);
      const beyond = ['--from', String(START + DAY), '--to', String(START + 30 * DAY)];
      const cut = await cli.ask(['plan', ...beyond, ...only], settings);
      expect(cut.stdout).toMatch(/^ {10}cut: newer than 20\S+Z is not safe to read yet$/m);
    },
  );
});

test('plan estimates rows of pools that the database does not know yet', async () => {
  const network = { start: START, duration: 4500, load: 2, accounts: 100, electionSeconds: 1200 };
  const [own, small] = await Promise.all([openTestStore(), startSimulator(network)]);
  try {
    const there = { ...settings, DATABASE_URL: own.url, TONCENTER_NETWORK: small.url };
    const range = { from: START + 30, to: START + 3300 };
    const times = ['--from', String(range.from), '--to', String(range.to)];
    const pools = 'nominator_pool_events,nominator_events';
    const { stdout } = await cli.ask(['plan', ...times, '--only', pools, '--json'], there);
    const { datasets } = Plan.parse(JSON.parse(stdout));
    const { truth } = small;
    const real = {
      nominator_pool_events: truth.pools.flatMap((pool) => [...truth.poolEvents(pool, range)]).length,
      nominator_events: truth.pools.flatMap((pool) => [...truth.nominatorEvents(pool, range)]).length,
    };
    expect(Math.min(...Object.values(real))).toBeGreaterThan(0);
    expect(datasets.map(({ dataset }) => dataset).sort()).toEqual(Object.keys(real).sort());
    for (const [dataset, rows] of Object.entries(real)) {
      const guess = datasets.find((planned) => planned.dataset === dataset)?.rows;
      // One sample of each pool gives no more than the order of magnitude.
      expect(guess?.likely, dataset).toBeGreaterThan(0);
      expect(guess?.low, dataset).toBeLessThanOrEqual(rows);
      expect(guess?.high, dataset).toBeGreaterThanOrEqual(rows);
    }
  } finally {
    await small.close();
    await own.close();
  }
});

describe('plan of a network whose server fails', () => {
  const error = (status: number, text: string) => ({
    status,
    body: JSON.stringify({ error: text }),
    headers: {},
  });
  test.each(
    some(
      [
        [
          'refuses an endpoint',
          'traces',
          error(400, 'no such thing'),
          /^not known traces: .*was answered 400/m,
        ],
        ['lacks an endpoint', 'actions', undefined, /^(?:not known|absent) +actions: .*\/api\/v3\/actions/m],
        [
          'fails at an endpoint',
          'jetton_burns',
          error(500, 'NaN is no JSON'),
          /^not known jetton_burns: .*500/m,
        ],
        [
          'answers with no JSON',
          'nft_transfers',
          { status: 200, body: '<html>', headers: {} },
          /^not known nft_transfers: .*JSON/m,
        ],
      ] as const,
      2,
    ),
  )('%s continues with the other endpoints', async (_, dataset, response, line) => {
    const paths = {
      traces: 'traces',
      actions: 'actions',
      jetton_burns: 'jetton/burns',
      nft_transfers: 'nft/transfers',
    };
    const small = await startSimulator({
      start: START,
      duration: 7200,
      load: 1,
      accounts: 100,
      faults: response === undefined ? { absent: [`/api/v3/${dataset}`] } : {},
      before: (request) => (request.path === `/api/v3/${paths[dataset]}` ? response : undefined),
    });
    const own = await openTestStore();
    try {
      const range = ['--from', String(START), '--to', String(START + 600)];
      const only = ['--only', `blocks,${dataset},transactions`];
      const there = { ...settings, DATABASE_URL: own.url, TONCENTER_NETWORK: small.url, ETL_ATTEMPTS: '2' };
      const { code, stdout } = await cli.ask(['plan', ...range, ...only], there);
      expect(stdout).toMatch(/^blocks +\S+ \(\S+ to /m);
      expect(stdout).toMatch(/^transactions +\S+ \(\S+ to /m);
      expect(stdout).not.toMatch(new RegExp(`^${dataset} +\\S+ \\(\\S+ to `, 'm'));
      expect(stdout).toMatch(line);
      expect(code).toBe(0);
    } finally {
      await small.close();
      await own.close();
    }
  });
});

describe('backfill of a source whose early response is wrong once', () => {
  const altered = (pattern: RegExp, to: string) => (body: string) => body.replaceAll(pattern, to);
  test.each(
    some(
      [
        ['a list of blocks without any', '/api/v3/blocks', () => '{"blocks":[]}'],
        [
          'blocks of another day',
          '/api/v3/blocks',
          altered(/"gen_utime":"\d+"/g, `"gen_utime":"${START - DAY}"`),
        ],
        ['blocks with other numbers', '/api/v3/blocks', altered(/"seqno":(\d)/g, '"seqno":9$1')],
        [
          'shards that have no blocks',
          '/api/v3/masterchainBlockShardState',
          altered(/"seqno":(\d)/g, '"seqno":9$1'),
        ],
      ] as const,
      2,
    ),
  )('asks a second time: %s', async (_, path, alter) => {
    let isFirst = true;
    const small = await startSimulator({
      start: START,
      duration: 3000,
      load: 1,
      accounts: 60,
      after: (request, response) => {
        if (request.path !== path || !isFirst) return response;
        isFirst = false;
        return { ...response, body: alter(response.body.toString()) };
      },
    });
    const own = await openTestStore();
    try {
      const there = { ...settings, DATABASE_URL: own.url, TONCENTER_NETWORK: small.url };
      const range = [
        '--from',
        String(START + 60),
        '--to',
        String(START + 1200),
        '--only',
        'blocks,transactions',
      ];
      const { code, stdout, stderr } = await cli.ask(['backfill', ...range], there);
      expect(isFirst).toBe(false);
      expect(stdout, stdout + stderr).toContain('complete: ');
      expect(code).toBe(0);
    } finally {
      await small.close();
      await own.close();
    }
  });
});

describe('backfill of a server that lacks a route of core', () => {
  test.each(
    some(
      [
        ['by the name of the set', '/api/v3/validators/events', 'validator_events', ['--only', 'core']],
        ['without --only', '/api/v3/jetton/transfers', 'jetton_transfers', []],
        ['for two of them', '/api/v3/traces', 'traces', ['--only', 'core,validator_events']],
      ] as const,
      2,
    ),
  )('%s brings the rest, reports the route once, and ends with 0', async (_, path, lacking, only) => {
    const small = await startSimulator({
      start: START,
      duration: 3000,
      load: 1,
      accounts: 60,
      faults: { absent: [path] },
    });
    const own = await openTestStore();
    try {
      const there = {
        ...settings,
        DATABASE_URL: own.url,
        TONCENTER_NETWORK: small.url,
        ETL_DATASETS: 'core',
      };
      const range = ['--from', String(START), '--to', String(START + 300)];
      const { code, stdout, stderr } = await cli.ask(['backfill', ...range, ...only], there);
      const printed = stdout.split('\n').filter((line) => line.includes(path));
      expect(printed).toEqual([`absent    ${lacking}: the server has no ${path}`]);
      expect(code, stdout + stderr).toBe(0);
      const covered = await query(
        own.url,
        `select dataset from etl.coverage where covered <> '{}' order by 1`,
      );
      const names = ['blocks', 'jetton_transfers', 'traces', 'transactions', 'validator_events'];
      expect(covered.map(({ dataset }) => dataset)).toEqual(names.filter((name) => name !== lacking));
    } finally {
      await small.close();
      await own.close();
    }
  });
});

describe('status --check', () => {
  test('is 3 if a dataset is behind, and says which', async () => {
    const only = { ...settings, ETL_DATASETS: 'blocks' };
    await cli.ask(['backfill', ...RANGE], only);
    const behind = await cli.ask(['status', '--check', '--max-lag', '5m'], only);
    expect(behind.code).toBe(3);
    expect(behind.stderr).toMatch(/^check {5}blocks: \d+d( \d+[hm])? behind the clock$/m);
    const fine = await cli.ask(['status', '--check', '--max-lag', '9999d'], only);
    expect([fine.code, fine.stderr]).toEqual([0, '']);
    expect((await cli.ask(['status', '--max-lag', '5m'], only)).code).toBe(2);
    expect((await cli.ask(['status', '--from', '-1h'], only)).code).toBe(2);
  });

  test('without a daemon uses coverage: its end, its holes, and its beginning', async () => {
    const only = { ...settings, ETL_DATASETS: 'blocks' };
    await cli.ask(['backfill', ...RANGE], only);
    const check = async (...more: string[]) => {
      const { code, stderr } = await cli.ask(['status', '--check', ...more], only);
      return [code, stderr];
    };
    const lax = ['--max-lag', '9999d'];
    expect(await check()).toEqual([3, expect.stringMatching(/no daemon .*--max-lag/)]);
    expect(await check(...lax, '--from', String(START))).toEqual([0, '']);
    expect(await check(...lax, '--from', String(START - 7200))).toEqual([
      3,
      'check     blocks: 2h of history is not read yet: 2026-05-31T22:00:00Z .. 2026-06-01T00:00:00Z\n',
    ]);
    // A daemon has run, and runs no longer.
    await saveWatermark(store.database, { utime: START, headSeqno: 9, headUtime: START, waitingFor: null });
    await takeDuty(store.database, 'watermark', 'elsewhere/1/a', 60);
    await store.database.run(
      sql`update etl.settings set updated_at = now() - interval '5 days' where name = 'lookout'`,
    );
    expect(await check(...lax)).toEqual([0, '']);
    const hole = { from: START + 3600, to: START + 3660 };
    await store.database.run(
      sql`update etl.coverage set covered = covered - int8multirange(int8range(${hole.from}, ${hole.to}))`,
    );
    const [code, printed] = await check(...lax);
    expect([code, printed]).toEqual([
      3,
      expect.stringMatching(/^check {5}blocks: 1m of history is not read yet.*T01:00:00Z/),
    ]);
    expect(await check(...lax, '--from', String(hole.to))).toEqual([0, '']);
  });
});

test('--version names the program, its schema, Postgres and the build of the API', async () => {
  const { code, stdout } = await cli.ask(['--version'], settings);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^toncenter-etl +${version.replaceAll('.', '\\.')}$`, 'm'));
  expect(stdout).toMatch(/^schema +\d{4}_\w+$/m);
  expect(stdout).toMatch(/^postgres +1\d\.\d+.*, at .*:\d+\//m);
  expect(stdout).toMatch(/^api +made for builds 1\.2 and 1\.3; last seen 1\.3/m);
  const bare = await cli.ask(['--version'], {});
  expect(bare.stdout).toMatch(/^postgres +1\d.*embedded$/m);
});

thorough('a command that a signal ends leaves no embedded server behind', async () => {
  await cli.run(['migrate'], {});
  const url = (await cli.run(['sql', '--url'], {})).stdout.trim();
  /** How many sessions run the statement there; undefined if no server answers. */
  const running = async () => {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      const { rowCount } = await client.query(
        `select from pg_stat_activity where query = 'select pg_sleep(50)'`,
      );
      return rowCount;
    } catch {
      return undefined;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  expect(await running()).toBe(undefined);
  const command = cli.start(['sql', 'select pg_sleep(50)'], {});
  await expect.poll(running).toBe(1);
  command.child.kill('SIGTERM');
  expect((await command.ended).code).toBe(null);
  expect(await running()).toBe(undefined);
});

test('prune says what is kept, and says so if no retention is set', async () => {
  expect((await cli.ask(['prune'], settings)).code).toBe(2);
  const dry = await cli.ask(['prune', '--dry-run'], { ...settings, ETL_RETENTION: 'blocks:3d' });
  expect(dry.code).toBe(0);
  expect(dry.stdout).toMatch(/^kept {6}blocks: from \d{4}-\d\d-01T00:00:00Z on$/m);
  expect(dry.stdout).toMatch(/^would be dropped: \d+ partitions/m);
  expect((await cli.ask(['prune'], { ...settings, ETL_RETENTION: 'block:3d' })).code).toBe(2);
});
