import { sql } from 'drizzle-orm';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadDatasets, loadJobs } from '../../src/dataset/load-jobs.ts';
import { createMetrics } from '../../src/daemon/server/metrics.ts';
import { startStatusServer, type StatusServer } from '../../src/daemon/server/status-server.ts';
import { createSnapshots } from '../../src/status/snapshot.ts';
import { createStats } from '../../src/api/attempt.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { browserPath, openBrowser } from '../support/program/browser.ts';
import { openCli, type Cli, type RunningCli } from '../support/program/cli.ts';
import { silent, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { slowness } from '../support/slowness.ts';

const DAY = 86_400;
const now = Math.floor(Date.now() / 1000);
/** Twelve days ago at midnight. */
const SINCE = now - (now % DAY) - 12 * DAY;

/** A browser's own limit is half a minute. */
const LONG = { timeout: 240_000 };

const HOSTILE =
  '<img src=x onerror="document.title=document.URL"><script>document.title=document.URL</script>';

const LABEL = `document.activeElement.getAttribute('aria-label')`;

if (browserPath === undefined) console.warn('the status page was not tested: no Chromium on this machine');

describe.skipIf(browserPath === undefined)('the status page in a real browser', () => {
  let browser: Browser;
  let cli: Cli;
  let store: TestStore;
  let simulator: Simulator;
  let daemon: RunningCli;
  let url: string;
  let isAway = false;

  beforeAll(async () => {
    browser = await openBrowser();
    cli = await openCli();
    store = await openTestStore();
    const away = { status: 502, body: 'away', headers: {} };
    simulator = await startSimulator({
      start: SINCE - DAY,
      live: { head: now },
      load: 0.004,
      masterchainInterval: 240,
      tickTockEvery: 0,
      maxShards: 1,
      before: ({ path }) => (isAway && path === '/api/v3/transactions' ? away : undefined),
    });
    daemon = cli.start(['sync', '--only', 'blocks,transactions'], {
      DATABASE_URL: store.url,
      TONCENTER_NETWORK: simulator.url,
      TONCENTER_RPS: '500',
      ETL_ATTEMPTS: '1',
      ETL_SINCE: String(SINCE),
      ETL_LISTEN: '127.0.0.1:0',
      LOG_LEVEL: 'info',
    });
    url = await daemon.sees(/"status":"(http:[^"]+)"/);
  });
  afterAll(async () => {
    daemon.child.kill('SIGTERM');
    await daemon.ended;
    await browser.close();
    await simulator.close();
    await store.close();
    await cli.close();
  });

  const day = new Date((SINCE + 4 * DAY) * 1000).toISOString().slice(0, 10);
  const cellOf = (page: Page, state: string) =>
    page.locator(
      `table[aria-labelledby="calendar-transactions"] td[data-state="${state}"][aria-label^="${day}"]`,
    );
  const ask = async (statement: string) => {
    const client = new pg.Client({ connectionString: store.url });
    await client.connect();
    const result = await client.query(statement, [`${day}T02:00Z`, `${day}T23:00Z`]);
    await client.end();
    return result;
  };
  const stored = /^(covered|verified)$/;

  test('shows a day that is taken out of coverage as a hole within five seconds, without a reload, and sees it heal', async () => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await page.goto(url);
    const cell = page.locator(`table[aria-labelledby="calendar-transactions"] td[aria-label^="${day}"]`);
    await cell.waitFor(LONG);
    await expect.poll(() => cell.getAttribute('data-state')).toMatch(stored);
    await page.evaluate(() => Object.assign(globalThis, { loadedOnce: true }));
    isAway = true;
    const began = performance.now();
    const { rowCount } = await ask('delete from ton.transactions where utime >= $1 and utime < $2');
    expect(rowCount).toBeGreaterThan(0);
    await store.database.run(sql`
      update etl.coverage set verified = verified - n.gone, covered = covered - n.gone
      from (select int8multirange(int8range(extract(epoch from ${`${day}T02:00Z`}::timestamptz)::int8,
        extract(epoch from ${`${day}T23:00Z`}::timestamptz)::int8)) as gone) n
      where dataset = 'transactions'`);
    // It is a hole until the daemon has asked for it, and refused from then on.
    await expect.poll(() => cell.getAttribute('data-state'), { interval: 100 }).toMatch(/^(hole|refused)$/);
    expect(performance.now() - began).toBeLessThan(5000 * slowness());
    expect(await cell.getAttribute('aria-label')).toMatch(/(hole|refused), \d+[hms]/);
    await cellOf(page, 'refused').waitFor(LONG);
    const looks = (state: string) =>
      page.evaluate<string>(
        `(({ backgroundColor, backgroundImage }) => backgroundColor + backgroundImage)(getComputedStyle(document.querySelector('td[data-state="${state}"]')))`,
      );
    const [hole, whole] = [await looks('refused'), await looks('covered')];
    expect(hole).toContain('gradient');
    expect(whole).not.toBe(hole);
    expect(whole).not.toMatch(/rgba\(0, 0, 0, 0\)none/);
    isAway = false;
    // The longer the source was away, the longer the pause before the range is asked for again.
    const endPauses = () => store.database.run(sql`update etl.refused set retry_at = now()`);
    await expect
      .poll(() => endPauses().then(() => cell.getAttribute('data-state')), { interval: 500 })
      .toMatch(stored);
    const again = await ask('select 1 from ton.transactions where utime >= $1 and utime < $2');
    expect(again.rowCount).toBe(rowCount);
    expect(await page.evaluate(() => 'loadedOnce' in globalThis)).toBe(true);
    expect(errors).toEqual([]);
  });

  test('is walked through with the keyboard, and says what a square means', async () => {
    const page = await browser.newPage();
    await page.goto(url);
    const grid = page.locator('table[aria-labelledby="calendar-transactions"]');
    await grid.locator('td[tabindex="0"]').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('To the coverage');
    await grid.locator('td[tabindex="0"]').focus();
    const before = await page.evaluate<string>(LABEL);
    await page.keyboard.press('ArrowLeft');
    const after = await page.evaluate<string>(LABEL);
    const weekApart = Date.parse(before.slice(0, 10)) - Date.parse(after.slice(0, 10));
    expect(weekApart).toBe(7 * DAY * 1000);
    const spoken = grid.locator('xpath=ancestor::div[@class="dataset"]/p[@aria-live]');
    expect(await spoken.textContent()).toBe(after);
    expect(await page.locator('td[tabindex="0"]').count()).toBe(2);
    // What is an image to the eye is a sentence to the ear.
    for (const picture of await page.locator('svg').all())
      expect(await picture.getAttribute('aria-label')).toMatch(/\w+ .*\d/);
  });

  test('fits a telephone, and follows the colour scheme of the system', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    const papers = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(url);
      await page.locator('td[data-state]').first().waitFor();
      papers.push(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
      expect(
        await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        ),
      ).toBe(0);
    }
    expect(papers[0]).not.toBe(papers[1]);
  });

  test('asks only the daemon', async () => {
    const page = await browser.newPage();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(url);
    await page.locator('td[data-state]').first().waitFor();
    expect(asked.filter((address) => !address.startsWith(url) && !address.startsWith('data:'))).toEqual([]);
  });
});

