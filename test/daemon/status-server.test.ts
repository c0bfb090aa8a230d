import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { systemClock } from '../../src/clock.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import type { CrawlContext } from '../../src/crawl/crawl-context.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { createMetrics, type Metrics } from '../../src/daemon/server/metrics.ts';
import { startStatusServer, type StatusServer } from '../../src/daemon/server/status-server.ts';
import { createSnapshots, type Snapshot } from '../../src/status/snapshot.ts';
import { keepWanted } from '../../src/ledger/stored-coverage.ts';
import { saveWatermark } from '../../src/ledger/stored-settings.ts';
import { UsageError } from '../../src/errors.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { withBelievingLimits } from '../support/believing-limits.ts';
import { datasetsNamed, never, openTestCrawl, silent, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let metrics: Metrics;
let server: StatusServer;
let now: number;
/** How many snapshots the server has requested. */
let asked = 0;

beforeAll(async () => {
  store = await openTestStore();
  now = Math.floor(Date.now() / 1000);
  simulator = await startSimulator({ start: now - 1000, duration: 1000, load: 2 });
  crawl = await openTestCrawl(store, simulator.url);
  const { context, chain } = crawl;
  metrics = createMetrics(context.api.stats);
  const counted: CrawlContext = { ...withBelievingLimits(context), onPage: (event) => metrics.onPage(event) };
  const datasets = await datasetsNamed('blocks', 'transactions');
  const wanted = { from: now - 800, to: now - 400 };
  const readable = await findReadablePart({
    context: counted,
    chain,
    wanted,
    delaySeconds: 0,
    signal: never.leaving,
  });
  await fillRange({ ...crawl, context: counted, datasets, readable, stop: never });
  for (const { name } of datasets)
    await keepWanted(store.database, name, { since: now - 900, chosen: 'test' });
  const head = { headSeqno: chain.last.seqno, headUtime: chain.last.utime };
  await saveWatermark(store.database, { ...head, utime: chain.last.utime - 9, waitingFor: null });
  const jobs = await loadJobs();
  const snapshots = createSnapshots({ context: counted, jobs, datasets, config: testConfig() });
  server = await startStatusServer({
    listen: '127.0.0.1:0',
    clock: systemClock,
    logger: silent,
    metrics,
    snapshot: () => {
      asked += 1;
      return snapshots();
    },
  });
});
afterAll(async () => {
  await server.close();
  await crawl.close();
  await simulator.close();
  await store.close();
});

async function ask(path: string, init?: RequestInit): Promise<{ status: number; text: string }> {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, text: await response.text() };
}

/** A server next to the one that all tests share. */
function startLone(snapshot: () => Promise<Snapshot>): Promise<StatusServer> {
  return startStatusServer({ listen: '127.0.0.1:0', clock: systemClock, logger: silent, metrics, snapshot });
}

/** Requests a path unchanged: `fetch` would normalize it. */
function statusOf(how: { path: string; headers?: { host: string } }): Promise<number | undefined> {
  const { port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, ...how }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end();
  });
}

/** Reads the stream of events, one message after the other. */
async function openEvents(url: string) {
  const { body } = await fetch(`${url}/events`);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    async next(): Promise<Record<string, unknown>> {
      while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? '';
      const end = text.indexOf('\n\n');
      const message = text.slice('data: '.length, end);
      text = text.slice(end + 2);
      return JSON.parse(message) as Record<string, unknown>;
    },
    close: () => void reader?.cancel(),
  };
}

const Rows = z.object({ datasets: z.array(z.looseObject({ dataset: z.string() })).default([]) });
const rowsOf = (message: Record<string, unknown>) => Rows.parse(message).datasets;

