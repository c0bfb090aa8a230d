import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { slowness } from '../support/slowness.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { openCli, type Cli, type CliResult } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { corpusFolder, hasCorpus, NO_CORPUS } from '../support/shared-data.ts';
import { some, thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const TRANSACTIONS = '/api/v3/transactions';

let cli: Cli;
let store: TestStore;
let simulator: Simulator;
let simulators: Simulator[] = [];

beforeAll(async () => {
  cli = await openCli();
});
afterAll(() => cli.close());
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await Promise.all(simulators.map((each) => each.close()));
  simulators = [];
  await store.close();
});

/** An hour and a half of May. */
const MAY: SimulatorOptions = { start: START, duration: 90 * 60, load: 1 };

async function serve(options: SimulatorOptions = MAY): Promise<Simulator> {
  simulator = await startSimulator({ load: 3, accounts: 200, ...options });
  simulators.push(simulator);
  return simulator;
}

function settings(more: Record<string, string> = {}): Record<string, string> {
  return { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '500', ...more };
}

/** A quarter of an hour of the network, only transactions by default. */
const QUARTER = ['backfill', '--from', '2026-05-01', '--to', '2026-05-01T00:15Z', '--only', 'transactions'];

function backfill(...more: string[]): Promise<CliResult> {
  return cli.ask([...QUARTER, ...more], settings());
}

