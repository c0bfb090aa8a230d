import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { exported, logIn, verified } from '../support/lake.ts';
import type { FileCall } from '../support/kill/at-file-call.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { compile } from '../support/program/compile.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { twoDays } from '../support/two-days.ts';

const TABLE = 'jetton_transfers';
const DAY = Date.UTC(2026, 0, 31) / 1000;

let store: CrawledStore;
let simulator: Simulator;
let cli: Cli;
let directory: string;
let lake: string;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  simulator = await startSimulator(twoDays.options);
  cli = await openCli();
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-lake-kill-'));
  lake = join(directory, 'lake');
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

const settings = () => ({
  DATABASE_URL: store.url,
  TONCENTER_NETWORK: simulator.url,
  TONCENTER_RPS: '50',
  ETL_DATASETS: TABLE,
  ETL_LAKE: lake,
});

const exportTo = (out: string, from: string, to: string) =>
  exported(store.url, { from, to, only: [TABLE], format: 'parquet', out });

/** The seconds of each part that counts, with its rows. */
async function partsIn(lake: string): Promise<string[]> {
  const { parts } = await logIn(lake, TABLE);
  return parts.map(({ path, rows, keys }) => `${path.replace(/-\w+\.parquet$/, '')}: ${rows} ${keys ?? ''}`);
}

async function killedAt(order: FileCall): Promise<string[]> {
  const preload = pathToFileURL(join(await compile(), 'test/support/kill/at-file-call.js')).href;
  const { child, ended } = cli.start(['sync'], {
    ...settings(),
    NODE_OPTIONS: `--import ${preload}`,
    KILL_AT: JSON.stringify(order),
  });
  const { code, stderr } = await ended;
  expect({ code, signal: child.signalCode, stderr }).toEqual({ code: null, signal: 'SIGKILL', stderr: '' });
  expect(await verified(lake)).toMatchObject({ code: 0, printed: [] });
  return partsIn(lake);
}

test('a daemon that writes a lake may be killed at any moment: the lake is in its old state or its new one, and the next daemon continues at once', async () => {
  await exportTo(lake, '2026-01-31T23:30Z', '2026-01-31T23:40Z');
  await exportTo(lake, '2026-01-31T23:45Z', '2026-01-31T23:50Z');
  // As if the hours before the network began had been read: the first day is whole, and its parts become one.
  await store.ask(
    `update etl.coverage set covered = covered + int8multirange(int8range(${DAY}, ${DAY + 86_400})) where dataset = '${TABLE}'`,
  );
  const whole = join(directory, 'whole');
  await exportTo(whole, '2026-01-31', '2026-02-02');
  const [before, after] = [await partsIn(lake), await partsIn(whole)];
  expect(after).toHaveLength(2);

  const part = `${TABLE}/day=2026-01-31/part-`;
  const log = `${TABLE}/_delta_log/\\d+\\.json$`;
  // Killed while a part is written, before the log names it, and while the log is written.
  expect(await killedAt({ call: 'rename', path: part, isAfter: false })).toEqual(before);
  expect(await killedAt({ call: 'rename', path: part, isAfter: true })).toEqual(before);
  expect(await killedAt({ call: 'link', path: log, isAfter: false })).toEqual(before);
  const added = await killedAt({ call: 'link', path: log, isAfter: true });
  expect(added).toHaveLength(5);
  // The parts of the day are merged: killed before and after the log records it.
  expect(await killedAt({ call: 'rename', path: part, isAfter: true })).toEqual(added);
  expect(await killedAt({ call: 'link', path: log, isAfter: true })).toEqual(after.slice(0, 1));

  const status = async () => (await cli.ask(['status'], settings())).stdout;
  expect(await status()).toContain(`lake      ${lake} is not complete yet`);
  const daemon = cli.start(['sync'], { ...settings(), ETL_LISTEN: '127.0.0.1:0', LOG_LEVEL: 'info' });
  await expect.poll(status).toContain(`lake      ${lake} has what was covered`);
  expect(await partsIn(lake)).toEqual(after);
  const metrics = await (
    await fetch(new URL('/metrics', await daemon.sees(/"status":"(http:[^"]+)"/)))
  ).text();
  expect(metrics).toMatch(/^toncenter_etl_lake_age_seconds \d+$/m);
  expect(metrics).toMatch(/^toncenter_etl_lake_failing 0$/m);
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0 });
  expect(await verified(lake)).toMatchObject({ code: 0, printed: [] });
  const files = await readdir(join(lake, TABLE), { recursive: true });
  // The rest is not in the log, and is deleted an hour later.
  expect(files.filter((name) => /part-.*parquet$/.test(name)).length).toBeGreaterThan(after.length);
});
