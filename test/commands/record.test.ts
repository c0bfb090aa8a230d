import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Recording } from '../../src/simulator/recorded/recording/recording.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { digestTables } from '../support/kill/digest.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
// The network is older than what is recorded, as every real one is.
const FROM = START + 400;
const TO = START + 1000;
const RANGE = ['--from', String(FROM), '--to', String(TO), '--only', 'core,actions'];

let cli: Cli;
let simulator: Simulator;
let directory: string;
const stores: TestStore[] = [];

beforeAll(async () => {
  cli = await openCli();
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-recording-'));
  simulator = await startSimulator({
    start: START,
    duration: 2400,
    load: 1,
    accounts: 100,
    keys: { 'the-key-itself': 'simulated' },
    faults: { badGateway: 0.3 },
    after: ({ path }, response) =>
      path === '/api/v3/transactions'
        ? {
            ...response,
            body: response.body.toString().replaceAll('"lt":"', '"big":9007199254740993123,"lt":"'),
          }
        : response,
  });
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  for (const store of stores) await store.close();
  await rm(directory, { recursive: true, force: true });
});

async function crawl(network: string, more: readonly string[] = []) {
  const store = await openTestStore();
  stores.push(store);
  const result = await cli.ask(['backfill', '--quiet', ...RANGE, ...more], {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: network,
    TONCENTER_API_KEY: 'the-key-itself',
    TONCENTER_RPS: '200',
    ETL_ATTEMPTS: '10',
  });
  return { store, ...result };
}

async function tablesOf({ url }: TestStore): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return digestTables(client).finally(() => client.end());
}

thorough(
  'a recorded run is served again: another database gets the same rows without a request to the source',
  async () => {
    const recorded = await crawl(simulator.url, ['--record', directory]);
    expect(recorded.code).toBe(0);
    const files = await readdir(directory);
    expect(files).toHaveLength(1);
    const lines = (await readFile(join(directory, files[0] ?? ''), 'utf8')).trim().split('\n');
    expect(lines.some((line) => (JSON.parse(line) as { status: number }).status === 502)).toBe(true);
    expect(lines.join()).not.toContain('the-key-itself');

    const asked = simulator.stats.total;
    const server = cli.start(['simulate', '--corpus', directory]);
    const url = await server.sees(/address +(http\S+)\/api/);
    const replayed = await crawl(url);
    expect({ code: replayed.code, stderr: replayed.stderr }).toEqual({ code: 0, stderr: '' });
    expect(await tablesOf(replayed.store)).toEqual(await tablesOf(recorded.store));
    expect((await tablesOf(replayed.store))['transactions']).not.toMatch(/^0 rows/);
    expect(simulator.stats.total).toBe(asked);

    // A range that was not recorded is missing: it must not pass as "nothing happened".
    const beyond = await cli.ask(
      ['backfill', '--from', String(TO), '--to', String(TO + 60), '--only', 'transactions,actions'],
      {
        DATABASE_URL: replayed.store.url,
        TONCENTER_NETWORK: url,
        TONCENTER_RPS: '200',
      },
    );
    expect(beyond.code).toBe(3);
    expect(beyond.stderr).toContain('not in the recording: /api/v3/transactions');
    expect(beyond.stderr).toContain('not in the recording: /api/v3/actions');
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
  },
);

test.skipIf(process.platform !== 'linux')(
  'a directory that cannot be created is refused before anything is read',
  async () => {
    const { code, stderr } = await crawl(simulator.url, ['--record', '/proc/none/below']);
    expect(stderr).toContain('the directory /proc/none/below cannot be created: ENOENT');
    expect(code).toBe(2);
    const read = await stores.at(-1)?.database.run(sql`select 1 from etl.pages`);
    expect(read).toBe(0);
  },
);

test('of a network that moved on, the head is served up to which blocks were read', async () => {
  const moved = await mkdtemp(join(tmpdir(), 'toncenter-etl-moved-'));
  const block = (seqno: number, utime: number) => ({
    workchain: -1,
    shard: '8',
    seqno,
    gen_utime: String(utime),
  });
  const info = (seqno: number, utime: number) => ({ first: block(1, 100), last: block(seqno, utime) });
  const blocks = (...utimes: number[]) => ({ blocks: utimes.map((utime) => block(utime, utime)) });
  const lines = [
    ['/api/v3/masterchainInfo', '', info(140, 140)],
    ['/api/v3/blocks', 'start_utime=120&sort=asc&limit=1000', blocks(120, 130, 140)],
    ['/api/v3/masterchainInfo', '', info(180, 180)],
  ].map(([path, query, body]) => {
    const facts = JSON.stringify({ path, query, status: 200 });
    return `${facts.slice(0, -1)},"body":${JSON.stringify(body)}}`;
  });
  try {
    await writeFile(join(moved, 'responses-1.jsonl'), `${lines.join('\n')}\n`);
    const recording = new Recording(moved);
    const ask = (path: string, query = '') => {
      const { status, body } = recording.answer({ path, search: new URLSearchParams(query) });
      return { status, body: JSON.parse(body.toString()) as unknown };
    };
    expect(ask('/api/v3/masterchainInfo').body).toEqual(info(140, 140));
    expect(ask('/api/v3/blocks', 'start_utime=125&sort=asc&limit=1000').body).toEqual(blocks(130, 140));
    expect(ask('/api/v3/blocks', 'start_utime=150&sort=asc&limit=1000').status).toBe(404);
  } finally {
    await rm(moved, { recursive: true });
  }
});