/** On a busy machine a run may take so long that it prints progress. */
const withoutProgress = (stderr: string): string => stderr.replaceAll(/^\{"event":"progress".*\n/gm, '');

const Coverage = z.object({ dataset: z.string(), covered: z.string() });

/** The coverage of each dataset, as text. */
async function coverage(): Promise<z.infer<typeof Coverage>[]> {
  return store.database.rows(
    sql`select dataset, covered::text from etl.coverage where pass = 0 order by dataset`,
    Coverage,
  );
}

async function count(table: string): Promise<number> {
  const [row] = await store.database.rows(
    sql`select count(*)::int as rows from ton.${sql.identifier(table)}`,
    z.object({ rows: z.number() }),
  );
  return row?.rows ?? 0;
}

describe('backfill', () => {
  test('covers its range; a second one sends nothing to the endpoint', async () => {
    await serve();
    const first = await cli.run(QUARTER, settings());
    expect(withoutProgress(first.stderr)).toBe('');
    expect(first.stdout).toContain('complete: 2026-05-01T00:00:00Z .. 2026-05-01T00:15:00Z');
    expect(first.code).toBe(0);
    const truth = [...simulator.truth.transactions({ from: START, to: START + 900 })];
    expect(await count('transactions')).toBe(truth.length);
    simulator.stats.clear();
    const second = await backfill();
    expect([second.code, withoutProgress(second.stderr)]).toEqual([0, '']);
    expect(second.stdout).toMatch(/transactions +100% +nothing/);
    expect(simulator.stats.byPath.get(TRANSACTIONS)).toBeUndefined();
    expect(await count('transactions')).toBe(truth.length);
  });

  test('--dry-run says what would be read and reads nothing', async () => {
    await serve();
    const { code, stdout } = await backfill('--dry-run');
    expect(stdout).toMatch(/^database {2}127\.0\.0\.1/);
    expect(stdout).toContain(`network   the simulated network at ${simulator.url}`);
    expect(stdout).toContain(
      'range     2026-05-01T00:00:00Z .. 2026-05-01T00:15:00Z\n          15m; the end',
    );
    expect(stdout).toMatch(/transactions +0% \(new\) +15m +1/);
    expect(code).toBe(0);
    expect(simulator.stats.byPath.get(TRANSACTIONS)).toBeUndefined();
    expect(await coverage()).toEqual([]);
  });

  test('--max-requests stops it: exit 3, progress is kept, and the next run reads only the rest', async () => {
    // The network is so long that the range is final: no request looks for the watermark.
    const duration = 7 * 3600;
    const dead = [{ from: START + 1200, to: START + duration }];
    await serve({ ...MAY, duration, load: { base: 3, dead } });
    // One for the chain's state, two to look for gaps, two for pages.
    const first = await backfill('--max-requests', '5');
    expect(first.stderr).toContain('all 5 requests of --max-requests are spent');
    expect(first.stdout).toContain('missing   transactions: ');
    expect(first.code).toBe(3);
    expect(simulator.stats.total).toBe(5);
    const kept = await count('transactions');
    expect(kept).toBeGreaterThan(1500);
    const second = await backfill();
    expect([second.code, withoutProgress(second.stderr)]).toEqual([0, '']);
    const truth = [...simulator.truth.transactions({ from: START, to: START + 900 })];
    expect(await count('transactions')).toBe(truth.length);
    const pages = simulator.stats.byPath.get(TRANSACTIONS) ?? 0;
    expect(pages).toBeLessThanOrEqual(Math.ceil(truth.length / 1000) + 3);
  });

  test('--deadline stops it after the current page: exit 3, progress kept', async () => {
    await serve({ ...MAY, load: 4 });
    // At two requests a second, an hour of the network (some fifteen pages) takes longer than that.
    const first = await cli.ask(
      [
        'backfill',
        '--from',
        '2026-05-01',
        '--to',
        '2026-05-01T01:00Z',
        '--only',
        'transactions',
        '--deadline',
        '5s',
      ],
      settings({ TONCENTER_RPS: '2' }),
    );
    expect(first.stdout).toContain('incomplete: ');
    expect(first.stderr).toContain('--deadline of 5s reached');
    expect(first.code).toBe(3);
    expect(simulator.stats.byPath.get(TRANSACTIONS) ?? 0).toBeLessThan(14);
  });

  thorough('--deadline holds even if the API asks to come back in an hour', async () => {
    const later = { status: 429, body: '{}', headers: { 'retry-after': '3600' } };
    await serve({ ...MAY, before: ({ path }) => (path === TRANSACTIONS ? later : undefined) });
    const began = Date.now();
    // Before the crawl begins, it cannot say how much is read.
    const deadlineS = Math.ceil(5 * slowness());
    const { code, stdout } = await backfill('--deadline', `${deadlineS}s`);
    // A page that waits for its response is not a current page.
    expect(Date.now() - began).toBeLessThan(1000 * (deadlineS + 9.5 * slowness()));
    expect(stdout).toContain('incomplete: ');
    expect(code).toBe(3);
  });

  test('--deadline passes before any request: exit 3, and one sentence', async () => {
    const later = { status: 429, body: '{}', headers: { 'retry-after': '3600' } };
    await serve({ ...MAY, before: () => later });
    const began = Date.now();
    const { code, stderr } = await backfill('--deadline', '1s');
    // No page is being written, so it does not wait for one.
    expect(Date.now() - began).toBeLessThan(10_500);
    expect(stderr).toContain('error: stopped before it was done');
    expect(stderr).not.toContain('AbortError');
    expect(code).toBe(3);
  });

  test('of pools that nothing has named, nothing is claimed; what names them, or a person, ends that', async () => {
    await serve();
    const read = (only: string) =>
      cli.ask(['backfill', '--from', '2026-05-01', '--to', '2026-05-01T00:15Z', '--only', only], settings());
    const unnamed = await read('nominator_pool_events');
    expect(unnamed.code).toBe(3);
    expect(unnamed.stdout).toMatch(
      /missing +nominator_pool_events: no pool is known.*validator_events[^]*incomplete/,
    );
    expect(await read('validator_events')).toMatchObject({ code: 0 });
    expect(await read('nominator_pool_events')).toMatchObject({ code: 0 });
    await store.close();
    store = await openTestStore();
    expect(await cli.ask(['watch', 'add', `-1:${'3'.repeat(64)}`], settings())).toMatchObject({ code: 0 });
    expect(await read('nominator_pool_events')).toMatchObject({ code: 0 });
  });

  test('a range that the network has not reached is not claimed', async () => {
    await serve();
    const { code, stdout } = await cli.ask(
      ['backfill', '--from', '2027-01', '--to', '2027-02', '--only', 'transactions'],
      settings(),
    );
    expect(stdout).toContain('nothing of it can be read now');
    expect(code).toBe(3);
    expect(await coverage()).toEqual([]);
  });
});

describe('sync', () => {
  test('is killed: status in another process shows what was covered, and the next start continues', async () => {
    const now = Math.floor(Date.now() / 1000);
    await serve({ start: now - 3600, live: {} });
    const daemon = { ETL_SINCE: '-10m', ETL_DATASETS: 'blocks transactions', ETL_WATERMARK_DELAY: '5s' };
    const killed = cli.start(['sync'], settings(daemon));
    await until(async () => (await count('transactions')) > 900);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const covered = await coverage();
    expect(covered.length).toBeGreaterThan(0);

    // status needs no API, and none is there.
    const { code, stdout } = await cli.ask(
      ['status', '--json'],
      settings({ TONCENTER_NETWORK: 'http://127.0.0.1:1' }),
    );
    expect(code).toBe(0);
    // A dataset without any rows yet has no row of coverage.
    expect(rangesIn(stdout).filter((each) => each.covered !== '{}')).toEqual(covered);

    // The dead daemon's lease ends after a minute.
    await store.database.run(sql`update etl.leases set expires_at = now()`);
    const again = cli.start(['sync'], settings({ ...daemon, LOG_LEVEL: 'info' }));
    await again.sees(/"msg":"(daemon started)"/);
    await until(async () => (await coverage()).every(({ covered: ranges }) => lengthOf(ranges) > 580));
    again.child.kill('SIGTERM');
    expect((await again.ended).code).toBe(0);
    const [blocks] = await coverage();
    expect(blocks?.covered).toMatch(/^\{\[\d+,\d+\)\}$/);
  });
});

/** The covered ranges of `status --json`, as the database prints them. */
function rangesIn(report: string): z.infer<typeof Coverage>[] {
  const { datasets } = JSON.parse(report) as {
    datasets: { dataset: string; covered: { from: number; to: number }[] }[];
  };
  return datasets.map(({ dataset, covered }) => ({
    dataset,
    covered: `{${covered.map(({ from, to }) => `[${from},${to})`).join(',')}}`,
  }));
}

/** The sum of the seconds of the ranges. */
function lengthOf(ranges: string): number {
  return [...ranges.matchAll(/\[(\d+),(\d+)\)/g)].reduce(
    (sum, [, from, to]) => sum + Number(to) - Number(from),
    0,
  );
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

const CUT = 'cut       validator_events: 2026-05-01T01:';
const HELD = String.raw`masterchain block \d+ is missing, though the source shows blocks of 2026-05-01T01:29:5\dZ\. Run the command again`;
const AS_FAR = 'complete as far as it can be read: 2026-05-01';
test.each(
  some<readonly [to: string, code: number, missing: string, lines: readonly string[]]>(
    [
      // If a block is missing, the watermark does not move: what is behind it is old, but cannot be read.
      ['2026-05-01T01:09Z', 3, 'a', [CUT, 'incomplete: 2026-05-01']],
      // An hour and a half is there, and events are read up to a quarter of an hour behind the chain.
      ['2026-05-01T01:09Z', 0, 'no', ['complete: 2026-05-01']],
      ['2026-05-01T01:20Z', 0, 'no', [CUT, AS_FAR]],
      ['2026-05-01T01:29:58Z', 0, 'no', ['cut: newer', CUT, AS_FAR]],
      ['2026-05-01T02:00Z', 0, 'no', ['cut: newer', CUT, AS_FAR]],
      ['2026-05-01T01:09:58Z', 3, 'a', [`cut: newer.* ${HELD}`, CUT, 'incomplete: 2026-05-01']],
      ['2026-05-01T01:20Z', 3, 'a', [`cut: newer.* ${HELD}`, CUT, 'incomplete: 2026-05-01']],
    ],
    1,
  ),
)(
  'says what of a range up to %s cannot be read yet, and ends with %d if %s block is missing',
  async (to, expected, missing, lines) => {
    await serve({ ...MAY, load: 0.3 });
    if (missing === 'a') {
      const info = await fetch(`${simulator.url}/api/v3/masterchainInfo`);
      const { first } = (await info.json()) as { first: { seqno: number } };
      // The block of ten minutes past one.
      const seqno = first.seqno + 70 * 24;
      await serve({ ...MAY, load: 0.3, faults: { holes: [{ from: seqno, to: seqno }] } });
    }
    const range = ['--from', '2026-05-01T01:00Z', '--to', to, '--only', 'validator_events'];
    const own = settings({ ETL_WATERMARK_DELAY: '5s' });
    const { code, stdout } = await cli.ask(['backfill', ...range], own);
    for (const line of lines) expect(stdout).toMatch(new RegExp(`^ *${line}`, 'm'));
    expect(code).toBe(expected);
    const quiet = await cli.ask(['backfill', ...range, '--quiet'], own);
    expect([quiet.code, quiet.stdout]).toEqual([expected, '']);
    const warnings = quiet.stderr.split('\n').filter((line) => line !== '');
    expect(warnings).toEqual(
      expected === 0 ? [] : lines.map((line): unknown => expect.stringMatching(new RegExp(`^${line}`))),
    );
  },
);

describe('--quiet', () => {
  const LOUD = { LOG_LEVEL: 'info', LOG_FORMAT: 'json' };

  test('prints nothing if all is covered, whatever went wrong on the way', async () => {
    await serve();
    simulator.faults.badGateway = 0.3;
    const { code, stdout, stderr } = await cli.ask([...QUARTER, '--quiet'], settings(LOUD));
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(simulator.stats.byStatus.get(502)).toBeGreaterThan(0);
  });

  test('prints on stderr what is missing, and its warnings', async () => {
    await serve();
    const run = await cli.ask([...QUARTER, '--quiet', '--max-requests', '5'], settings(LOUD));
    expect([run.code, run.stdout]).toEqual([3, '']);
    expect(run.stderr).toMatch(/^missing {3}transactions: /m);
    expect(run.stderr).toMatch(/^incomplete: /m);
    simulator.faults.badGateway = 1;
    const away = await cli.ask([...QUARTER, '--quiet'], settings({ ...LOUD, ETL_ATTEMPTS: '2' }));
    expect([away.code, away.stdout]).toEqual([75, '']);
    expect(away.stderr).toMatch(/request failed, retrying/);
  });
});

describe('the demo network', () => {
  const demo = () => ({ DATABASE_URL: store.url, TONCENTER_NETWORK: 'demo', ETL_DATASETS: 'transactions' });

  test('backfill reads the fixed one', async () => {
    const range = ['--from', '2026-01-01', '--to', '2026-01-01T00:03Z'];
    const { code, stdout } = await cli.ask(['backfill', ...range], demo());
    expect(stdout).toContain('the simulated network');
    expect(code).toBe(0);
    expect(await count('transactions')).toBeGreaterThan(300);
    const followed = await cli.ask(['sync'], demo());
    expect(followed.stderr).toContain('holds the fixed demo network, which has no live head to follow');
    expect(followed.code).toBe(2);
  });

  thorough('sync follows a live one, the same at each start, until it is too old', async () => {
    const daemon = cli.start(['sync'], { ...demo(), ETL_SINCE: '-5m', ETL_WATERMARK_DELAY: '5s' });
    await until(async () => (await count('transactions')) > 300);
    daemon.child.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
    const rows = await count('transactions');

    // Another process makes the same chain: rows that were read are in it, and older rows fit next to them.
    const range = ['--from', '-8m', '--to', '-4m'];
    const { code, stdout } = await cli.ask(['backfill', ...range], demo());
    expect(stdout).toContain('the live simulated network');
    expect(code).toBe(0);
    expect(await count('transactions')).toBeGreaterThan(rows);

    await store.database.run(sql`
      update etl.settings set value = jsonb_build_object('genesis', extract(epoch from now() - interval '13h')::int8)
      where name = 'demo'`);
    const old = await cli.ask(['sync'], demo());
    expect(old.stderr).toContain('is over: it lasts 12 hours');
    expect(old.stderr).toContain('To start over set DATABASE_URL to an empty database');
    expect(old.code).toBe(2);
  });
});

describe.skipIf(!hasCorpus)(`recorded data (${NO_CORPUS} if they are absent)`, () => {
  test.each([
    ['mainnet', 617],
    ['testnet', 98],
  ])('all of %s: %i transactions in at most 5 requests', async (network, transactions) => {
    const served = cli.start(['simulate', '--corpus', join(corpusFolder, network)]);
    const url = await served.sees(/TONCENTER_NETWORK=(\S+)/);
    const range = ['--from', '2022-03-31', '--to', '2025-12-13', '--only', 'transactions'];
    const { code, stdout } = await cli.ask(['backfill', ...range], {
      DATABASE_URL: store.url,
      TONCENTER_NETWORK: url,
      TONCENTER_RPS: '100',
    });
    expect(stdout).toContain(`network   ${network}`);
    expect(code).toBe(0);
    expect(await count('transactions')).toBe(transactions);
    served.child.kill('SIGINT');
    const { code: ended, stdout: report } = await served.ended;
    expect(ended).toBe(0);
    expect(Number(/transactions (\d+)/.exec(report)?.[1])).toBeLessThanOrEqual(5);
  });
});
