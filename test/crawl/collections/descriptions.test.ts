import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openEngine } from '../../../src/lake/engine.ts';
import { openLakeReader } from '../../../src/lake/open-lake.ts';
import { runSql } from '../../../src/read/free-sql.ts';
import type { HttpResponse } from '../../../src/simulator/http/response.ts';
import { readOnce, select } from '../../support/collections.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { openCli, type Cli } from '../../support/program/cli.ts';
import { exported } from '../../support/lake.ts';
import { roundedValue } from '../../support/lake-values.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { thorough } from '../../support/thorough.ts';

/* What tokens say of themselves changes: the simulator's answers are edited on their way. */

type Json = Record<string, unknown>;

const START = 1_767_225_600;
const NETWORK = { start: START, duration: 120, load: 4, accounts: 80 };
const NAMES = ['jetton_masters', 'nft_collections', 'nft_items', 'token_metadata'];

let simulator: Simulator;
let cli: Cli;
let store: TestStore;
/** What contracts say, what the indexer has found, and by how much the lts of contracts are moved. */
let source: { chain: string; indexer: string; lt: number };

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Contents that can be read get a name; everything that the indexer knows gets a description. */
function edited(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(edited);
  if (!isJson(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, edited(member)]);
  const copy = Object.fromEntries(members) as Json;
  for (const name of ['jetton_content', 'collection_content', 'content'])
    if (isJson(copy[name])) copy[name] = { ...copy[name], name: source.chain };
  if ('last_transaction_lt' in copy)
    copy['last_transaction_lt'] = String(BigInt(String(copy['last_transaction_lt'])) + BigInt(source.lt));
  for (const info of Array.isArray(copy['token_info']) ? (copy['token_info'] as Json[]) : [])
    info['description'] = source.indexer;
  return copy;
}

function edit(response: HttpResponse): HttpResponse {
  const text = response.body.toString();
  if (!/"(jetton_content|collection_content|content|token_info)"/.test(text)) return response;
  return { ...response, body: JSON.stringify(edited(JSON.parse(text))) };
}

beforeAll(async () => {
  simulator = await startSimulator({ ...NETWORK, after: (_, response) => edit(response) });
  cli = await openCli();
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
});
beforeEach(async () => {
  store = await openTestStore();
  source = { chain: 'A', indexer: 'a', lt: 0 };
});
afterEach(() => store.close());

/** Reads everything, as on another day. */
async function readAgain(now: Partial<typeof source> = {}, names = NAMES): Promise<void> {
  source = { ...source, ...now };
  await store.database.script('delete from etl.cursors; delete from etl.lookups');
  expect(await readOnce(store, simulator.url, names)).toEqual([]);
}

const count = async (table: string): Promise<number> =>
  Number((await select(store, `select count(*)::int as rows from ton.${table}`))[0]?.['rows']);

/** Names, and what the indexer had found, in the order in which they held, of each token; `whole` if each version ends where the next begins. */
const HISTORY = (view: string, of: string) => `
  select ${of}, array_agg(name order by since) as names, array_agg(token_info ->> 'description' order by since) as found,
    count(*) filter (where until is null)::int as current,
    bool_and(until is not distinct from later) as whole
  from (select *, lead(since) over (partition by ${of} order by since) as later from ton.${view}) v group by ${of}`;

const KINDS = [
  { view: 'jetton_metadata', of: 'address', dataset: 'jetton_masters' },
  { view: 'nft_metadata', of: 'address, type', dataset: 'nft_items' },
];

