import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createStats } from '../../src/api/attempt.ts';
import { systemClock, type Clock } from '../../src/clock.ts';
import { createMetrics } from '../../src/daemon/server/metrics.ts';
import { startStatusServer } from '../../src/daemon/server/status-server.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { keepWanted } from '../../src/ledger/stored-coverage.ts';
import { saveWatermark } from '../../src/ledger/stored-settings.ts';
import { toMultirangeText } from '../../src/range.ts';
import { readinessOf } from '../../src/status/readiness.ts';
import { readReport } from '../../src/status/report.ts';
import { createSnapshots } from '../../src/status/snapshot.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { datasetsNamed, silent, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let cli: Cli;
let store: TestStore;
let datasets: Dataset[];

beforeAll(async () => {
  cli = await openCli();
  store = await openTestStore();
  // By design the second one is a quarter of an hour late.
  datasets = await datasetsNamed('blocks', 'validator_events');
});
afterAll(async () => {
  await store.close();
  await cli.close();
});
beforeEach(() => forget());

const forget = () =>
  store.database.script(
    `truncate etl.coverage, etl.wanted; delete from etl.settings where name <> 'repeatable'`,
  );

const nowSeconds = () => Math.floor(systemClock.now() / 1000);
const FROM = nowSeconds() - 7200;

/** What a daemon leaves that was well until so many seconds ago, and that read a dataset until its delay then. */
async function leave({ agoSeconds, lateSeconds = 0 }: { agoSeconds: number; lateSeconds?: number }) {
  const last = nowSeconds() - agoSeconds;
  await saveWatermark(store.database, { utime: last - 5, headSeqno: 9, headUtime: last, waitingFor: null });
  for (const { name, job } of datasets) {
    await keepWanted(store.database, name, { since: FROM, chosen: 'test' });
    const covered = toMultirangeText([{ from: FROM, to: last - (job.delaySeconds ?? 30) - lateSeconds }]);
    await store.database.run(
      sql`insert into etl.coverage (dataset, covered) values (${name}, ${covered}::int8multirange)`,
    );
  }
}

const Lags = z.object({ datasets: z.array(z.object({ dataset: z.string(), lag: z.number() })) });
const lagsIn = (text: string) =>
  new Map(Lags.parse(JSON.parse(text)).datasets.map(({ dataset, lag }) => [dataset, lag]));

