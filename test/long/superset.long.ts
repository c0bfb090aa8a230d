import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { packageRoot } from '../../src/package.ts';
import { countAsDollar, openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { freePort } from '../support/free-port.ts';
import { browserPath, openBrowser } from '../support/program/browser.ts';
import { openCli } from '../support/program/cli.ts';
import { pythonWith } from '../support/program/python.ts';

/*
 * Imports deploy/superset into a new Superset, opens its dashboards in a real Chromium, and compares the
 * charts with the database. Installing Superset takes minutes: `PYTHON=/path/of/a/venv/bin/python` names one
 * that has it.
 */

const BUNDLE = join(packageRoot, 'deploy', 'superset');
const HOUR = 3600;
const start = Math.floor(Date.now() / 1000 / HOUR) * HOUR - 3 * HOUR;
const network = { seed: 7, start, duration: 2 * HOUR, load: 0.5, accounts: 150, masterchainInterval: 10 };
const ROLE = `superset_${process.pid}`;

const python =
  browserPath === undefined
    ? undefined
    : pythonWith({
        name: 'superset',
        install: [
          'apache-superset==6.1.0',
          'flask-caching==2.3.1',
          'psycopg2-binary==2.9.13',
          'cachetools==8.0.2',
          'rich==15.0.0',
        ],
        modules: 'superset, psycopg2',
      });
if (browserPath === undefined) console.warn('skipped: no Chromium on this machine');

const Answered = z.object({
  result: z.array(
    z.object({
      rowcount: z.number(),
      error: z.string().nullish(),
      data: z.array(z.record(z.string(), z.unknown())),
    }),
  ),
});
const Asked = z.object({
  form_data: z.object({ slice_id: z.number().optional(), dashboardId: z.number().optional() }),
});
type Rows = readonly Readonly<Record<string, unknown>>[];

/** What a chart must draw: the sum of each column of its rows, or of all numbers if each group has a column. */
const SUMS: Readonly<Record<string, string>> = {
  'Transactions by hour':
    'select count(*) as transactions, count(*) filter (where aborted) as failed from transactions',
  'Fees by day and part, TON': `select sum(storage_fees_collected) / 1e9 as storage_ton from transactions`,
  'Volume by hour and exchange, TON': 'select sum(volume_ton) as "*" from dex_trades',
  'Jetton transfers, mints and burns by hour': `select (select count(*) from jetton_transfers)
    + (select count(*) from jetton_burns) + (select count(*) from jetton_mints) as "*"`,
  'Jettons that moved most': `select sum(n) as events from
    (select count(*) as n from jetton_transfers group by jetton_master order by 1 desc limit 20) most`,
  'In and out by hour, TON': `select sum(amount) filter (where amount > 0) / 1e9 as came_ton from account_ledger
    where jetton_master is null and account = $account`,
  'What it did, by hour': `select count(*) as "*" from action_accounts where account = $account`,
};

/** Charts that draw one number, and its text. */
const NUMBERS: Readonly<Record<string, string>> = {
  Transactions: `select to_char(count(*), 'FM999,999,999') as shown from transactions`,
  'Active accounts': `select to_char(count(distinct account), 'FM999,999,999') as shown from transactions`,
  'Fees, TON': `select to_char(sum(total_fees) / 1e9, 'FM999,999,990.00') as shown from transactions`,
  'Failed transactions': `select to_char(100 * avg(aborted::int), 'FM990.00%') as shown from transactions`,
  Trades: `select to_char(count(*), 'FM999,999,999') as shown from dex_trades`,
  Traders: `select to_char(count(distinct source), 'FM999,999,999') as shown from actions
    where type = 'jetton_swap' and success is not false`,
};

describe.skipIf(python === undefined)('the bundle for Superset', () => {
  let store: CrawledStore;
  let directory: string;
  let env: NodeJS.ProcessEnv;
  let server: ChildProcess | undefined;
  let url: string;
  let browser: Browser | undefined;
  let page: Page;
  let account: string;
  const drawn = new Map<number, { readonly status: number; readonly rows: Rows; readonly error: string }>();

  const superset = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(join(dirname(python ?? ''), 'superset'), args, {
      env,
      encoding: 'utf8',
    });
    expect(status, `superset ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  };
  const one = async (statement: string) => {
    const [row] = await store.ask(statement.replaceAll('$account', `'${account}'`));
    return row ?? {};
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-superset-'));
    store = await openCrawledStore({ name: `superset_${start}`, options: network });
    await countAsDollar(store);
    const cli = await openCli();
    const reader = await cli.run(['reader', '--name', ROLE], { DATABASE_URL: store.url });
    await cli.close();
    // One that did more than to hold coins.
    const [row] = await store.ask(`select j.account from jetton_movements j where exists
      (select from action_accounts a where a.account = j.account) group by 1 order by count(*) desc, 1 limit 1`);
    account = row?.['account'] ?? '';
    const config = join(directory, 'superset_config.py');
    await writeFile(
      config,
      `SECRET_KEY = "of a test"\nSQLALCHEMY_DATABASE_URI = "sqlite:///${directory}/superset.db"\nTALISMAN_ENABLED = False\n`,
    );
    env = { ...process.env, SUPERSET_CONFIG_PATH: config, SUPERSET_HOME: directory, FLASK_APP: 'superset' };
    superset('db', 'upgrade');
    superset(
      ...['fab', 'create-admin', '--username', 'admin', '--password', 'admin'],
      ...['--firstname', 'a', '--lastname', 'b', '--email', 'a@example.com'],
    );
    superset('init');
    const zip = join(directory, 'ton.zip');
    const bundled = spawnSync(python ?? '', [join(BUNDLE, 'bundle.py'), reader.stdout.trim(), zip]);
    expect(bundled.stderr.toString()).toBe('');
    superset('import-dashboards', '--path', zip, '--username', 'admin');
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    server = spawn(
      join(dirname(python ?? ''), 'superset'),
      ['run', '--host', '127.0.0.1', '--port', String(port), '--with-threads'],
      { env, stdio: 'ignore' },
    );
    await vi.waitFor(async () => expect((await fetch(`${url}/health`)).ok).toBe(true), {
      timeout: 240_000,
      interval: 500,
    });
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1500, height: 3000 } });
    page.setDefaultTimeout(240_000);
    page.on('response', (response) => {
      if (!response.url().includes('/api/v1/chart/data')) return;
      const { form_data } = Asked.parse(response.request().postDataJSON());
      const { slice_id } = form_data;
      if (slice_id === undefined) return;
      void response.text().then((text) => {
        const parsed = Answered.safeParse(JSON.parse(text));
        const [result] = parsed.success ? parsed.data.result : [];
        const error = parsed.success ? (result?.error ?? '') : text;
        drawn.set(slice_id, { status: response.status(), rows: result?.data ?? [], error });
      });
    });
    await page.goto(`${url}/login/`);
    await page.fill('#username', 'admin');
    await page.fill('#password', 'admin');
    await page.keyboard.press('Enter');
    await page.waitForURL((address) => !address.pathname.startsWith('/login'));
  }, 900_000);
  afterAll(async () => {
    await browser?.close();
    server?.kill('SIGKILL');
    await store.ask(`drop owned by ${ROLE}; drop role ${ROLE}`);
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Opens a dashboard, and returns its charts by name when all have been drawn. */
  const open = async (slug: string, query = '') => {
    drawn.clear();
    await page.goto(`${url}/superset/dashboard/${slug}/${query}`);
    const charts = page.locator('[data-test-chart-id]');
    await charts.first().waitFor();
    const ids = await page.evaluate<[string, number][]>(NAMES_AND_IDS);
    await expect.poll(() => ids.filter(([, id]) => !drawn.has(id)).map(([name]) => name)).toEqual([]);
    await expect.poll(() => page.locator('[data-test="loading-indicator"]').count()).toBe(0);
    const kept = process.env['SCREENSHOTS'];
    if (kept !== undefined) await page.screenshot({ path: join(kept, `${slug}.png`) });
    return new Map(ids);
  };

  test.each(['network', 'dex', 'account'])(
    'draws the dashboard %s with the numbers of the database',
    async (name) => {
      const file = await readFile(join(BUNDLE, 'dashboards', `${name}.yaml`), 'utf8');
      const { slug, position } = z
        .object({ slug: z.string(), position: z.record(z.string(), z.unknown()) })
        .parse(parse(file));
      const chosen = `(NATIVE_FILTER-account:(extraFormData:(filters:!((col:account,op:IN,val:!('${account}')))),filterState:(label:'${account}',value:!('${account}')),id:NATIVE_FILTER-account,ownState:()))`;
      const charts = await open(slug, name === 'account' ? `?native_filters=${chosen}` : '');
      expect(charts.size).toBe(Object.keys(position).filter((id) => id.startsWith('CHART-')).length);
      for (const [title, id] of charts) {
        const { status, rows, error } = drawn.get(id) ?? { status: 0, rows: [], error: 'not drawn' };
        expect({ title, status, error }).toEqual({ title, status: 200, error: '' });
        const chart = page.locator(`[data-test-chart-id="${id}"]`);
        expect(await chart.locator('[role="alert"], .ant-alert-error').allInnerTexts(), title).toEqual([]);
        expect(rows.length, title).toBeGreaterThan(0);
        const shown = NUMBERS[title];
        if (shown !== undefined)
          await expect
            .poll(() => chart.innerText(), { message: title })
            .toContain((await one(shown))['shown']);
        const sums = SUMS[title];
        if (sums !== undefined)
          for (const [column, sum] of Object.entries(await one(sums)))
            expect(sumOf(rows, column), `${title}, ${column}`).toBeCloseTo(Number(sum), 3);
        const colours = await page.evaluate<number | undefined>(coloursOf(id));
        if (colours !== undefined) expect(colours, title).toBeGreaterThan(2);
      }
    },
  );

  test('shows each line of a statement with its exact amount', async () => {
    const { amount, balance } =
      await one(`select nano_to_ton(amount)::text as amount, nano_to_ton(balance)::text as balance
      from account_ledger where account = $account and jetton_master is null order by utime desc, lt desc, step desc limit 1`);
    const text = await page.locator('[data-test-chart-name="Statement"]').innerText();
    expect(text).toContain(amount);
    expect(text).toContain(balance);
  });

  test('a later bundle replaces an earlier one', async () => {
    const folder = join(directory, 'unpacked');
    spawnSync(python ?? '', ['-m', 'zipfile', '-e', join(directory, 'ton.zip'), folder]);
    const chart = join(folder, 'superset', 'charts', 'network_transactions.yaml');
    const text = await readFile(chart, 'utf8');
    await writeFile(chart, text.replace('slice_name: Transactions', 'slice_name: Renamed'));
    superset('import-directory', '--overwrite', join(folder, 'superset'));
    const names = await page.evaluate<string[]>(
      `fetch('/api/v1/chart/?q=(page_size:100)').then((all) => all.json()).then(({ result }) => result.map((chart) => chart.slice_name))`,
    );
    expect(names).toHaveLength((await readdir(join(BUNDLE, 'charts'))).length);
    expect(names).toContain('Renamed');
    expect(names).not.toContain('Transactions');
  });
});

/** The sum of a column, or of all columns except the time for `*`. */
function sumOf(rows: Rows, column: string): number {
  const names =
    column === '*'
      ? Object.keys(rows[0] ?? {}).filter((name) => !/^(?:utime|day|hour|__timestamp)$/.test(name))
      : [column];
  return rows.reduce(
    (sum, row) => sum + names.reduce((within, name) => within + Number(row[name] ?? 0), 0),
    0,
  );
}

/** Runs in the browser: the names of charts, and their numbers. */
const NAMES_AND_IDS = `[...document.querySelectorAll('[data-test-chart-id]')].map(
  ({ dataset }) => [dataset.testChartName, Number(dataset.testChartId)])`;

/** Runs in the browser: how many colors the canvas of a chart has; undefined if it has none. */
function coloursOf(id: number): string {
  return `(() => {
    const canvas = document.querySelector('[data-test-chart-id="${id}"] canvas');
    if (canvas === null) return undefined;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  })()`;
}