describe.each(KINDS)('$view', ({ view, of, dataset }) => {
  test('has a version for each change, none for a reading without one, and says until when each held', async () => {
    await readAgain();
    await readAgain({ indexer: 'b' });
    const before = await count(view);
    await readAgain();
    await readAgain({ lt: 5 });
    expect(await count(view)).toBe(before);
    await readAgain({ chain: 'C', indexer: 'c', lt: 10 });
    const tokens = await select(store, HISTORY(view, of));
    expect(tokens.length).toBeGreaterThan(3);
    const readable = tokens.filter(({ names }) => (names as string[]).at(-1) === 'C');
    expect(readable.length).toBeGreaterThan(2);
    for (const token of tokens) expect(token).toMatchObject({ current: 1, whole: true });
    // What was read of both sources at one moment is one version.
    for (const { names, found } of readable) {
      expect(names).toEqual(['A', 'A', 'C']);
      expect(found).toEqual(['a', 'b', 'c']);
    }
  });

  test('has one version if the indexer is first read after the contract', async () => {
    await readAgain();
    const versions = await count(view);
    await store.database.script(
      `update ton.${view.replace('metadata', 'descriptions')} set first_seen = first_seen + interval '1 second'
       where source = 'indexer'`,
    );
    expect(await count(view)).toBe(versions);
  });

  test('has a description again that a token had before, but not that of a server that is behind', async () => {
    const name = (await readAgain({ lt: 10 }), 'A');
    await readAgain({ chain: 'B', lt: 20 });
    const versions = await count(view);
    await readAgain({ chain: name, lt: 15 }, [dataset]);
    expect(await count(view)).toBe(versions);
    await readAgain({ chain: name, lt: 30 }, [dataset]);
    const tokens = await select(store, HISTORY(view, of));
    const readable = tokens.filter(({ names }) => (names as string[]).includes('B'));
    expect(readable.length).toBeGreaterThan(2);
    for (const { names } of readable)
      expect((names as string[]).filter((one, at, all) => one !== all[at - 1])).toEqual(['A', 'B', 'A']);
  });

  test('has no version twice if several readers find it at once', async () => {
    const readers = NAMES.map((one) => readOnce(store, simulator.url, [one]));
    expect((await Promise.all(readers)).flat()).toEqual([]);
    await Promise.all(NAMES.map((one) => readOnce(store, simulator.url, [one])));
    const table = view.replace('metadata', 'descriptions');
    const twice = await select(
      store,
      `select ${of}, source from ton.${table} group by ${of}, source having count(*) > 1`,
    );
    expect(twice).toEqual([]);
  });
});

thorough('no version is lost by a late dataset, a deep verification, a repair or retention', async () => {
  await readAgain();
  await readAgain({ chain: 'B', indexer: 'b', lt: 10 });
  const history = () =>
    select(
      store,
      `select to_jsonb(v)::text as row from ton.jetton_metadata v union all select to_jsonb(v)::text from ton.nft_metadata v order by 1`,
    );
  const before = await history();
  expect(before.length).toBeGreaterThan(10);
  const range = ['--from', '2026-01-01T00:00:10Z', '--to', '2026-01-01T00:00:30Z'];
  const lost = `delete from ton.messages where hash in (select hash from ton.messages order by hash limit 3);
    delete from ton.nft_transfers`;
  const steps: readonly { args: readonly string[]; spoil?: string; retention?: string }[] = [
    { args: ['backfill', ...range, '--only', 'blocks,transactions'] },
    { args: ['verify', ...range, '--deep', '100%'] },
    { args: ['backfill', ...range, '--only', 'nft_transfers,jetton_transfers,actions,traces'] },
    { args: ['verify', ...range, '--deep', '100%', '--repair'], spoil: lost },
    { args: ['prune'], retention: 'blocks:1d,transactions:1d,nft_transfers:1d' },
  ];
  for (const { args, spoil = '', retention = '' } of steps) {
    await store.database.script(spoil);
    const settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, ETL_RETENTION: retention };
    const { code, stderr } = await cli.ask(args, {
      ...settings,
      ETL_WATERMARK_DELAY: '0s',
      TONCENTER_RPS: '1000',
    });
    expect([0, 3], stderr).toContain(code);
    expect(await history(), args[0]).toEqual(before);
  }
  expect(await count('blocks')).toBe(0);
});

test('wallets of jettons, whose balances are metadata, are no tokens', async () => {
  await readAgain({}, [...NAMES, 'jetton_wallets']);
  const wallets = await select(
    store,
    `select address from ton.jetton_wallets
     intersect (select address from ton.jetton_metadata union all select address from ton.nft_metadata)`,
  );
  expect(wallets).toEqual([]);
  expect(await select(store, `select 1 from ton.token_metadata where type = 'jetton_wallets'`)).not.toEqual(
    [],
  );
});

test('a lake has the same history', async () => {
  await readAgain();
  await readAgain({ chain: 'B', lt: 10 });
  await readAgain({ indexer: 'b' });
  const lake = await mkdtemp(join(tmpdir(), 'toncenter-etl-descriptions-'));
  const engine = await openEngine();
  try {
    const span = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:02:00Z' };
    const out = { ...span, only: NAMES, out: lake, format: 'parquet' as const };
    expect((await exported(store.url, out)).code).toBe(0);
    const askLake = await openLakeReader(engine, lake);
    for (const { view, of } of KINDS) {
      const statement = `select ${of}, since, until, name, description, uri, is_scam from ${view} order by ${of}, since`;
      const [ofLake, ofDatabase] = await Promise.all([
        askLake(statement),
        runSql(store.database, statement, { write: false }),
      ]);
      const [there, here] = [ofLake, ofDatabase].map(({ rows }) =>
        rows.map((row) => row.map((value) => roundedValue(value))),
      );
      expect(there).toEqual(here);
      expect(there?.length).toBeGreaterThan(10);
    }
  } finally {
    await engine.close();
    await rm(lake, { recursive: true, force: true });
  }
});