describe.skipIf(browserPath === undefined)('with a year of coverage of every dataset', () => {
  let browser: Browser;
  let store: TestStore;
  let server: StatusServer;

  beforeAll(async () => {
    browser = await openBrowser();
    store = await openTestStore();
    const jobs = await loadJobs();
    for (const { name } of jobs) {
      // Each night lacks a minute, each other day is verified.
      await store.database.run(sql`
        insert into etl.coverage (dataset, covered, verified)
        select ${name}::text, range_agg(int8range(day, day + 86340)), range_agg(int8range(day, day + 86340)) filter (where day % 172800 = 0)
        from generate_series(${SINCE - 365 * DAY}::int8, ${SINCE}::int8, 86400) day`);
    }
    // What the source said and named may be markup.
    await store.database.run(sql`
      insert into etl.failures (dataset, code, message, hint) values ('traces', 'api_failed', ${HOSTILE}, ${HOSTILE}),
        ('jetton_masters', 'api_failed', ${HOSTILE}, null)`);
    await store.database.run(sql`
      insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request)
      values ('actions', 'a', now(), '[0,1)', ${HOSTILE}, ${HOSTILE}, '{}', '')`);
    await store.database.run(sql`
      insert into etl.cursors (dataset, scope, cursor, updated_at) values ('jetton_masters', 'list',
        ${JSON.stringify({ at: 7, end: 7, round: false, ended: SINCE, beyond: null })}::jsonb, now() - interval '1 day')`);
    const context = { database: store.database, clock: systemClock };
    server = await startStatusServer({
      listen: '127.0.0.1:0',
      clock: systemClock,
      logger: silent,
      metrics: createMetrics(createStats().stats),
      snapshot: createSnapshots({
        context,
        jobs: await loadDatasets(),
        datasets: jobs,
        config: testConfig(),
      }),
    });
  });
  afterAll(async () => {
    await server.close();
    await browser.close();
    await store.close();
  });

  test('the page is there in less than a second', async () => {
    const times: number[] = [];
    // What else this machine does just now is not the page's doing: the best of a few loads counts.
    while (times.length < 8 && !times.some((ms) => ms < 1000 * slowness())) {
      const page = await browser.newPage();
      await page.goto(server.url);
      const loaded = page.locator('html[data-loaded]');
      await loaded.waitFor({ state: 'attached' });
      times.push(Number(await loaded.getAttribute('data-loaded')));
      expect(await page.locator('td[data-state="hole"]').count()).toBeGreaterThan(360 * 10);
      await page.close();
    }
    expect(Math.min(...times)).toBeLessThan(1000 * slowness());
    console.log(`status page with a year of coverage: ${times.join(', ')} ms`);
  });

  test('shows collections with their age, and words of the source as words', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    await page.goto(server.url);
    const list = page.locator('#collections tr', { hasText: 'jetton_masters' });
    await expect.poll(() => list.textContent()).toMatch(/list: whole 1[23]d.*last read/);
    // On a telephone they are folded, and open on a wide screen.
    expect(await list.isVisible()).toBe(false);
    await page.locator('#collections-fold summary').click();
    expect(await list.isVisible()).toBe(true);
    const wide = await browser.newPage({ viewport: { width: 1280, height: 844 } });
    await wide.goto(server.url);
    await wide.locator('#collections tr', { hasText: 'jetton_masters' }).waitFor({ state: 'visible' });
    await wide.close();
    const troubles = page.locator('#troubles');
    await expect.poll(async () => (await troubles.textContent())?.split(HOSTILE)).toHaveLength(6);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toContain('toncenter-etl');
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate<number>(overflow)).toBe(0);
    // A row is a card, and no card is as high as the screen.
    const highest = `Math.max(...[...document.querySelectorAll('table.plain tbody tr')].map((row) => row.getBoundingClientRect().height))`;
    expect(await page.evaluate<number>(highest)).toBeLessThan(500);
    const { collections } = (await (await fetch(`${server.url}/status`)).json()) as { collections: unknown };
    expect(collections).toMatchObject([
      { dataset: 'jetton_masters', walks: [{ title: 'list', progress: '', wholeAt: SINCE }] },
    ]);
    expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(
      /^toncenter_etl_collection_age_seconds\{dataset="jetton_masters",walk="list"\} \d+$/m,
    );
    await page.close();
  });
});
