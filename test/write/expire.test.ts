import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { systemClock } from '../../src/clock.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { floorsOf, prune, findExpired } from '../../src/write/take-out.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { ownTablesOf } from '../../src/tables/describe.ts';
import { readVerified, setVerified, announceWrites, readLastWrite } from '../../src/write/certificates.ts';
import { readCoverage, keepWanted, readWanted } from '../../src/ledger/stored-coverage.ts';
import { replaceFindings, type WrongRow } from '../../src/ledger/stored-findings.ts';
import { type Database, databaseTime } from '../../src/postgres/database.ts';
import { jetton_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { targetOf } from '../../src/write/target.ts';
import { UsageError } from '../../src/errors.ts';
import { keepUp } from '../../src/daemon/lake-loop.ts';
import { readOwner } from '../../src/ledger/leases.ts';
import { readSetting } from '../../src/ledger/stored-settings.ts';
import { retentionFloors } from '../../src/lake/retention-floors.ts';
import { packageRoot } from '../../src/package.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openDuck } from '../support/duck.ts';
import { logIn } from '../support/lake.ts';
import { datasetsNamed, never, openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openProof } from '../support/verify.ts';

const DAY = 86_400;
const START = Date.UTC(2026, 2, 1) / 1000;
const END = START + 5 * DAY;
const whole = { from: START, to: END };
const readable = { range: whole, watermark: END + 10 * DAY };

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
  await fillRange({ ...crawl, datasets, readable, stop: never });
  for (const { name } of datasets) await keepWanted(store.database, name, { since: START, chosen: 'test' });
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

/** People add these for programs that read them; no row and no partition may fail because of them. */
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
const foundOf = (key: string) =>
  store.database.rows(
    sql`select dataset, check_name as "check", span::text from etl.findings where row_key = ${key} order by dataset desc, span`,
    z.object({ dataset: z.string(), check: z.string(), span: z.string() }),
  );
const coverageOf = (name: string) =>
  readCoverage(store.database, streamOf(datasets.find((dataset) => dataset.name === name)!));

test('foreign keys that are not enforced exist for programs, even on later partitions', async () => {
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
  test('has its floor at the start of a partition, for the tables that are the dataset’s own', () => {
    expect(kept()).toEqual([
      { dataset: 'transactions', tables: ['transactions', 'messages'], floor: START + 2 * DAY },
    ]);
  });

  test('refuses an unknown dataset', () => {
    expect(() => floorsOf(new Map([['transaction', DAY]]), jobs, END, 'day')).toThrow(UsageError);
  });

  test('says beforehand what it would drop', async () => {
    const expired = await findExpired(store.database, kept());
    const days = new Set(expired.map(({ span }) => span.from));
    expect([...days].filter((day) => day >= START)).toEqual([START, START + DAY]);
    expect(expired.every(({ span }) => span.to <= START + 2 * DAY)).toBe(true);
    expect(await oldest('transactions')).toBeLessThan(START + DAY);
  });

  test('drops old rows, and nothing requests them again', async () => {
    const transactions = jobs.find(({ name }) => name === 'transactions')!;
    const stream = streamOf(transactions);
    const tables = ownTablesOf(transactions, jobs).map(([, table]) => table);
    const lastWrite = await readLastWrite(store.database, tables);
    const floor = START + 2 * DAY;
    // For a record without a time, only the times of its neighbors are known.
    await store.database.run(sql`
      insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request)
      select 'transactions', upper(span)::text, to_timestamp(lower(span)), span, 'now', 'is no time', '{}', 'r'
      from (values (int8range(${floor}::int8 - 90, ${floor}::int8 - 30)), (int8range(${floor}::int8 - 90, ${floor}::int8 + 30))) v (span)`);
    // A finding that spans two seconds, one of which is dropped.
    const look = (check: string, rows: readonly WrongRow[]) =>
      databaseTime(store.database).then((began) =>
        replaceFindings(store.database, {
          stream,
          began,
          checks: [{ check, examined: [{ from: floor, to: END }], rows }],
        }),
      );
    const half = { table: 'transactions', key: 'x', differs: 'unbalanced_ord', datasets: ['traces'] };
    await look(
      'books',
      [floor - 5, floor + 5].map((from) => ({ ...half, span: { from, to: from + 1 } })),
    );
    const { dropped, left } = await prune(store.database, kept(), {
      attempts: 5,
      clock: systemClock,
      random: Math.random,
    });
    expect(dropped.length).toBeGreaterThan(3);
    expect(left).toEqual([]);
    await look('books', []);
    // Traces are kept, and hold both.
    const stillOpen = (dataset: string, at: number) => ({
      dataset,
      check: 'deep',
      span: `[${floor + at},${floor + at + 1})`,
    });
    expect(await foundOf('x')).toEqual([
      stillOpen('transactions', 5),
      stillOpen('traces', -5),
      stillOpen('traces', 5),
    ]);
    await look('deep', []);
    expect(await foundOf('x')).toEqual([]);
    const quarantined = sql`delete from etl.quarantine where span && int8range(${floor}::int8, null)`;
    expect([
      await store.database.run(quarantined),
      await store.database.run(sql`table etl.quarantine`),
    ]).toEqual([1, 0]);
    expect(await oldest('transactions')).toBeGreaterThanOrEqual(floor);
    expect(await oldest('messages')).toBeGreaterThanOrEqual(floor);
    expect(await oldest('blocks')).toBeLessThan(START + DAY);
    expect(await coverageOf('transactions')).toEqual([{ from: floor, to: END }]);
    expect(await coverageOf('traces')).toEqual([whole]);
    // Checks that began before have proved nothing about dropped rows.
    await setVerified(
      store.database,
      { stream, tables },
      { good: [whole], bad: [], lastWrite, readRows: [] },
    );
    expect(await readVerified(store.database, stream)).toEqual([{ from: floor, to: END }]);
    expect((await readWanted(store.database)).get('transactions')).toBe(floor);
    const before = simulator.stats.total;
    const missing = await fillRange({ ...crawl, datasets, readable, stop: never });
    expect([...missing]).toEqual([]);
    expect(simulator.stats.total).toBe(before);
  });

  test('writes no expired rows, even if they come with traces', async () => {
    await store.database.run(sql`delete from etl.coverage where dataset = 'traces'`);
    await fillRange({ ...crawl, datasets, readable, stop: never });
    expect(await coverageOf('traces')).toEqual([whole]);
    expect(await oldest('traces')).toBeLessThan(START + DAY);
    expect(await oldest('transactions')).toBeGreaterThanOrEqual(START + 2 * DAY);
    expect(await findExpired(store.database, kept())).toEqual([]);
  });

  test('leaves nothing that verification would report as missing', async () => {
    const proof = await openProof(store, crawl);
    const reports = await proof.verify(datasets, { from: START + 2 * DAY, to: END });
    const transactions = reports.find(({ dataset }) => dataset.name === 'transactions');
    expect(transactions?.findings).toEqual([]);
  });

  test('makes assert_complete report it as expired', async () => {
    const asked = store.database.run(
      sql`select etl.assert_complete('transactions', to_timestamp(${START}), to_timestamp(${END}))`,
    );
    await expect(asked).rejects.toMatchObject({
      cause: { detail: expect.stringContaining('expired') as string },
    });
  });
});

describe('retention that depends on a lake', () => {
  let lake: string;
  const TABLE = 'jetton_transfers';
  const FLOOR = START + 2 * DAY;
  beforeAll(async () => {
    lake = await mkdtemp(join(tmpdir(), 'toncenter-etl-retained-'));
  });
  afterAll(() => rm(lake, { recursive: true }));

  const ask = () =>
    retentionFloors(
      {
        retention: { seconds: new Map([[TABLE, 2.5 * DAY]]), isInLake: true },
        lake,
        partition: 'day',
      },
      store.database,
      END,
    );
  const keep = (owner: string, of: Crawl = crawl) =>
    keepUp({ ...of, owner, datasets, config: testConfig({ lake }), stop: never }, lake);
  const firstPart = async () => {
    const { parts } = await logIn(lake, TABLE);
    const part = parts.find(({ span, rows }) => span.from >= START && rows > 0);
    return join(lake, TABLE, part?.path ?? '');
  };

  test('drops nothing while the lake lacks it', async () => {
    const { kept: floors, unproved } = await ask();
    expect(unproved[0]?.why).toMatch(/the lake lacks 2026-03-01/);
    expect(floors[0]?.floor).toBeLessThanOrEqual(START);
  });

  test('one daemon keeps the lake up to date, and reports how far', async () => {
    await keep('one');
    const { upTo, error } = (await readSetting(store.database, 'lake')) ?? {};
    expect(error).toBe(null);
    expect(upTo).toBeGreaterThan(END);
    await keep('another');
    expect((await readSetting(store.database, 'lake'))?.upTo).toBe(upTo);
    // During a round, its process reports it: here as soon as it sleeps, and then no more.
    const until = async () =>
      (
        await store.database.rows(
          sql`select value->>'until' as until from etl.settings where name = 'lake writer'`,
          z.object({ until: z.string() }),
        )
      )[0]?.until;
    const before: (string | undefined)[] = [];
    const sleep: Crawl['context']['clock']['sleep'] = async (_, signal) => {
      before.push(await until());
      if (before.length > 1 && signal?.aborted !== true)
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    };
    const context = { ...crawl.context, clock: { ...crawl.context.clock, sleep } };
    await keep('one', { ...crawl, context });
    expect(Date.parse(before[1] ?? '')).toBeGreaterThan(Date.parse(before[0] ?? ''));
    // A killed process is waited for no longer than its duty lasts.
    await store.database.run(
      sql`update etl.settings set value = jsonb_set(value, '{until}', to_jsonb(now())) where name = 'lake writer'`,
    );
    await keep('another');
    expect((await readSetting(store.database, 'lake'))?.upTo).toBeGreaterThanOrEqual(upTo ?? Infinity);
    expect((await readOwner(store.database, 'lake'))?.owner).toBe('another');
    await store.database.run(sql`delete from etl.settings where name = 'lake writer'`);
    // What is covered later is added, even in a round that looks for nothing else.
    await store.database.run(
      sql`update etl.coverage set covered = covered - int8multirange(int8range(${END - DAY}, ${END})) where dataset = 'blocks'`,
    );
    const days = async () => (await logIn(lake, 'blocks')).parts.map(({ day }) => day);
    expect(await days()).toHaveLength(5);
    await rm(join(lake, 'blocks'), { recursive: true });
    await keep('one');
    expect(await days()).toHaveLength(4);
    await fillRange({ ...crawl, datasets, readable, stop: never });
    await keep('one');
    expect(await days()).toHaveLength(5);
  });

  test('a table that cannot be written ends no round: it is named and retried, and the other tables are written', async () => {
    const log = join(lake, 'blocks', '_delta_log', `${'9'.repeat(20)}.json`);
    await writeFile(log, 'no JSON');
    await rm(join(lake, TABLE), { recursive: true });
    await keep('one');
    const { error } = (await readSetting(store.database, 'lake')) ?? {};
    expect(error).toMatch(/^blocks: /);
    expect((await logIn(lake, TABLE)).parts.length).toBeGreaterThan(0);
    await rm(log);
    await keep('one');
    expect((await readSetting(store.database, 'lake'))?.error).toBe(null);
  });

  test.each([
    [
      'a row less',
      async (path: string) => {
        const duck = await openDuck();
        await duck.rewrite(path, 'select * from this limit (select count(*) - 1 from this)');
        duck.close();
      },
    ],
    ['no file', (path: string) => rm(path)],
  ])('drops nothing if a part has %s', async (_, spoil) => {
    const path = await firstPart();
    await copyFile(path, `${lake}/_kept`);
    await spoil(path);
    const { kept: floors, unproved } = await ask();
    expect(unproved).toHaveLength(1);
    expect(floors[0]?.floor).toBeLessThan(FLOOR);
    await copyFile(`${lake}/_kept`, path);
    expect((await ask()).unproved).toEqual([]);
  });

  test('drops nothing if the database has other rows than the lake', async () => {
    await store.database.run(
      sql`create table public.moved as select * from ton.jetton_transfers where utime < to_timestamp(${START + DAY}) limit 1`,
    );
    const one = sql`(utime, transaction_hash) in (select utime, transaction_hash from public.moved)`;
    await store.database.run(sql`delete from ton.jetton_transfers where ${one}`);
    expect((await ask()).unproved[0]?.why).toMatch(/has other rows than the database/);
    const names = sql.raw([...targetOf(jetton_transfers).columns, 'loaded_at'].join(', '));
    await store.database.run(
      sql`insert into ton.jetton_transfers (${names}) select ${names} from public.moved`,
    );
    await store.database.run(sql`update ton.jetton_transfers set loaded_at = clock_timestamp() where ${one}`);
    expect((await ask()).unproved[0]?.why).toMatch(/has other rows than the database: export it again/);
    // It also drops nothing if a second of the part is a hole, so that no export rewrites it.
    const hole = sql`int8multirange(int8range(${START + 100}, ${START + 101}))`;
    await store.database.run(
      sql`update etl.coverage set covered = covered - ${hole} where dataset = ${TABLE} and pass = 0`,
    );
    expect((await ask()).unproved[0]?.why).toMatch(
      /has other rows than the database: read 2026-03-01.* again/,
    );
    await store.database.run(
      sql`update etl.coverage set covered = covered + ${hole} where dataset = ${TABLE} and pass = 0`,
    );
    await store.database.run(
      sql`update ton.jetton_transfers t set loaded_at = m.loaded_at from public.moved m where (t.utime, t.transaction_hash) = (m.utime, m.transaction_hash)`,
    );
  });

  test('drops nothing whose grade in the lake is higher than in the database, until it is exported again', async () => {
    const set = (text: string) =>
      store.database.run(
        sql`update etl.coverage set verified = ${sql.raw(text)} where dataset = ${TABLE} and pass = 0`,
      );
    const exportAll = async () => {
      await store.database.run(
        sql`update etl.settings set value = jsonb_set(value, '{renewedAt}', 'null') where name = 'lake'`,
      );
      await keep('one');
    };
    await store.database.run(sql`insert into etl.grades (dataset, grade, proves, blind_to)
      values (${TABLE}, 'cross-checked', '', '') on conflict do nothing`);
    await set('covered');
    await exportAll();
    expect((await ask()).unproved).toEqual([]);
    // A comparison with the source has found a wrong row there.
    await set(`covered - int8multirange(int8range(${START + 100}, ${START + 101}))`);
    expect((await ask()).unproved[0]?.why).toMatch(
      /has the grade jetton_transfers cross-checked, which its rows have lost/,
    );
    await exportAll();
    expect((await ask()).unproved).toEqual([]);
    await set(`'{}'`);
    await exportAll();
  });

  test.each(['before the floor is raised', 'while partitions are dropped'])(
    'drops nothing that was rewritten since the lake was proved to have it, %s',
    async (when) => {
      const { kept: floors } = await ask();
      const before = await oldest(TABLE);
      const table = jetton_transfers;
      // As a repair does that rewrites a row.
      const written = { target: targetOf(table), seconds: [{ from: before, to: before + 1 }] };
      const write = () => store.database.transaction((session) => announceWrites(session, [written]));
      if (when.startsWith('before')) await write();
      const transaction: Database['transaction'] = async (work, how) => {
        const result = await store.database.transaction(work, how);
        if (when.startsWith('while')) await write();
        return result;
      };
      const database = { ...store.database, transaction };
      const context = { attempts: 1, clock: systemClock, random: Math.random };
      const { dropped, left } = await prune(database, floors, context);
      expect(dropped.filter(({ span }) => span.from <= before)).toEqual([]);
      expect(left.length).toBeGreaterThan(0);
      expect(await oldest(TABLE)).toBe(before);
    },
  );

  test('drops what the lake was proved to have; assert_complete names the lake', async () => {
    const { kept: floors, unproved } = await ask();
    expect(unproved).toEqual([]);
    expect(floors).toMatchObject([{ floor: FLOOR, lake }]);
    await prune(store.database, floors, { attempts: 5, clock: systemClock, random: Math.random });
    expect(await oldest(TABLE)).toBeGreaterThanOrEqual(FLOOR);
    const asked = store.database.run(
      sql`select etl.assert_complete(${TABLE}, to_timestamp(${START}), to_timestamp(${END}))`,
    );
    const detail = expect.stringMatching(`^in the lake ${lake}: here from 2026-03-03`) as string;
    const hint = expect.stringContaining(`import --lake ${lake}`) as string;
    await expect(asked).rejects.toMatchObject({ cause: { detail, hint } });
  });
});
