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

/** Of each kind of replication; `FAILOVER_MINUTES` shortens it. */
const MINUTES = Number(process.env['FAILOVER_MINUTES'] ?? 30);
const START = Date.UTC(2026, 0, 1) / 1000;
/** More than `sync` can read in this time at 50 rows a page. */
const NETWORK = { start: START, duration: 2400 * MINUTES, load: 1, accounts: 300 };
/** The newest blocks have no successors, which a daemon waits for. */
const UNFINISHED_SECONDS = 600;
const LONGEST_MS = 3 * 3_600_000;
const DATASETS = ['blocks', 'transactions', 'traces'];
/** What `sync` covers before its server goes: less than it reads in that time. */
const SPELL_MS = [4000, 12_000] as const;
/** So long after a commit that was to be lost, the standby is still cut off. */
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

/** How `sync` fared while its servers took turns. */
interface Outcome {
  readonly promotions: number;
  /** Pages that a server had acknowledged and its successor lacked, as `sync` counted them. */
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

/** True where every dataset covers so many seconds. */
async function isCovered(pair: Pair, seconds: number): Promise<boolean> {
  const rows = await pair.primary().query(`
    select dataset from etl.coverage c, unnest(c.covered) span
    where pass = 0 group by dataset having sum(upper(span) - lower(span)) >= ${seconds}`);
  return rows.length >= DATASETS.length;
}

/**
 * Lets `sync` follow a network while its primary is killed again and again, and the standby promoted. After each time the
 * tables of the new primary are compared with the network; in the end all of a range must be there.
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
  while (Date.now() < ends) {
    await pair.wait(isSynchronous);
    await delay(pick(SPELL_MS));
    if (!isSynchronous) {
      await pair.cutOff();
      await delay(pick(CUT_MS));
    }
    // Half of the old primaries live on: nobody may go on writing to them.
    if (promotions % 2 === 0) await pair.primary().kill();
    await pair.promote();
    promotions += 1;
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
  const lost = [...stderr.matchAll(/"missing":(\d+)[^\n]*the new server lacks pages/g)].reduce(
    (sum, [, pages]) => sum + Number(pages),
    0,
  );
  return { promotions, lost, violations: wrong };
}

test(
  'asynchronous: acknowledged pages are lost, counted and read again',
  async () => {
    const outcome = await takeTurns(false);
    console.log('asynchronous', outcome);
    expect(outcome.violations).toEqual([]);
    expect(outcome.lost).toBeGreaterThan(0);
  },
  LONGEST_MS,
);

test(
  'remote_apply: nothing that was acknowledged is lost',
  async () => {
    const outcome = await takeTurns(true);
    console.log('remote_apply', outcome);
    expect(outcome.violations).toEqual([]);
    expect(outcome.lost).toBe(0);
  },
  LONGEST_MS,
);