/** What each of those who can be asked says of one state of the database, where the daemon's clock may go wrong. */
async function askEverybody({ clock = systemClock }: { clock?: Clock } = {}) {
  const settings = { DATABASE_URL: store.url, ETL_DATASETS: 'blocks,validator_events' };
  const server = await startStatusServer({
    listen: '127.0.0.1:0',
    clock,
    logger: silent,
    metrics: createMetrics(createStats().stats),
    snapshot: createSnapshots({
      context: { database: store.database, clock },
      datasets,
      jobs: datasets,
      config: testConfig(),
    }),
  });
  try {
    const [ready, metrics, page, check, status] = [
      await fetch(`${server.url}/ready`),
      await (await fetch(`${server.url}/metrics`)).text(),
      await (await fetch(`${server.url}/status`)).text(),
      await cli.ask(['status', '--check'], settings),
      await cli.ask(['status', '--json'], settings),
    ];
    const metric = (name: string) =>
      Number(new RegExp(`^toncenter_etl_${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
    return {
      ready: ready.status,
      metric: metric('ready'),
      page: z.object({ readiness: z.object({ ready: z.boolean() }) }).parse(JSON.parse(page)).readiness.ready,
      check: check.code,
      reasons: z.object({ reasons: z.array(z.string()) }).parse(await ready.json()).reasons,
      checked: check.stderr.split('\n').filter((line) => line.startsWith('check')),
      lags: {
        metrics: new Map(datasets.map(({ name }) => [name, metric(`lag_seconds\\{dataset="${name}"\\}`)])),
        page: lagsIn(page),
        status: lagsIn(status.stdout),
      },
    };
  } finally {
    await server.close();
  }
}

/** Seconds that pass between the first and the last question, on a slow machine. */
const SLACK = 30;

function expectOneLag({ lags }: Awaited<ReturnType<typeof askEverybody>>, name: string, lag: number): void {
  for (const said of Object.values(lags)) {
    expect(said.get(name)).toBeGreaterThanOrEqual(lag);
    expect(said.get(name)).toBeLessThan(lag + SLACK);
  }
}

describe('/ready, /metrics, /status, status and status --check', () => {
  test('say that a healthy daemon is well, also of a dataset that is late by design', async () => {
    await leave({ agoSeconds: 3 });
    const said = await askEverybody();
    expect(said).toMatchObject({ ready: 200, metric: 1, page: true, check: 0, reasons: [], checked: [] });
    expectOneLag(said, 'blocks', 33);
    expectOneLag(said, 'validator_events', 903);
  });

  test('say of one that is behind that it is, while the head moves', async () => {
    await leave({ agoSeconds: 3, lateSeconds: 1000 });
    const said = await askEverybody();
    expect(said).toMatchObject({ ready: 503, metric: 0, page: false, check: 3 });
    for (const reasons of [said.reasons, said.checked]) {
      expect(reasons).toHaveLength(2);
      expect(reasons[0]).toMatch(/blocks: 17m( \d+s)? behind the clock/);
    }
    expectOneLag(said, 'blocks', 1033);
  });

  test('say of one that is dead that it is, and how long the head has been old', async () => {
    await leave({ agoSeconds: 1800 });
    const said = await askEverybody();
    expect(said).toMatchObject({ ready: 503, metric: 0, page: false, check: 3 });
    for (const reasons of [said.reasons, said.checked]) {
      expect(reasons).toHaveLength(3);
      expect(reasons[0]).toMatch(/the newest masterchain block is 30m( \d+s)? old/);
    }
    expectOneLag(said, 'blocks', 1830);
  });
});

test('where it cannot be known how far it is safe to read, all of them say so, and what is awaited', async () => {
  const waitingFor = 'shard state of masterchain block 9';
  await saveWatermark(store.database, { utime: 0, headSeqno: 0, headUtime: 0, waitingFor });
  const said = await askEverybody();
  expect(said).toMatchObject({ ready: 503, metric: 0, page: false, check: 3 });
  for (const [reason] of [said.reasons, said.checked])
    expect(reason).toContain(`the watermark is not known yet: waiting for ${waitingFor}`);
});

test.each([-3600, 3600])('a daemon whose clock is wrong by %i s goes by the database’s', async (seconds) => {
  const clock = { ...systemClock, now: () => systemClock.now() + seconds * 1000 };
  await leave({ agoSeconds: 3 });
  expect(await askEverybody({ clock })).toMatchObject({ ready: 200, metric: 1, page: true });
  await forget();
  await leave({ agoSeconds: 1800 });
  const still = await askEverybody({ clock });
  expect(still).toMatchObject({ ready: 503, metric: 0, page: false });
  expectOneLag(still, 'blocks', 1830);
});

test('a lag grows with the clock while nothing happens, until it is too long', async () => {
  const after = async (agoSeconds: number) => {
    await forget();
    await leave({ agoSeconds });
    const report = await readReport(store.database, datasets, { rows: 'estimated' });
    const { ready } = readinessOf(report, datasets, testConfig());
    return { ready, lag: report.datasets.find(({ dataset }) => dataset === 'blocks')?.lag ?? 0 };
  };
  const [soon, later] = [await after(10), await after(310)];
  expect(soon.lag).toBeLessThan(40 + SLACK);
  expect(later.lag).toBeGreaterThanOrEqual(340);
  expect([soon.ready, later.ready]).toEqual([true, false]);
});
