import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { readVerified } from '../../src/write/certificates.ts';
import { common } from '../../src/range.ts';
import type { ApiRequest } from '../../src/simulator/http/api.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openCli, type Cli, type CliResult, type RunningCli } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { slowness } from '../support/slowness.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 1, 1) / 1000;
const RANGE = ['--from', String(START + 60), '--to', String(START + 320)];

let store: TestStore;
let simulator: Simulator;
let cli: Cli;
/** Called for each request before its response. */
let onRequest: (request: ApiRequest) => void = () => undefined;

beforeAll(async () => {
  [store, cli] = await Promise.all([openTestStore(), openCli()]);
  const before = (request: ApiRequest) => {
    onRequest(request);
    return undefined;
  };
  simulator = await startSimulator({ start: START, duration: 700, seed: 4, load: 2, before });
  expect((await run('backfill', ...RANGE)).code).toBe(0);
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  await store.close();
});

const command = (args: readonly string[]) =>
  [
    [...args, '--only', 'blocks,transactions'],
    { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '200' },
  ] as const;

const run = (...args: string[]): Promise<CliResult> => cli.ask(...command(args));

const start = (...args: string[]): RunningCli => cli.start(...command(args));

test('verify prints what each check examined, and ends with 0 if all is proved', async () => {
  const { code, stdout } = await run('verify', ...RANGE);
  expect(stdout).toMatch(/^transactions +books +[1-9]\d* +0 /m);
  expect(stdout).toMatch(/^proved +blocks: all blocks/m);
  expect(stdout).toMatch(/^proved: 2026-02-01T00:01:00Z \.\. 2026-02-01T00:05:20Z, \d requests$/m);
  expect(code).toBe(0);
});

test('verify names the holes and their causes and ends with 3; --repair fills them', async () => {
  await store.database.run(sql`delete from ton.transactions where utime = to_timestamp(${START + 201})`);
  const found = await run('verify', ...RANGE, '--json');
  expect(found.code).toBe(3);
  const report = JSON.parse(found.stdout) as {
    proved: boolean;
    datasets: { findings: { kind: string }[] }[];
  };
  expect(report.proved).toBe(false);
  expect(report.datasets.flatMap(({ findings }) => findings.map(({ kind }) => kind))).toEqual(
    expect.arrayContaining(['vanished_rows_of_transactions', 'missing_transactions']),
  );
  const repaired = await run('verify', ...RANGE, '--repair');
  expect(repaired.stdout).toMatch(/^proved: /m);
  expect(repaired.code).toBe(0);
});

test('printed commands begin with the variables that choose the network of the database, also if they are not set now', async () => {
  const called = `TONCENTER_NETWORK=${simulator.url} toncenter-etl`;
  const later = ['--from', String(START + 330), '--to', String(START + 340), '--only', 'blocks'];
  const settings = { DATABASE_URL: store.url };
  const [verified, exported, missed, unknown] = await Promise.all([
    cli.ask(['verify', ...later], { ...settings, TONCENTER_NETWORK: simulator.url }),
    cli.ask(['export', ...later.slice(0, 4), '--out', '/tmp/never-written'], settings),
    cli.ask(['quarantine', 'show', '77'], settings),
    cli.ask(['import', '--lake', '/nowhere', ...later], settings),
  ]);
  expect(verified.stdout).toMatch(
    new RegExp(`^hint      ${called} backfill --from \\S+ --to \\S+ --only blocks$`, 'm'),
  );
  expect(exported.stderr).toMatch(/^nothing was exported: no dataset covers a second of /m);
  expect(exported.stderr).toContain(`See ${called} status`);
  expect(missed.stderr).toContain(`hint: \`${called} quarantine list\``);
  expect(unknown.stderr).toContain(`hint: \`${called} export --out\` makes one.`);
});

