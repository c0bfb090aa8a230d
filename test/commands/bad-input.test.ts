import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { errorResponse } from '../../src/simulator/http/response.ts';
import { lackMasterchain } from '../support/simulator/lack-blocks.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { commitsEnded } from '../support/database/commits-ended.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { some, thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const RANGE = ['--from', String(START), '--to', String(START + 300), '--only', 'transactions'];
/** Nothing listens there. */
const NOWHERE = '127.0.0.1:1';

let cli: Cli;
beforeAll(async () => {
  cli = await openCli();
});
afterAll(() => cli.close());

describe('a wrong command line is reported in a sentence, exit 2, before anything is started', () => {
  const backfill = (...rest: string[]) => ['backfill', '--from', '2026-01', '--to', '2026-02', ...rest];
  test.concurrent.each([
    ['no command', [], 'Usage: toncenter-etl'],
    ['an unknown command', ['syncc'], 'Did you mean sync?'],
    ['an unknown option', ['status', '--jsn'], "unknown option '--jsn'"],
    ['too many arguments', ['status', 'all'], 'too many arguments'],
    ['a missing option', ['backfill', '--from', '2026-01'], '--from and --to are needed together'],
    [
      'a verification without an end',
      ['verify', '--from', '2026-01'],
      '--from and --to are needed together\nhint: ',
    ],
    ['a verification of nothing', ['verify'], '--from and --to are needed together\nhint: '],
    [
      '--from after --to',
      ['backfill', '--from', '2026-02-01', '--to', '2026-01-31T23:59Z'],
      '--from (2026-02-01T00:00:00Z) must lie before --to (2026-01-31T23:59:00Z)',
    ],
    [
      'a malformed time',
      ['backfill', '--from', 'last week', '--to', 'now'],
      '"last week" is not a time: write it like',
    ],
    [
      'a day that no calendar has',
      ['backfill', '--from', '2026-02-30', '--to', 'now'],
      '"2026-02-30" is not a valid date',
    ],
    [
      'an unknown dataset',
      backfill('--only', 'blocks,transactoins'),
      'no dataset "transactoins": did you mean "transactions"?',
    ],
    ['no dataset', backfill('--only', ''), '--only names no dataset'],
    [
      'commas alone',
      ['export', '--out', 'lake', ...backfill('--only', ' ,').slice(1)],
      '--only names no dataset',
    ],
    ['an unknown dataset behind a space', backfill('--only', 'blocks, foo'), 'no dataset "foo"'],
    [
      'messages, which is not a dataset',
      backfill('--only', 'messages'),
      '"transactions" and "traces" fill the table messages',
    ],
    ['events, which is not a dataset', backfill('--only', 'events'), 'the deprecated alias of "traces"'],
    ['pending data', backfill('--only', 'pending_traces'), 'so it is never stored'],
    [
      'a number of requests that is not whole',
      backfill('--max-requests', '0'),
      'must be a whole number above 0',
    ],
    [
      'a malformed duration',
      backfill('--deadline', 'soon'),
      '"soon" is not a duration: write it like 90s, 5m, 2h or 7d',
    ],
    [
      'a lake to import that is not there',
      ['import', '--lake', '/nope', ...backfill().slice(1)],
      'there is no lake at /nope\nhint: `toncenter-etl export --out` makes one.',
    ],
    [
      'a lake to verify that is not there',
      ['verify', '--lake', '/nope'],
      'there is no lake at /nope\nhint: `',
    ],
    ['a lake to ask that is not there', ['sql', '--lake', '/nope', 'select 1'], 'no lake at /nope\nhint: `'],
    ['a directory that is not a lake', ['verify', '--lake', '/'], 'there is no lake at /\nhint: `'],
    ['no hash', ['why', 'ABC'], '"ABC" is not a hash'],
    ['an option that why does not have', ['why', '0'.repeat(64), '--bogus'], 'too many arguments'],
    ['an unknown dataset to describe', ['datasets', 'transaction'], 'did you mean "transactions"?'],
    ['a group of datasets to describe', ['datasets', 'core'], '"core" names a group of datasets'],
    ['no statement', ['sql', ' ; -- nothing'], 'there is no statement'],
    ['two forms at once', ['sql', 'select 1', '--csv', '--json'], '--csv and --json exclude each other'],
    ['a statement next to --url', ['sql', '--url', 'select 1'], '--url excludes other options'],
    ['an invalid port', ['simulate', '--port', '99999'], '--port "99999" is not a whole number up to 65535'],
    ['an unknown kind of limiter', ['simulate', '--rate-limit', 'window:10'], '"window:10" is not KIND:RPS'],
    ['a latency without an end', ['simulate', '--latency', '5'], 'is not MIN-MAX in milliseconds'],
    ['an unknown build', ['simulate', '--build', '1.4'], 'neither 1.2 nor 1.3'],
    ['an unknown fault', ['simulate', '--fault', 'badGatway=1'], 'did you mean "badGateway"?'],
    ['a fault that is too probable', ['simulate', '--fault', 'badGateway=2'], 'a probability from 0 to 1'],
    [
      'recorded data that are not there',
      ['simulate', '--corpus', '/nowhere'],
      'There is no directory /nowhere',
    ],
    ['a network without end', ['simulate', '--hours', '1000000'], 'more than 20 million'],
  ])('%s', async (_, args, sentence) => {
    const { code, stdout, stderr } = await cli.ask(args, { DATABASE_URL: `postgres://${NOWHERE}/x` });
    expect(stderr).toContain(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('all wrong settings are reported at once by name, and no secret with them', async () => {
    const { code, stderr } = await cli.run(['status'], {
      TONCENTER_NETWORK: 'mainet',
      TONCENTER_RPS: 'fast',
      ETL_FRESHNESS: 'often',
      ETL_SINCE: 'long ago',
      ETL_ATTEMPTS: '0',
      ETL_MIN_FREE: 'plenty',
      LOG_FORMAT: 'xml',
      DATABASE_URL: 'mysql://me:secret@host/x',
      ETL_DATASETS: 'foo,blocks',
      ETL_SINCEE: '-7d',
    });
    const none = await cli.ask(['status'], { ETL_DATASETS: ',' });
    expect(none.stderr).toContain('ETL_DATASETS "," names no dataset');
    expect(none.code).toBe(2);
    expect(code).toBe(2);
    for (const name of [
      'TONCENTER_NETWORK "mainet" is neither',
      'TONCENTER_RPS "fast" is not',
      'ETL_FRESHNESS "often" is wrong',
      'ETL_SINCE "long ago" is wrong',
      'ETL_ATTEMPTS "0" is below 1',
      'ETL_MIN_FREE "plenty" is wrong',
      'LOG_FORMAT "xml" is not',
      'DATABASE_URL is not a URL like',
      'ETL_DATASETS: there is no dataset "foo"',
      'ETL_SINCEE is not a setting: did you mean ETL_SINCE?',
    ])
      expect(stderr).toContain(name);
    expect(stderr).not.toContain('secret');
  });
});

describe('words that no command takes are exit 2, with a suggestion', () => {
  test.each([
    [['bakfill', '--help'], /unknown command 'bakfill'\n\(Did you mean backfill\?\)/],
    [['and', '--help'], /unknown command 'and'/],
    [['help', 'foo'], /unknown command 'foo'/],
    [['help', 'statuss'], /Did you mean status\?/],
    [['--json', 'stat'], /unknown/],
    [['backfill', '--from', '-1h', '--to', 'now', '--threads', '2'], /unknown option '--threads'/],
    [['reader', '--name', ''], /1 to 63 bytes/],
    [['reader', '--name', 'x'.repeat(64)], /1 to 63 bytes/],
    [['reader', '--name', 'public'], /Postgres reserves this name/],
    [['reader', '--name', 'none'], /Postgres reserves this name/],
    [['reader', '--name', 'pg_reader'], /Postgres reserves this name/],
    [
      ['plan', '--from', '2026', '--to', '2027'],
      /"2026" is a year: write a month or a day of it, such as 2026-01 /,
    ],
    [['why', 'A'.repeat(43) + '=', '--at', '2096-01-01'], /is in the future/],
  ])('%j', async (words, sentence) => {
    const { code, stderr } = await cli.ask(words, { TONCENTER_NETWORK: `http://${NOWHERE}` });
    expect(stderr).toMatch(sentence);
    expect(code).toBe(2);
  });

  test.each([[['help']], [['--help']], [['help', 'status']], [['status', '--help']]])(
    '%j is no typo',
    async (words) => {
      expect((await cli.ask(words)).code).toBe(0);
    },
  );
});

test('an unknown record in quarantine is named, and a bundle that cannot be written is reported once', async () => {
  const store = await openTestStore();
  const settings = {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: `http://${NOWHERE}/SECRETTOKEN9`,
    ETL_ATTEMPTS: '1',
  };
  const retried = await cli.ask(['quarantine', 'retry', '99'], settings);
  expect(retried.stderr).toContain('there is no record 99 in quarantine');
  expect(retried.code).toBe(2);
  const doctor = await cli.ask(['doctor', '--bundle', '/nowhere/b.json'], settings);
  expect(doctor.stderr).toMatch(/the bundle cannot be written to \/nowhere\/b\.json: ENOENT/);
  expect(doctor.stdout).toBe('');
  const path = join(await mkdtemp(join(tmpdir(), 'toncenter-etl-bundle-')), 'b.json');
  await cli.ask(['doctor', '--bundle', path], settings);
  expect(await readFile(path, 'utf8')).not.toContain('SECRETTOKEN9');
  await store.close();
});

test('unknown names of settings are warned of, with the nearest one, and doctor finds them', async () => {
  const store = await openTestStore();
  const settings = {
    DATABASE_URL: store.url,
    TONCENTER_APIKEY: 'the-key-itself',
    ETL_SINCEE: '-7d',
    TONCENTER_NETWORK: `http://${NOWHERE}`,
    ETL_ATTEMPTS: '1',
  };
  const status = await cli.ask(['status'], settings);
  const doctor = await cli.ask(['doctor', '--json'], settings);
  await store.close();
  expect(status.stderr).toMatch(
    /"what":"ETL_SINCEE is not a setting and has no effect","hint":"Write ETL_SINCE if.*"msg":"a setting has no effect"/,
  );
  expect(status.stderr).toMatch(
    /"what":"TONCENTER_APIKEY is not a setting.*"hint":"Write TONCENTER_API_KEY if/,
  );
  expect(status.stderr + doctor.stdout).not.toContain('the-key-itself');
  expect(status.code).toBe(0);
  expect(doctor.stdout).toMatch(/"check": "settings",\s+"what": "ETL_SINCEE is not a setting/);
});

test('without DATABASE_URL, libpq’s variables and ~/.pgpass say where the database is', async () => {
  const store = await openTestStore();
  const { hostname, port, pathname, username, password } = new URL(store.url);
  const variables = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) };
  const ask = (more: Record<string, string>) =>
    cli.run(['sql', '--csv', 'select current_database()'], { ...variables, ...more });
  const home = await mkdtemp(join(tmpdir(), 'toncenter-etl-home-'));
  await writeFile(join(home, '.pgpass'), `${hostname}:${port}:*:${username}:${password}\n`, { mode: 0o600 });
  const given = await ask({ PGPASSWORD: decodeURIComponent(password) });
  const found = await ask({ HOME: home });
  const wrong = await ask({ PGPASSWORD: 'guess' });
  await rm(home, { recursive: true });
  await store.close();
  for (const { stdout, stderr } of [given, found])
    expect([stdout.split('\n')[1], stderr]).toEqual([pathname.slice(1), '(1 row)\n']);
  expect(wrong.stderr).toContain('hint: Check user and password');
  expect(wrong.code).toBe(2);
});

describe('a crawl refuses', () => {
  let store: TestStore;
  let simulator: Simulator | undefined;

  beforeAll(async () => {
    store = await openTestStore();
  });
  afterEach(async () => {
    await simulator?.close();
  });
  afterAll(() => store.close());

  async function backfill(
    options: SimulatorOptions,
    settings: Record<string, string> = {},
    more: readonly string[] = [],
  ) {
    simulator = await startSimulator({ start: START, duration: 900, load: 2, accounts: 100, ...options });
    return cli.ask(['backfill', ...RANGE, ...more], {
      DATABASE_URL: store.url,
      TONCENTER_NETWORK: simulator.url,
      TONCENTER_RPS: '100',
      ETL_ATTEMPTS: '2',
      ...settings,
    });
  }

  async function stored(): Promise<{ covered: number; rows: number; network: number }> {
    const [row] = await store.database.rows(
      sql`select (select count(*) from etl.coverage)::int as covered,
        (select count(*) from ton.transactions)::int as rows,
        (select count(*) from etl.settings where name = 'network')::int as network`,
      z.object({ covered: z.number(), rows: z.number(), network: z.number() }),
    );
    return row ?? { covered: -1, rows: -1, network: -1 };
  }

  test.each([
    ['an unknown key', { other: 'simulated' }, 401],
    ['a key of another network', { 'the-key-itself': 'testnet' }, 403],
  ])('%s: exit 2, with the settings to look at', async (_, keys, status) => {
    const { code, stdout, stderr } = await backfill({ keys }, { TONCENTER_API_KEY: 'the-key-itself' });
    expect(stderr).toContain(`was answered ${status}`);
    expect(stderr).toMatch(/hint: Check.*TONCENTER_API_KEY.*127\.0\.0\.1.*TONCENTER_NETWORK/);
    expect(stdout + stderr).not.toContain('the-key-itself');
    expect(code).toBe(2);
    expect(await stored()).toEqual({ covered: 0, rows: 0, network: 0 });
  });

  test('a base URL of another service: exit 2, with the setting to look at', async () => {
    const { code, stdout, stderr } = await backfill({
      before: () => ({ status: 404, body: '{"message":"no such page"}', headers: {} }),
    });
    expect(stderr).toContain('error: GET /api/v3/masterchainInfo was answered 404: no such page');
    expect(stderr).toMatch(/^hint: Check TONCENTER_NETWORK: /m);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(await stored()).toEqual({ covered: 0, rows: 0, network: 0 });
  });

  const unreadable = [
    ['HTML with a 200', '<html><body>Sign in to the Wi-Fi</body></html>', 'an HTML page'],
    ['JSON that was cut', '{"transactions":[{"account":"0:AB', 'broken JSON'],
    ['JSON of another shape', '{"result":[]}', 'transactions'],
    ['a list that is no list', '{"transactions":{"0":{}}}', 'transactions'],
  ];
  test.each(some(unreadable, 2))(
    '%s: retried, then refused with endpoint and reason; the other datasets are read, exit 3',
    async (_, body, reason) => {
      await store.database.script('truncate etl.coverage, etl.refused, etl.failures');
      const { code, stdout } = await backfill(
        {
          after: ({ path }, response) => (path === '/api/v3/transactions' ? { ...response, body } : response),
        },
        {},
        ['--only', 'blocks,transactions'],
      );
      expect(stdout).toMatch(
        /^refused +transactions: 2026-05-01T00:00:00Z .. 2026-05-01T00:05:00Z: failing, GET/m,
      );
      expect(stdout).toContain('the response is not the endpoint');
      expect(stdout).toContain(reason);
      expect(stdout).toMatch(/^refused .*; retry in 1m/m);
      expect(code).toBe(3);
      expect(simulator?.stats.byPath.get('/api/v3/transactions')).toBeGreaterThanOrEqual(2);
      const covered = await store.database.rows(
        sql`select dataset, covered::text from etl.coverage`,
        z.object({ dataset: z.string(), covered: z.string() }),
      );
      expect(covered).toEqual([{ dataset: 'blocks', covered: `{[${START},${START + 300})}` }]);
      expect(await stored()).toMatchObject({ rows: 0 });
    },
  );

  test.each([
    ['a key without access to this', 403, '{"error":"your plan does not include this"}'],
    ['a gateway whose backend is down', 502, '<html><title>502 Bad Gateway</title></html>'],
  ])(
    'one endpoint that responds with %s: it alone is refused, the others are read, exit 3',
    async (_, status, body) => {
      await store.database.script('truncate etl.coverage, etl.refused, etl.failures');
      const { code, stdout } = await backfill(
        {
          before: ({ path }) => (path === '/api/v3/transactions' ? { status, body, headers: {} } : undefined),
        },
        {},
        ['--only', 'transactions,blocks,jetton_transfers'],
      );
      expect(stdout).toMatch(
        new RegExp(`^refused +transactions: .*: failing, GET .* was answered ${status}`, 'm'),
      );
      expect(code).toBe(3);
      const covered = await store.database.rows(
        sql`select dataset from etl.coverage where covered @> int8range(${START}, ${START + 300}) order by dataset`,
        z.object({ dataset: z.string() }),
      );
      expect(covered).toEqual([{ dataset: 'blocks' }, { dataset: 'jetton_transfers' }]);
    },
  );

  thorough(
    'a block that has been missing for minutes ends a range before it: exit 3, with what to do',
    async () => {
      await store.database.script('truncate etl.coverage, etl.refused, etl.failures');
      const lacking = { after: lackMasterchain({ from: START + 100, to: START + 110 }) };
      const both = ['--only', 'blocks,transactions'];
      const { code, stdout } = await backfill(lacking, {}, both);
      expect(stdout).toMatch(
        /cut: newer than .* is not safe to read yet: masterchain block 4\d is missing, though the source shows blocks of .*Run the command again later/,
      );
      expect(stdout).toMatch(/^incomplete: /m);
      expect(code).toBe(3);
      expect(await backfill({}, {}, both)).toMatchObject({ code: 0 });
    },
  );

  thorough(
    'a run within the minute requests refused ranges again, because its user may have fixed something',
    async () => {
      await store.database.script('truncate etl.coverage, etl.refused, etl.failures');
      const both = ['--only', 'blocks,transactions'];
      const before: SimulatorOptions['before'] = ({ path }) =>
        path === '/api/v3/transactions' ? errorResponse(403, 'not here') : undefined;
      const lacking = await backfill({ before }, {}, both);
      expect(lacking.stdout).toMatch(/^refused .*; retry in 1m/m);
      expect(lacking.code).toBe(3);
      expect(await backfill({}, {}, both)).toMatchObject({ code: 0 });
    },
  );

  test('a database that holds another network: exit 2', async () => {
    const { code, stderr } = await backfill({ globalId: -239 });
    expect(stderr).toContain(
      'the database holds the simulated network, the API serves mainnet: one database holds one network',
    );
    expect(stderr).toMatch(/hint: Set DATABASE_URL .*TONCENTER_NETWORK/);
    expect(code).toBe(2);
  });
});

thorough(
  'a version that still runs when a newer one migrates ends, and writes nothing in the old form: exit 2',
  async () => {
    const [start, store] = [Date.UTC(2026, 0, 1) / 1000, await openTestStore()];
    // The network is long enough that both processes are seen to write.
    const simulator = await startSimulator({ start, duration: 1800, load: 4, faults: { maxLimit: 20 } });
    const settings = {
      DATABASE_URL: store.url,
      TONCENTER_NETWORK: simulator.url,
      TONCENTER_RPS: '5',
      ETL_WATERMARK_DELAY: '1s',
    };
    const range = ['--from', String(start), '--to', String(start + 1500)];
    // Neither waits for what the other one reads.
    const old = [
      cli.start(['sync', '--only', 'blocks'], { ...settings, ETL_SINCE: 'first' }),
      cli.start(['backfill', ...range, '--only', 'transactions'], settings),
    ];
    const Pages = z.object({ writers: z.number(), last: z.number() });
    const pages = () =>
      store.database.rows(
        sql`select count(distinct worker)::int as writers, coalesce(max(id), 0)::int as last from etl.pages`,
        Pages,
      );
    await expect.poll(pages).toMatchObject([{ writers: 2 }]);
    await store.database.transaction(async (session) => {
      await session.run(sql`alter table ton.blocks add column of_the_future int`);
      await session.run(sql`insert into etl.migrations (hash, created_at) values ('of the future', 9e12)`);
    });
    await commitsEnded(store.database);
    const [before] = await pages();
    for (const { ended } of old) {
      const { code, stderr } = await ended;
      expect({ code, stderr }).toMatchObject({ code: 2 });
      expect(stderr).toContain('a schema that this version of toncenter-etl does not know');
      expect(stderr).toContain('hint: Use the version of toncenter-etl that migrated it last');
    }
    expect(await pages()).toEqual([before]);
    await simulator.close();
    await store.close();
  },
);

test('a database with a newer schema is refused by every command: exit 2', async () => {
  const store = await openTestStore();
  await store.database.run(sql`insert into etl.migrations (hash, created_at) values ('of the future', 9e12)`);
  const { code, stdout, stderr } = await cli.ask(['status'], { DATABASE_URL: store.url });
  await store.close();
  expect(stderr).toContain('a schema that this version of toncenter-etl does not know');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});
