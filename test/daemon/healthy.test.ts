import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { compile } from '../support/program/compile.ts';
import { openCli, type Cli, type RunningCli } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openScreen } from '../support/program/screen.ts';
import { promtool } from '../support/program/promtool.ts';
import { thorough } from '../support/thorough.ts';

const ROOT = join(import.meta.dirname, '..', '..');

let cli: Cli;
let store: TestStore;
let other: TestStore;
let simulator: Simulator;
let daemon: RunningCli;
let url: string;
let settings: Record<string, string>;

beforeAll(async () => {
  cli = await openCli();
  [store, other] = [await openTestStore(), await openTestStore()];
  const now = Math.floor(Date.now() / 1000);
  simulator = await startSimulator({ start: now - 1200, live: { head: now }, load: 0.5, accounts: 100 });
  // All other settings have their defaults.
  settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '50' };
  daemon = cli.start(['sync'], { ...settings, ETL_LISTEN: '127.0.0.1:0', LOG_LEVEL: 'info' });
  url = await daemon.sees(/"status":"(http:[^"]+)"/);
});
afterAll(async () => {
  daemon.child.kill('SIGKILL');
  await simulator.close();
  await Promise.all([store.close(), other.close()]);
  await cli.close();
});

/** How many datasets have coverage: all of core except the one that is a quarter of an hour late. */
async function followed(): Promise<number> {
  const Count = z.object({ count: z.coerce.number() });
  const [row] = await store.database.rows(
    sql`select count(*) as count from etl.coverage where pass = 0 and not isempty(covered)`,
    Count,
  );
  return row?.count ?? 0;
}

/** The arguments of the command that the crontab runs every morning. */
function checkOfCrontab(): string[] {
  const words = /node dist\/src\/cli\.js (status .*) >\/dev\/null/.exec(
    readFileSync(join(ROOT, 'deploy', 'crontab'), 'utf8'),
  )?.[1];
  // The daemon wants nothing from before its start.
  const from = String(Math.floor(Date.now() / 1000));
  return (words ?? '').replace('2026-01-01', from).split(' ');
}