describe('a deep repair', () => {
  const DEEP = ['verify', ...RANGE, '--deep', '100%', '--repair'];
  const Row = z.object({ second: z.coerce.number(), steps: z.coerce.number() });
  /** The current values of the row that is altered. */
  const read = async () => {
    const rows = await store.database.rows(
      sql`select extract(epoch from utime)::int8 as second, compute_vm_steps as steps from ton.transactions
          where hash = (select hash from ton.transactions where compute_vm_steps is not null and utime >= to_timestamp(${START + 120})
            order by utime, hash limit 1)`,
      Row,
    );
    return rows[0]!;
  };
  const alter = async () => {
    const truth = await read();
    await store.database.run(sql`
      update ton.transactions set compute_vm_steps = -1 where utime = to_timestamp(${truth.second}) and compute_vm_steps = ${truth.steps}`);
    return truth;
  };
  const certified = async (second: number) =>
    common(await readVerified(store.database, { dataset: 'transactions', scope: '', pass: 0 }), [
      { from: second, to: second + 1 },
    ]).length > 0;
  const falselyCertified = async (truth: z.infer<typeof Row>) => {
    const { second, steps } = await read();
    return (await certified(truth.second)) && (second !== truth.second || steps !== truth.steps);
  };
  /** A request for what the repair has uncovered: the comparison reads up to the end of the range. */
  const isRepair = ({ path, search }: ApiRequest, second: number) => {
    const end = Number(search.get('end_utime'));
    return path === '/api/v3/transactions' && end >= second && end < second + 100;
  };

  thorough.each(['SIGKILL', 'SIGTERM'] as const)(
    'that %s ends between its two readings certifies nothing wrong, and the next processes complete it',
    async (signal) => {
      const truth = await alter();
      const repair = start(...DEEP);
      onRequest = (request) => {
        if (isRepair(request, truth.second)) repair.child.kill(signal);
      };
      const { code } = await repair.ended;
      onRequest = () => undefined;
      expect([null, 3, 75]).toContain(code);
      expect(await falselyCertified(truth)).toBe(false);
      // What it has uncovered is read by any process that reads.
      await run('backfill', ...RANGE);
      expect((await run(...DEEP)).code).toBe(0);
      expect(await read()).toEqual(truth);
    },
  );

  thorough('that two processes run at the same time ends like one, with the truth', async () => {
    const truth = await alter();
    const ended = await Promise.all([start(...DEEP).ended, start(...DEEP).ended]);
    for (const { code } of ended) expect([0, 3]).toContain(code);
    expect(await falselyCertified(truth)).toBe(false);
    await run('backfill', ...RANGE);
    expect((await run(...DEEP)).code).toBe(0);
    expect(await read()).toEqual(truth);
  });
});

test('verify ends within ten seconds of SIGTERM, even if its statement waits for a lock that is never released', async () => {
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  await client.query('begin; lock table ton.transactions in access exclusive mode');
  const running = start('verify', ...RANGE);
  // Sessions of this database alone.
  const waits = () =>
    client
      .query(
        `select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
      )
      .then(({ rowCount }) => rowCount ?? 0);
  await expect.poll(waits).toBeGreaterThan(0);
  const began = performance.now();
  running.child.kill('SIGTERM');
  const { code } = await running.ended;
  const tookMs = performance.now() - began;
  await expect.poll(waits).toBe(0);
  await client.end();
  expect(tookMs).toBeLessThan(10_000 * slowness());
  expect([3, 75]).toContain(code);
});

test('verify reports what is not covered, with the command that reads it', async () => {
  const { code, stdout } = await run('verify', '--from', String(START + 60), '--to', String(START + 420));
  expect(code).toBe(3);
  expect(stdout).toMatch(/^missing +blocks: 2026-02-01T00:05:20Z \.\. 2026-02-01T00:07:00Z is not covered$/m);
  expect(stdout).toContain(
    'toncenter-etl backfill --from 2026-02-01T00:05:20Z --to 2026-02-01T00:07:00Z --only blocks',
  );
});

test('verify refuses an invalid share', async () => {
  const { code, stderr } = await run('verify', ...RANGE, '--deep', 'all');
  expect(code).toBe(2);
  expect(stderr).toContain('write it like 1%');
});