describe('the daemon’s server', () => {
  test('responds at /health that it is alive', async () => {
    expect(await ask('/health')).toEqual({ status: 200, text: '{"alive":true}\n' });
  });

  test('responds at /ready with what is missing, and with the lag of the tail', async () => {
    const { status, text } = await ask('/ready');
    expect(status).toBe(503);
    const { ready, reasons } = JSON.parse(text) as { ready: boolean; reasons: string[] };
    expect(ready).toBe(false);
    expect(reasons.join('\n')).toMatch(/transactions: \d+m( \d+s)? behind the clock/);
    expect(reasons.join('\n')).toMatch(/blocks: 1m 40s of history is not read yet/);
  });

  test('responds at /status with what the database knows', async () => {
    const { status, text } = await ask('/status');
    expect(status).toBe(200);
    const { datasets, activity } = JSON.parse(text) as {
      datasets: { dataset: string; covered: object[]; missing: object[] }[];
      activity: { dataset: string; rows: number }[];
    };
    expect(datasets.map(({ dataset }) => dataset)).toEqual(['blocks', 'transactions']);
    expect(datasets[0]?.covered).toEqual([{ from: now - 800, to: now - 400 }]);
    expect(datasets[0]?.missing).toEqual([{ from: now - 900, to: now - 800 }]);
    const rows = activity.filter(({ dataset }) => dataset === 'transactions');
    const sum = rows.reduce((total, minute) => total + minute.rows, 0);
    expect(sum).toBe(simulator.truth.counts({ from: now - 800, to: now - 400 }).transactions);
  });

  test('gives Prometheus numbers that agree with the work that was done', async () => {
    const { text } = await ask('/metrics');
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    const { transactions } = simulator.truth.counts({ from: now - 800, to: now - 400 });
    expect(value('toncenter_etl_rows_total\\{dataset="transactions"\\}')).toBe(transactions);
    expect(value('toncenter_etl_covered_seconds\\{dataset="blocks"\\}')).toBe(400);
    expect(value('toncenter_etl_missing_seconds\\{dataset="blocks"\\}')).toBe(100);
    expect(value('toncenter_etl_ready')).toBe(0);
    expect(value('toncenter_etl_database_up')).toBe(1);
    expect(value('toncenter_etl_lag_seconds\\{dataset="transactions"\\}')).toBeGreaterThan(399);
    const sent = ['tail', 'repair', 'backfill', 'refresh'].map((priority) =>
      value(`toncenter_etl_api_requests_total\\{priority="${priority}"\\}`),
    );
    expect(sent.reduce((total, count) => total + count, 0)).toBe(simulator.stats.total);
  });

  test('explains for each metric what a high value means and where to look next', async () => {
    const { text } = await ask('/metrics');
    const helps = [...text.matchAll(/^# HELP (toncenter_etl_\w+) (.*)$/gm)]
      .map(([, name = '', help = '']) => ({ name, help }))
      .filter(({ name }) => !/^toncenter_etl_(process|nodejs)_/.test(name));
    expect(helps.length).toBeGreaterThan(20);
    for (const { name, help } of helps) {
      expect([name, help]).toEqual([name, expect.stringMatching(/\bhigh\b/i)]);
      expect([name, help]).toEqual([name, expect.stringMatching(/\blook at\b/)]);
    }
  });

  test('serves nothing else, and changes nothing', async () => {
    const { status, text } = await ask('/nothing');
    expect(status).toBe(404);
    expect(text).toContain('/, /health, /ready, /metrics, /status, /events');
    expect((await ask('/status', { method: 'POST' })).status).toBe(405);
    expect(await ask('/status', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });

  test.each([
    ['//', 404],
    ['/\\', 404],
    ['//:0/health', 404],
    ['http://localhost:99999/health', 200],
    ['http://localhost?query', 200],
    ['/health?a=/b', 200],
    ['*', 404],
  ])('responds to %s, whatever it means, with %i', async (path, status) => {
    expect(await statusOf({ path })).toBe(status);
    expect((await ask('/health')).status).toBe(200);
  });

  test.each([
    ['localhost:9465', 200],
    ['etl', 200],
    ['[::1]:9465', 200],
    ['10.0.0.7', 200],
    ['rebound.example.org', 403],
    ['127.0.0.1.example.org:9465', 403],
  ])('responds to %s, by its own names only, with %i', async (host, status) => {
    expect(await statusOf({ path: '/status', headers: { host } })).toBe(status);
  });

  test('sends at /events only what has changed, and of a list only its changed rows', async () => {
    const events = await openEvents(server.url);
    const first = await events.next();
    expect(first['datasets']).toHaveLength(2);
    const last = new Map(rowsOf(first).map((row) => [row.dataset, JSON.stringify(row)]));
    expect(JSON.stringify(first['datasets'])).not.toContain('"lag"');
    expect(first['activity']).not.toEqual([]);
    const { reasons } = z.object({ reasons: z.array(z.looseObject({})) }).parse(first['readiness']);
    expect(reasons).toContainEqual({ text: 'transactions: {age} behind the clock', since: now - 400 });
    // The clock alone changes nothing, although both datasets are behind it.
    const before = asked;
    await expect.poll(() => asked).toBeGreaterThan(before + 3);
    await keepWanted(store.database, 'blocks', { since: now - 950, chosen: 'another' });
    for (let next = first; !last.get('blocks')?.includes(String(now - 950));) {
      next = await events.next();
      expect(Object.keys(next).length).toBeGreaterThan(1);
      for (const name of ['head', 'activity', 'collections']) expect(next).not.toHaveProperty(name);
      // Postgres may report rows late: then the estimate of another dataset changes, too.
      for (const row of rowsOf(next)) {
        expect(JSON.stringify(row)).not.toBe(last.get(row.dataset));
        last.set(row.dataset, JSON.stringify(row));
      }
    }
    events.close();
  });

  test('keeps no memory of clients that followed the events, however many they were', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    for (let reader = 0; reader < 12; reader += 1) {
      const events = await openEvents(server.url);
      expect(await events.next()).toHaveProperty('datasets');
      events.close();
    }
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('cannot listen twice at one address', async () => {
    const { host } = new URL(server.url);
    const snapshot = () => Promise.reject(new Error('unused'));
    const second = startStatusServer({ listen: host, clock: systemClock, logger: silent, metrics, snapshot });
    await expect(second).rejects.toThrow(UsageError);
  });

  test('survives an error in a request, and ends that request', async () => {
    const lone = await startLone(() => {
      throw new Error('an unexpected error');
    });
    expect((await fetch(`${lone.url}/status`)).status).toBe(503);
    const events = fetch(`${lone.url}/events`).then((response) => response.text());
    await expect(events).rejects.toThrow(TypeError);
    expect((await fetch(`${lone.url}/health`)).status).toBe(200);
    await lone.close();
  });

  test('reports that the database is unavailable, and survives', async () => {
    const lone = await startLone(() => Promise.reject(new Error('the database is away')));
    const ready = await fetch(`${lone.url}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { ready: false, reasons: ['the database is away'] },
    ]);
    expect(await (await fetch(`${lone.url}/metrics`)).text()).toMatch(/^toncenter_etl_database_up 0$/m);
    expect((await fetch(`${lone.url}/health`)).status).toBe(200);
    await lone.close();
  });
});
