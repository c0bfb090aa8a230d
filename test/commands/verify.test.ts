import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openCli, type Cli, type CliResult } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 1, 1) / 1000;
const RANGE = ['--from', String(START + 60), '--to', String(START + 500)];

let store: TestStore;
let simulator: Simulator;
let cli: Cli;

beforeAll(async () => {
  [store, cli] = await Promise.all([openTestStore(), openCli()]);
  simulator = await startSimulator({ start: START, duration: 900, seed: 4, load: 2 });
  expect((await run('backfill', ...RANGE)).code).toBe(0);
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  await store.close();
});

function run(...args: string[]): Promise<CliResult> {
  return cli.ask([...args, '--only', 'blocks,transactions'], {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_RPS: '200',
  });
}

test('verify prints what each check held, and ends with 0 where all is proved', async () => {
  const { code, stdout } = await run('verify', ...RANGE);
  expect(stdout).toMatch(/^transactions +books +[1-9]\d* +0 /m);
  expect(stdout).toMatch(/^proved +blocks: every block/m);
  expect(stdout).toMatch(/^proved: 2026-02-01T00:01:00Z \.\. 2026-02-01T00:08:20Z, \d requests$/m);
  expect(code).toBe(0);
});

test('verify names the holes and their causes and ends with 3; --repair fills them', async () => {
  await store.database.run(sql`delete from ton.transactions where utime = to_timestamp(${START + 200})`);
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

test('verify tells of what is not covered, with the command that reads it', async () => {
  const { code, stdout } = await run('verify', '--from', String(START + 60), '--to', String(START + 600));
  expect(code).toBe(3);
  expect(stdout).toMatch(/^missing +blocks: 2026-02-01T00:08:20Z \.\. 2026-02-01T00:10:00Z is not covered$/m);
  expect(stdout).toContain(`toncenter-etl backfill --from ${START + 500} --to ${START + 600} --only blocks`);
});

test('verify refuses a share that is none', async () => {
  const { code, stderr } = await run('verify', ...RANGE, '--deep', 'all');
  expect(code).toBe(2);
  expect(stderr).toContain('write it like 1%');
});
