import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/package.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { query } from '../support/database/query.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { pythonWith } from '../support/program/python.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

/* Builds the project of deploy/dbt on a day of a simulated network and one hour, as docs/analyst/dbt.md says. */

const DAY = 86_400;
const midnight = Math.floor(Date.now() / 1000 / DAY) * DAY;
const start = midnight - DAY;
const network = { seed: 3, start, duration: DAY + 3600, load: 0.1, accounts: 100, masterchainInterval: 60 };
const ROLE = 'dbt';
const VERIFIED = new Date(start * 1000).toISOString().slice(0, 10);

const python = pythonWith({
  name: 'dbt',
  install: ['dbt-core==1.10.15', 'dbt-postgres==1.11.0'],
  modules: 'dbt.adapters.postgres',
});

describe.skipIf(python === undefined)('the project for dbt', () => {
  let store: CrawledStore;
  let cli: Cli;
  let simulator: Simulator;
  let directory: string;
  let env: NodeJS.ProcessEnv;

  const dbt = (...args: readonly string[]) => {
    const project = ['--project-dir', directory, '--profiles-dir', directory, '--no-use-colors'];
    const { status, stdout } = spawnSync(join(dirname(python ?? ''), 'dbt'), [...args, ...project], {
      env,
      cwd: directory,
      encoding: 'utf8',
    });
    return { status, stdout };
  };
  const build = () => {
    const { status, stdout } = dbt('build');
    expect(status, stdout).toBe(0);
    expect(stdout).toMatch(/PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
    expect(stdout).not.toMatch(/deprecat/i);
  };
  const numbers = async (statement: string) =>
    (await store.ask(statement)).map((row) => Object.values(row).map(Number));
  const builtAt = async (day: string) => {
    const [row] = await store.ask(`select built_at from marts.network_by_day where day = '${day}'`);
    return row?.['built_at'];
  };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-dbt-'));
    await cp(join(packageRoot, 'deploy', 'dbt'), directory, { recursive: true });
    store = await openCrawledStore({ name: `dbt_${start}`, options: network });
    cli = await openCli();
    simulator = await startSimulator(network);
    const reader = await cli.run(['reader', '--name', ROLE, '--timeout', '1h'], { DATABASE_URL: store.url });
    const { hostname, port, password, pathname } = new URL(reader.stdout.trim());
    env = {
      ...process.env,
      DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
      ...{
        PGHOST: hostname,
        PGPORT: port,
        PGUSER: ROLE,
        PGPASSWORD: password,
        PGDATABASE: pathname.slice(1),
      },
    };
    const role = spawnSync('psql', [store.url, '-f', join(directory, 'role.sql')], { encoding: 'utf8' });
    expect(role.stderr).not.toContain('ERROR');
  });
  afterAll(async () => {
    await query(store.url, `drop schema marts cascade; drop owned by ${ROLE}; drop role ${ROLE}`);
    await cli.close();
    await simulator.close();
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });

  test('builds tables that agree with the views, and passes its tests', async () => {
    build();
    expect(
      await numbers('select sum(transactions) as transactions, count(*) as days from marts.network_by_day'),
    ).toEqual(
      await numbers(
        `select count(*) as transactions, count(distinct (utime at time zone 'UTC')::date) as days from transactions`,
      ),
    );
    expect(
      await numbers('select sum(trades) as trades, sum(volume_ton) as ton from marts.dex_volume_by_day'),
    ).toEqual(await numbers('select count(*) as trades, sum(volume_ton) as ton from dex_trades'));
    expect(await numbers('select sum(transfers) from marts.jettons_by_day')).toEqual(
      await numbers('select count(*) from jetton_transfers where transaction_aborted is not true'),
    );
    // The last balances of all changes are the balances of all accounts.
    expect(
      await numbers(`select sum(balance_raw) from
        (select distinct on (account) balance_raw from marts.balance_changes_by_day where asset = 'TON' order by account, day desc) b`),
    ).toEqual(
      await numbers(`select sum(after_balance) from
        (select distinct on (account) after_balance from transactions where after_balance is not null order by account, lt desc) t`),
    );
  });

  test('builds a certified day once, and again after it was opened and certified anew', async () => {
    const range = ['--from', VERIFIED, '--to', new Date(midnight * 1000).toISOString().slice(0, 10)];
    const verify = async () => {
      const { code, stderr } = await cli.run(['verify', ...range, '--only', 'blocks,transactions,traces'], {
        DATABASE_URL: store.url,
        TONCENTER_NETWORK: simulator.url,
      });
      expect(
        await numbers(`select count(*) from daily_activity where certified`),
        `${code} ${stderr}`,
      ).toEqual([[1]]);
    };
    await verify();
    build();
    const first = await builtAt(VERIFIED);
    const today = new Date(midnight * 1000).toISOString().slice(0, 10);
    const firstOfToday = await builtAt(today);
    build();
    expect(await builtAt(VERIFIED)).toBe(first);
    expect(await builtAt(today)).not.toBe(firstOfToday);
    await query(store.url, `delete from etl.closed_days where relation = 'daily_activity'`);
    await verify();
    // The test of certificates sees it before the build that follows.
    const { stdout } = dbt('test', '--select', 'network_by_day');
    expect(stdout).toMatch(/FAIL 1 whole_network_by_day/);
    build();
    expect(await builtAt(VERIFIED)).not.toBe(first);
  });

  test('takes the freshness of a source from its coverage', async () => {
    const { stdout } = dbt('source', 'freshness', '--select', 'source:ton.transactions', 'source:ton.swaps');
    const age = Date.now() / 1000 - (midnight + 3600);
    expect(stdout).toMatch(age > DAY ? /ERROR/ : age > 3600 ? /WARN|PASS/ : /PASS/);
    await query(store.url, `delete from etl.coverage where dataset = 'actions'`);
    const after = dbt('source', 'freshness', '--select', 'source:ton.transactions', 'source:ton.swaps');
    expect(after.stdout).toMatch(/ERROR STALE freshness of ton.swaps/);
    expect(after.stdout).not.toMatch(/ERROR STALE freshness of ton.transactions/);
  });
});
