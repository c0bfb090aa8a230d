import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { DoctorFinding } from '../../src/doctor/examine.ts';
import { errorResponse } from '../../src/simulator/http/response.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { query } from '../support/database/query.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { thorough } from '../support/thorough.ts';

const KEY = 'the-key-itself-3f9a';
const NOW = Math.floor(Date.now() / 1000);

let cli: Cli;
let store: TestStore;
let simulator: Simulator;
let directory: string;
/** The source prints root hashes in an unknown form. */
let spoilsBlocks = false;

beforeAll(async () => {
  cli = await openCli();
  store = await openTestStore();
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-doctor-'));
  simulator = await startSimulator({
    start: NOW - 1200,
    duration: 1200,
    load: 1,
    accounts: 100,
    keys: { [KEY]: 'simulated' },
    // A server that repeats the key that it received, in an error and in a record that does not fit.
    before: ({ path, header }) =>
      path === '/api/v3/jetton/burns'
        ? errorResponse(400, `bad key ${header('x-api-key') ?? ''}`)
        : undefined,
    after: ({ path, header }, response) =>
      spoilsBlocks && path === '/api/v3/blocks'
        ? { ...response, body: response.body.toString().replaceAll('"root_hash":"', '"root_hash":"hash:') }
        : path === '/api/v3/transactions'
          ? {
              ...response,
              body: response.body
                .toString()
                .replaceAll('"lt":"', `"echo":"${header('x-api-key') ?? ''}","lt":"`),
            }
          : response,
  });
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

function run(args: readonly string[], more: Record<string, string> = {}) {
  return cli.ask(args, {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_API_KEY: KEY,
    TONCENTER_RPS: '100',
    ETL_ATTEMPTS: '2',
    ...more,
  });
}

async function findings(): Promise<DoctorFinding[]> {
  const { stdout } = await run(['doctor', '--json']);
  return JSON.parse(stdout) as DoctorFinding[];
}

describe('doctor', () => {
  test('finds nothing wrong with a new database: exit 0', async () => {
    const { code, stdout, stderr } = await run(['doctor']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'nothing is wrong\n', stderr: '' });
  });

  test('names the routes of the chosen datasets that are missing, and those with an unusable response', async () => {
    simulator.faults.absent = ['/api/v3/traces', '/api/v3/nft/items', '/api/v3/actions'];
    spoilsBlocks = true;
    try {
      const { stdout } = await run(['doctor', '--json'], { ETL_DATASETS: 'core,nft_items,account_states' });
      const found = (JSON.parse(stdout) as DoctorFinding[]).filter(({ check }) => check === 'routes');
      expect(found.map(({ what }) => what)).toEqual([
        expect.stringMatching(
          /^blocks cannot be read .* answers in an unexpected form: root_hash: is not a hash/,
        ),
        expect.stringMatching(/^nft_items cannot be read from this server: it has no \/api\/v3\/nft\/items$/),
        expect.stringMatching(/^nft_items /),
        expect.stringMatching(/^traces cannot be read from this server: it has no \/api\/v3\/traces$/),
      ]);
    } finally {
      delete simulator.faults.absent;
      spoilsBlocks = false;
    }
  });

  test('reports schema, indexes, partitions, drift, quarantine and API, each with its remedy: exit 1', async () => {
    await store.database.script(`
      alter table etl.settings add column by_hand text;
      alter table ton.blocks drop column flags cascade;
      drop index ton.action_accounts_account;
      insert into etl.partitions (parent, span, name) values ('blocks', '[1,2)', 'blocks_1970_01_01');
      insert into etl.schema_drift (dataset, path, type, example) values ('blocks', 'new_member', 'string', '"x"');
      insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request)
        values ('blocks', 'b', now(), '[0,1)', 'flags', 'no number', '{}', '/api/v3/blocks');
      create table ton.scratch (n int);
      insert into ton.scratch values (1), (1);
    `);
    await query(store.url, 'create unique index concurrently scratch_n on ton.scratch (n)').catch(
      () => undefined,
    );
    const found = await findings();
    const what = found.map((finding) => `${finding.check}: ${finding.what}`).join('\n');
    expect(what).toContain('schema: etl.settings has a column by_hand that no migration created');
    expect(what).toContain('schema: ton.blocks lacks the column flags');
    expect(what).toContain('schema: ton.action_accounts lacks the index action_accounts_account');
    expect(what).toContain('indexes: the index ton.scratch_n is invalid');
    expect(what).toContain(
      'partitions: etl.partitions lists blocks_1970_01_01, which is not a partition of blocks',
    );
    expect(what).toContain('drift: blocks has a member new_member (string)');
    expect(what).toContain('quarantine: 1 records of blocks');
    for (const { remedy } of found) expect(remedy.length).toBeGreaterThan(20);
    expect((await run(['doctor'])).code).toBe(1);
    const refused = await run(['doctor', '--json'], { TONCENTER_API_KEY: 'another-key' });
    expect(refused.stdout).toContain('TONCENTER_API_KEY');
  });

  thorough(
    'reports an API of another network whose head is old, and a disk that is nearly full',
    async () => {
      const other = await startSimulator({ start: NOW - 90_000, duration: 600, globalId: -3 });
      const embedded = { ETL_DATA_DIR: join(directory, 'data'), ETL_MIN_FREE: '900000GB', DATABASE_URL: '' };
      await store.database.run(sql`
      insert into etl.settings (name, value) values ('network', '{"global_id": -239}') on conflict do nothing`);
      await run(['migrate'], embedded);
      const [elsewhere, full] = await Promise.all([
        run(['doctor', '--json'], { TONCENTER_NETWORK: other.url, TONCENTER_API_KEY: '' }),
        run(['doctor', '--json'], embedded),
      ]);
      const reported = [elsewhere, full].map(({ stdout }) =>
        (JSON.parse(stdout) as DoctorFinding[]).map((finding) => `${finding.check}: ${finding.what}`),
      );
      expect(reported[0]).toContain('network: the database holds mainnet, the API serves testnet');
      expect(reported[0]).toContainEqual(
        expect.stringMatching(/^head: the newest masterchain block is 1d ?\S* old$/),
      );
      expect(reported[1]).toEqual([
        expect.stringMatching(
          /^disk: \d+\.\d GB are free on the disk of .*; a crawl pauses below 900000\.0 GB/,
        ),
      ]);
      expect([elsewhere.code, full.code]).toEqual([1, 1]);
      await other.close();
    },
  );
});

test('the key is in no log, error, table, recording or bundle, even if the server repeats it', async () => {
  const own = await openTestStore();
  const recording = join(directory, 'recording');
  const bundle = join(directory, 'bundle.json');
  const settings = { DATABASE_URL: own.url, LOG_LEVEL: 'trace' };
  const range = [
    '--from',
    String(NOW - 1100),
    '--to',
    String(NOW - 800),
    '--only',
    'transactions,jetton_burns',
  ];
  const outputs = [
    await run(['backfill', ...range, '--record', recording], settings),
    await run(['status'], settings),
    await run(['quarantine', 'list'], settings),
    await run(['doctor', '--bundle', bundle], settings),
  ];
  expect(outputs[0]?.stderr).toContain('bad key [key]');
  for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toContain(KEY);
  const { mode } = await stat(bundle);
  expect(mode & 0o077).toBe(0);
  const bundled = await readFile(bundle, 'utf8');
  expect(JSON.parse(bundled)).toMatchObject({
    settings: { apiKey: 'set' },
    database: { label: expect.any(String) as string },
  });
  expect(bundled).not.toContain(KEY);
  const password = new URL(own.url).password;
  if (password.length > 3) expect(bundled).not.toContain(password);
  for (const name of await readdir(recording)) {
    const recorded = await readFile(join(recording, name), 'utf8');
    expect(recorded).toContain('[key]');
    expect(recorded).not.toContain(KEY);
  }
  expect(await inDatabase(own, KEY)).toEqual([]);
  await own.close();
});

/** Tables with a row that contains the text. */
async function inDatabase({ database }: TestStore, text: string): Promise<string[]> {
  const Name = z.object({ name: z.string() });
  const tables = await database.rows(
    sql`select quote_ident(n.nspname) || '.' || quote_ident(relname) as name from pg_class c join pg_namespace n on n.oid = relnamespace
        where nspname in ('ton', 'etl') and relkind in ('r', 'p')`,
    Name,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await database.rows(
      sql`select ${name}::text as name from ${sql.raw(name)} t where strpos(to_jsonb(t)::text, ${text}) > 0 limit 1`,
      Name,
    );
    found.push(...rows.map((row) => row.name));
  }
  return found;
}