/** The alerts that would fire if the metrics stayed unchanged for hours. */
function alertsFor(metrics: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'toncenter-etl-alerts-'));
  const alerts = readFileSync(join(ROOT, 'deploy', 'prometheus', 'alerts.yml'), 'utf8');
  const names = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);
  const label = (labels: string) => `{job="toncenter-etl",instance="daemon"${labels}}`;
  const input_series = [...metrics.matchAll(/^(toncenter_etl_\w+)(?:\{(.*)\})? ([\d.e+-]+)$/gm)]
    .map(([, name = '', labels = '', value = '']) => ({
      series: `${name}${label(labels === '' ? '' : `,${labels}`)}`,
      values: `${Number(value)}x1200`,
    }))
    .concat({ series: `up${label('')}`, values: '1x1200' });
  const alert_rule_test = names.map((alertname) => ({ eval_time: '18h', alertname, exp_alerts: [] }));
  try {
    writeFileSync(join(directory, 'alerts.yml'), alerts);
    writeFileSync(
      join(directory, 'test.yml'),
      JSON.stringify({
        rule_files: ['alerts.yml'],
        evaluation_interval: '1m',
        tests: [{ interval: '1m', input_series, alert_rule_test }],
      }),
    );
    return execFileSync(promtool ?? '', ['test', 'rules', join(directory, 'test.yml')]).toString();
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('of a healthy daemon with default settings', () => {
  thorough('/ready, /metrics, status --check and the crontab say the same', async () => {
    await expect.poll(followed, { interval: 500 }).toBe(4);
    const ready = await fetch(`${url}/ready`);
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, reasons: [] }]);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^toncenter_etl_ready 1$/m);
    const check = await cli.ask(['status', '--check'], settings);
    expect([check.code, check.stderr]).toEqual([0, '']);
    expect(check.stdout).toMatch(/^database /);
    expect(check.stdout).toMatch(
      /^lag       at rest until the masterchain has named all blocks of a second( \(lately \d+s, at most \d+s\))?, at most 2s until a poll$/m,
    );
    expect(check.stdout).toContain(
      'lag       then 30s by ETL_WATERMARK_DELAY, at most 2s until the next round, and its requests: blocks',
    );
    const cron = await cli.ask(checkOfCrontab(), settings);
    expect([cron.code, cron.stderr]).toEqual([0, '']);
  });

  test.skipIf(promtool === undefined)('no alert fires, and the metrics are well-formed', async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(alertsFor(metrics)).toContain('SUCCESS');
    // It exits with 3 if it has anything to report.
    expect(execFileSync(promtool ?? '', ['check', 'metrics'], { input: metrics }).toString()).toBe('');
  });

  test('signals without a meaning end nothing, and open no debugger', async () => {
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
      daemon.child.kill(signal);
      await daemon.sees(new RegExp(`"signal":"${signal}","msg":"signal ignored"`));
    }
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  test('status says in its first line that the daemon is dead, and the lag grows with the clock', async () => {
    daemon.child.kill('SIGTERM');
    const { code, stderr } = await daemon.ended;
    expect(code).toBe(0);
    const messages = stderr
      .trim()
      .split('\n')
      .map((line) => z.object({ msg: z.string() }).parse(JSON.parse(line)).msg)
      .filter((message) => !/^(signal ignored|summary of the last minute|(not )?ready: .*)$/.test(message));
    // Half a minute of all datasets of core.
    expect(messages).toEqual([
      'daemon started',
      'shutting down after the current page; press Ctrl-C again to force',
      'daemon stopped',
    ]);
    const firstLine = async () => (await cli.ask(['status'], settings)).stdout.split('\n')[0];
    expect(await firstLine()).toMatch(/^daemon {4}no heartbeat of a daemon for \d+/);
    // A daemon of another host is noticed only by its silence.
    await store.database.run(
      sql`update etl.settings set value = value || '{"owner": "elsewhere/1/a"}',
            updated_at = now() - interval '5 minutes' where name = 'lookout'`,
    );
    expect(await firstLine()).toMatch(/^daemon {4}no heartbeat of a daemon for 5m/);
  });
});

test('sync waits for a database and for an API that are unavailable at its start', async () => {
  const elsewhere = await startSimulator({ start: Math.floor(Date.now() / 1000) - 600 });
  const { port } = new URL(elsewhere.url);
  await elsewhere.close();
  const away = { ETL_ATTEMPTS: '1', LOG_LEVEL: 'info' };
  const one = cli.start(['sync'], { ...settings, ...away, DATABASE_URL: 'postgres://127.0.0.1:1/nothing' });
  await one.sees(/"what":"the database","code":"database_unavailable".*not available, retrying/);
  one.child.kill('SIGTERM');
  const another = cli.start(['sync'], { ...settings, ...away, TONCENTER_NETWORK: elsewhere.url });
  await another.sees(/"what":"the API","code":"api_unavailable".*not available, retrying/);
  const now = Math.floor(Date.now() / 1000);
  const back = await startSimulator({ start: now - 600, live: { head: now }, port: Number(port) });
  await another.sees(/daemon started/);
  another.child.kill('SIGTERM');
  expect([(await one.ended).code, (await another.ended).code]).toEqual([0, 0]);
  await back.close();
});

test('closing the terminal shuts a run down cleanly', async () => {
  const program = join(await compile(), 'src', 'cli.js');
  const env = { ...settings, DATABASE_URL: other.url, ETL_LISTEN: 'off', HOME: tmpdir() };
  const screen = openScreen(`exec node ${program} sync`, { columns: 80, env });
  await expect.poll(() => screen.lines().join('\n')).toContain('daemon started');
  // A process that ends in another way leaves its heartbeat behind.
  const alive = () =>
    other.database.rows(sql`select worker from etl.workers`, z.object({ worker: z.string() }));
  await expect.poll(alive).toHaveLength(1);
  screen.child.kill('SIGKILL');
  await expect.poll(alive).toEqual([]);
});
