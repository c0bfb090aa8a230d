import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPartitions } from '../../src/write/target.ts';
import { createStats } from '../../src/api/attempt.ts';
import { systemClock } from '../../src/clock.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { createMetrics } from '../../src/daemon/server/metrics.ts';
import { startStatusServer } from '../../src/daemon/server/status-server.ts';
import { createSnapshots } from '../../src/status/snapshot.ts';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { browserPath, openBrowser } from '../support/program/browser.ts';
import { compile } from '../support/program/compile.ts';
import { silent, testConfig } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';
import { openScreen } from '../support/program/screen.ts';

/*
 * Takes the pictures of the README: `npx vitest run --config test/long/vitest.config.ts pictures`. The
 * terminal shows a real run against a simulated network; the status page shows states that were written for
 * the picture.
 */

const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');
const DAY = 86_400;

/** Runs in the browser: shows a reader's database instead of the test's. */
const OF_READER = `new MutationObserver(() => {
  const foot = document.getElementById('foot');
  if (/database \\d/.test(foot?.textContent)) foot.textContent = foot.textContent.replace(/database .*/, 'database db.internal:5432/ton');
}).observe(document, { childList: true, subtree: true, characterData: true })`;

let browser: Browser;

beforeAll(async () => {
  await mkdir(IMAGES, { recursive: true });
  browser = await openBrowser();
});
afterAll(() => browser.close());

test.skipIf(browserPath === undefined)(
  'the status page, in both color schemes and on a telephone',
  async () => {
    const store = await openTestStore();
    const { database } = store;
    const jobs = await loadJobs();
    const datasets = chooseDatasets(['core', 'actions'], jobs);
    const now = Math.floor(Date.now() / 1000);
    const head = now - 4;
    const since = now - (now % DAY) - 240 * DAY;
    await database.run(sql`
    insert into etl.settings (name, value) values ('network', '{"global_id": -239}'),
      ('watermark', ${JSON.stringify({ utime: head - 3, headSeqno: 61_204_117, headUtime: head, waitingFor: null })}::jsonb)`);
    const partitions = createPartitions(database, 'month');
    for (const [index, { name, job }] of datasets.entries()) {
      await partitions.ensure(Object.values(job.tables), [new Date().toISOString()]);
      const end = head - 28 - (job.delaySeconds ?? 0);
      const lost = since + (170 + 7 * index) * DAY;
      await database.run(sql`
      insert into etl.wanted (dataset, since, chosen) values (${name}, ${since}, '-240d')`);
      await database.run(sql`
      insert into etl.coverage (dataset, covered, verified)
      values (${name}, int8multirange(int8range(${since}, ${end}))
          - (case when ${index % 3} = 0 then int8multirange(int8range(${lost}::int8, ${lost + 3000}::int8)) else '{}' end)
          - (case when ${index % 4} = 1 then int8multirange(int8range(${lost + 20 * DAY}::int8, ${lost + 20 * DAY + 7}::int8)) else '{}' end),
        int8multirange(int8range(${since}, ${end - (1 + index) * DAY})))`);
      await database.run(sql`
      insert into etl.pages (dataset, span, completed, request, rows, bytes, ms, worker, committed_at)
      select ${name}, int8range(at::int8 - 60, at::int8 - 25), int8range(at::int8 - 60, at::int8 - 25 - (10 * (1 + sin(at / 900)))::int), '',
        (${900 / (index + 1)}::float8 * (1.2 + sin(at / 3000 + ${index}) * 0.8 + random() * 0.3))::int, 400000, 250, 'etl-1/815/03bc44', to_timestamp(at)
      from generate_series(${now - 6 * 3600}::int8, ${now}::int8, 20) at`);
    }
    // The page shows the estimates of Postgres.
    await database.run(sql`
    update pg_class set reltuples = 3e9 / (3 + length(relname)) where relnamespace = 'etl_partitions'::regnamespace and relkind = 'r'`);
    await database.run(sql`
    insert into etl.refused (dataset, span, reason, detail, attempts, retry_at)
    values ('transactions', int8range(${since + 204 * DAY}, ${since + 204 * DAY + 7}), 'saturated',
      'more rows of one logical time than the source can page through', 3, now() + interval '3 minutes')`);
    await database.run(sql`
    insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request)
    select 'actions', 'a' || n, now() - interval '2 days', '[0,1)', 'details.amount', 'Invalid input: expected string, received number', '{}', ''
    from generate_series(1, 3) n`);
    await database.run(sql`
    insert into etl.failures (dataset, code, message, hint, at)
    values ('traces', 'api_timeout', '/api/v3/traces ran into the server''s time limit', null, now() - interval '3 hours')`);
    await database.run(sql`
    insert into etl.budget (host, rps, free_at, slack, server_started_at) values ('toncenter.com', 10, 0, 0.03, 0)`);
    await database.run(sql`
    insert into etl.workers (worker, host, waiting) values ('etl-1/815/03bc44', 'toncenter.com', '{}'),
      ('etl-2/4711/9f3a01', 'toncenter.com', '{"backfill": 3}')`);
    await database.run(sql`
    insert into etl.spending (host, minute, worker, priority, requests)
    select 'toncenter.com', date_trunc('minute', now()) - n * interval '1 minute', who, what, (share * (500 + 60 * sin(n / 17.0)))::int
    from generate_series(0, 360) n, (values ('etl-1/815/03bc44', 'tail', 0.22), ('etl-1/815/03bc44', 'refresh', 0.07),
      ('etl-2/4711/9f3a01', 'backfill', 0.66)) as s (who, what, share)`);
    const context = { database, clock: systemClock };
    const server = await startStatusServer({
      listen: '127.0.0.1:0',
      clock: systemClock,
      logger: silent,
      metrics: createMetrics(createStats().stats),
      snapshot: createSnapshots({ context, jobs, datasets, config: testConfig() }),
    });
    for (const colorScheme of ['light', 'dark'] as const)
      for (const [name, width] of [
        [`status-${colorScheme}`, 1120],
        [`status-phone-${colorScheme}`, 390],
      ] as const) {
        const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
        await page.addInitScript(OF_READER);
        await page.goto(server.url);
        await page.locator('td[data-state="hole"]').first().waitFor();
        await page.waitForTimeout(1200);
        await page.screenshot({ path: join(IMAGES, `${name}.png`), fullPage: true });
        await page.close();
      }
    await server.close();
    await store.close();
  },
);

