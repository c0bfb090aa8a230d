import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { openPair, type Pair } from '../support/failover/pair.ts';
import { keysOf, violations, type Keys } from '../support/kill/invariants.ts';
import { openCli } from '../support/program/cli.ts';
import { startSimulator } from '../support/simulator/simulator.ts';

/** For each kind of replication; `FAILOVER_MINUTES` shortens it. */
const MINUTES = Number(process.env['FAILOVER_MINUTES'] ?? 30);
const START = Date.UTC(2026, 0, 1) / 1000;
/** More than `sync` can read in this time at 50 rows a page. */
const NETWORK = { start: START, duration: 2400 * MINUTES, load: 1, accounts: 300 };
/** The newest blocks have no successors, which a daemon waits for. */
const UNFINISHED_SECONDS = 600;
const LONGEST_MS = 3 * 3_600_000;
const DATASETS = ['blocks', 'transactions', 'traces'];
/** How long `sync` covers before its server fails: less than it needs for the network. */
const SPELL_MS = [4000, 12_000] as const;
/** After a commit that is to be lost, the standby is cut off for this long. */
const CUT_MS = [500, 3000] as const;

const scratches: string[] = [];
afterAll(() => Promise.all(scratches.map((scratch) => rm(scratch, { recursive: true, force: true }))));

const pick = ([from, to]: readonly [number, number]) => from + Math.random() * (to - from);

async function newPair(): Promise<Pair> {
  const scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-failover-'));
  // Open to the user that Postgres runs as.
  await chmod(scratch, 0o755);
  scratches.push(scratch);
  return openPair(scratch);
}

/** The outcome of `sync` while its servers took turns. */
interface Outcome {
  readonly promotions: number;
  /** Seconds that a server had covered when it was lost, and its successor had not. */
  readonly lost: number;
  readonly violations: readonly string[];
}

async function compare(pair: Pair, keys: Keys): Promise<string[]> {
  const client = new pg.Client({ connectionString: pair.primary().url });
  await client.connect();
  try {
    return await violations(client, keys);
  } finally {
    await client.end();
  }
}

/** The number of seconds that the primary covers, for each dataset. */
async function coveredBy(pair: Pair): Promise<Map<string, number>> {
  const rows = await pair.primary().query(`
    select dataset, sum(upper(span) - lower(span))::int as seconds from etl.coverage c, unnest(c.covered) span
    where pass = 0 group by dataset`);
  return new Map(rows.map(({ dataset, seconds }) => [String(dataset), Number(seconds)]));
}

/** True if every dataset covers so many seconds. */
async function isCovered(pair: Pair, seconds: number): Promise<boolean> {
  const covered = await coveredBy(pair);
  return DATASETS.every((dataset) => (covered.get(dataset) ?? 0) >= seconds);
}

/**
 * Runs `sync` on a network while its primary is killed again and again, and the standby promoted. After each
 * failover it compares the tables of the new primary with the network: every covered second has its rows. In
 * the end, the whole range must be there.
 */
async function takeTurns(isSynchronous: boolean): Promise<Outcome> {
  const [pair, cli, simulator] = await Promise.all([
    newPair(),
    openCli(),
    startSimulator({ ...NETWORK, latencyMs: [20, 80], faults: { maxLimit: 50 } }),
  ]);
  const keys = keysOf(simulator.truth, { from: START, to: START + NETWORK.duration });
  const sync = cli.start(['sync', '--only', DATASETS.join(',')], {
    DATABASE_URL: pair.url('read-write'),
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_RPS: '5',
    ETL_SINCE: 'first',
    ETL_PARTITION: 'day',
  });
  await expect.poll(() => isCovered(pair, 1).catch(() => false), { timeout: 120_000 }).toBe(true);
  const ends = Date.now() + MINUTES * 60_000;
  const wrong: string[] = [];
  let promotions = 0;
  let lost = 0;
  while (Date.now() < ends) {
    await pair.wait(isSynchronous);
    await delay(pick(SPELL_MS));
    if (!isSynchronous) {
      await pair.cutOff();
      await delay(pick(CUT_MS));
    }
    const before = await coveredBy(pair);
    await pair.primary().kill();
    await pair.promote();
    promotions += 1;
    const after = await coveredBy(pair);
    for (const [dataset, seconds] of before) lost += Math.max(0, seconds - (after.get(dataset) ?? 0));
    wrong.push(...(await compare(pair, keys)));
    await pair.rejoin();
  }
  const whole = NETWORK.duration - UNFINISHED_SECONDS;
  await expect.poll(() => isCovered(pair, whole), { timeout: LONGEST_MS, interval: 2000 }).toBe(true);
  wrong.push(...(await compare(pair, keys)));
  sync.child.kill('SIGTERM');
  const { code, stderr } = await sync.ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  await simulator.close();
  await cli.close();
  await pair.close();
  const told = stderr.match(/database server changed[^\n]*/g) ?? [];
  expect(told.length).toBeGreaterThan(0);
  expect(stderr).toMatch(/Run `.*toncenter-etl verify` over the time of the failover\./);
  return { promotions, lost, violations: wrong };
}

test(
  'asynchronous: lost rows are neither covered nor stored, and are read again',
  async () => {
    const outcome = await takeTurns(false);
    console.log('asynchronous', outcome);
    expect(outcome.violations).toEqual([]);
    expect(outcome.lost).toBeGreaterThan(0);
  },
  LONGEST_MS,
);

test(
  'remote_apply: no acknowledged row is lost',
  async () => {
    const outcome = await takeTurns(true);
    console.log('remote_apply', outcome);
    expect(outcome.violations).toEqual([]);
    expect(outcome.lost).toBe(0);
  },
  LONGEST_MS,
);
