import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Crawl } from '../../../src/app.ts';
import { systemClock } from '../../../src/clock.ts';
import { backfill } from '../../../src/crawl/streams/backfill.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { floorsOf, prune } from '../../../src/db/coverage/expire.ts';
import { streamOf } from '../../../src/crawl/streams/streams.ts';
import type { Dataset } from '../../../src/dataset/dataset.ts';
import { ownTablesOf } from '../../../src/dataset/owners.ts';
import { readLastReceipt, readVerified, setVerified } from '../../../src/db/coverage/verifications.ts';
import { readCoverage } from '../../../src/db/coverage/coverage.ts';
import { findExpired } from '../../../src/db/coverage/retention.ts';
import { keepWanted, readWanted } from '../../../src/db/coverage/wanted.ts';
import { UsageError } from '../../../src/errors.ts';
import { packageRoot } from '../../../src/package.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { openProof } from '../../support/verify.ts';

const DAY = 86_400;
const START = Date.UTC(2026, 2, 1) / 1000;
const END = START + 5 * DAY;
const whole = { from: START, to: END };
const reach = { range: whole, watermark: END + 10 * DAY };

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let jobs: Dataset[];
let datasets: Dataset[];

beforeAll(async () => {
  store = await openTestStore();
  await addForeignKeys();
  simulator = await startSimulator({
    start: START - 3600,
    duration: 6 * DAY,
    load: 0.004,
    masterchainInterval: 1200,
    tickTockEvery: 0,
    maxShards: 1,
  });
  crawl = await openTestCrawl(store, simulator.url, { config: { partition: 'day' } });
  jobs = await loadJobs();
  datasets = await datasetsNamed('blocks', 'transactions', 'traces', 'jetton_transfers');
  await backfill({ ...crawl, datasets, reach, stop: never });
  for (const { name } of datasets) await keepWanted(store.database, name, START, 'test');
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

/** As people do who have programs that read them; these must stand in the way of no row and no partition. */
async function addForeignKeys(): Promise<void> {
  if (store.database.version < 180_000) return;
  await store.database.script(await readFile(join(packageRoot, 'docs/analyst/foreign-keys.sql'), 'utf8'));
}

const kept = () => floorsOf(new Map([['transactions', 2.5 * DAY]]), jobs, END, 'day');
const oldest = async (table: string) => {
  const [row] = await store.database.rows(
    sql`select extract(epoch from min(utime))::int8 as oldest from ${sql.raw(`ton.${table}`)}`,
    z.object({ oldest: z.coerce.number() }),
  );
  return row?.oldest ?? 0;
};
const coverageOf = (name: string) =>
  readCoverage(store.database, streamOf(datasets.find((dataset) => dataset.name === name)!));

test('foreign keys that are not enforced are there for programs, also of partitions that came later', async () => {
  if (store.database.version < 180_000) return;
  const read = async (table: string) =>
    store.database.rows(
      sql`select conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint
        where contype = 'f' and conrelid = ${table}::regclass`,
      z.object({ from: z.string(), to: z.string() }),
    );
  for (const table of ['ton.jetton_transfers', 'etl_partitions.jetton_transfers_2026_03_02'])
    expect(await read(table)).toEqual([{ from: table, to: 'ton.jetton_masters' }]);
});

describe('retention', () => {
  test('has its floor at the begin of a partition, for the tables that are the dataset’s own', () => {
    expect(kept()).toEqual([
      { dataset: 'transactions', tables: ['transactions', 'messages'], floor: START + 2 * DAY },
    ]);
  });

  test('refuses a name that is no dataset', () => {
    expect(() => floorsOf(new Map([['transaction', DAY]]), jobs, END, 'day')).toThrow(UsageError);
  });

  test('says beforehand what it would drop', async () => {
    const expired = await findExpired(store.database, kept());
    const days = new Set(expired.map(({ span }) => span.from));
    expect([...days].filter((day) => day >= START)).toEqual([START, START + DAY]);
    expect(expired.every(({ span }) => span.to <= START + 2 * DAY)).toBe(true);
    expect(await oldest('transactions')).toBeLessThan(START + DAY);
  });

  test('drops what is old, and nothing asks for it again', async () => {
    const transactions = jobs.find(({ name }) => name === 'transactions')!;
    const stream = streamOf(transactions);
    const tables = ownTablesOf(transactions, jobs).map(([, table]) => table);
    const lastReceipt = await readLastReceipt(store.database, tables);
    const { dropped, left } = await prune(store.database, kept(), {
      attempts: 5,
      clock: systemClock,
      random: Math.random,
    });
    expect(dropped.length).toBeGreaterThan(3);
    expect(left).toEqual([]);
    const floor = START + 2 * DAY;
    expect(await oldest('transactions')).toBeGreaterThanOrEqual(floor);
    expect(await oldest('messages')).toBeGreaterThanOrEqual(floor);
    expect(await oldest('blocks')).toBeLessThan(START + DAY);
    expect(await coverageOf('transactions')).toEqual([{ from: floor, to: END }]);
    expect(await coverageOf('traces')).toEqual([whole]);
    // Checks that began before have proved nothing of what is gone.
    await setVerified(store.database, { stream, tables }, { good: [whole], bad: [], lastReceipt });
    expect(await readVerified(store.database, stream)).toEqual([{ from: floor, to: END }]);
    expect((await readWanted(store.database)).get('transactions')).toBe(floor);
    const before = simulator.stats.total;
    const missing = await backfill({ ...crawl, datasets, reach, stop: never });
    expect([...missing]).toEqual([]);
    expect(simulator.stats.total).toBe(before);
  });

  test('lets nobody write what has expired, also where traces bring it', async () => {
    await store.database.run(sql`delete from etl.coverage where dataset = 'traces'`);
    await backfill({ ...crawl, datasets, reach, stop: never });
    expect(await coverageOf('traces')).toEqual([whole]);
    expect(await oldest('traces')).toBeLessThan(START + DAY);
    expect(await oldest('transactions')).toBeGreaterThanOrEqual(START + 2 * DAY);
    expect(await findExpired(store.database, kept())).toEqual([]);
  });

  test('leaves nothing that verification would miss', async () => {
    const proof = await openProof(store, crawl);
    const reports = await proof.verify(datasets, { from: START + 2 * DAY, to: END });
    const transactions = reports.find(({ dataset }) => dataset.name === 'transactions');
    expect(transactions?.findings).toEqual([]);
  });

  test('makes assert_complete say that it has expired', async () => {
    const asked = store.database.run(
      sql`select etl.assert_complete('transactions', to_timestamp(${START}), to_timestamp(${END}))`,
    );
    await expect(asked).rejects.toMatchObject({
      cause: { detail: expect.stringContaining('expired') as string },
    });
  });
});