test.skipIf(browserPath === undefined)(
  'the terminal, in the middle of a backfill',
  async () => {
    const store = await openTestStore();
    const start = Date.UTC(2026, 10, 1) / 1000;
    const simulator = await startSimulator({
      start,
      duration: 8 * 3600,
      load: { base: 4, dayCycle: 0.5 },
      rateLimit: { kind: 'sliding-window', rps: 12, graceMs: 100 },
    });
    const program = await compile();
    const range = '--from 2026-11-01T00:30Z --to 2026-11-01T07:30Z';
    const run = (words: string) =>
      openScreen(`node ${join(program, 'src', 'cli.js')} ${words}`, {
        columns: 128,
        env: {
          HOME: program,
          LOG_LEVEL: 'warn',
          DATABASE_URL: store.url,
          TONCENTER_NETWORK: simulator.url,
          TONCENTER_RPS: '10',
        },
      });
    const plan = run(`plan ${range}`);
    await plan.ended;
    const backfill = run(`backfill ${range}`);
    setTimeout(() => backfill.child.kill('SIGKILL'), 25_000);
    await backfill.ended;
    const shown = [
      `$ npx toncenter-etl plan ${range}`,
      ...plan.lines().slice(2),
      `$ npx toncenter-etl backfill ${range}`,
      ...backfill.lines().slice(2),
    ].map((line) => line.replaceAll(/127\.0\.0\.1:\d+(\/\S+)?/g, 'db.internal:5432/ton'));
    expect(shown.join('\n')).toMatch(/in all .*%.*\n.*left/);
    const page = await browser.newPage({ viewport: { width: 1120, height: 300 } });
    const escaped = shown.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    await page.setContent(
      `<body style="margin:0;background:#15181c;color:#e2e6ea"><pre style="margin:0;padding:18px 22px;font:12px/1.45 'DejaVu Sans Mono',monospace">${escaped}</pre>`,
    );
    await page.screenshot({ path: join(IMAGES, 'terminal.png'), fullPage: true });
    await simulator.close();
    await store.close();
  },
  120_000,
);
