import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stream, keepWanted, readWanted } from '../../src/ledger/stored-coverage.ts';
import { holdFloors, keepSetting, readSetting } from '../../src/ledger/stored-settings.ts';
import { reopen } from '../../src/write/take-out.ts';
import { claimLease, releaseLease, type Lease } from '../../src/ledger/leases.ts';
import { retentionFloors } from '../../src/lake/retention-floors.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const DAY = 86_400;
const START = Date.UTC(2026, 2, 1) / 1000;
const END = START + 5 * DAY;

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

test('expired seconds are not leased, even by a process that planned before or waits now', async () => {
  const stream: Stream = { dataset: 'planned', scope: '', pass: 0 };
  const claim = { stream, wanted: [{ from: 0, to: 200 }], length: () => 200, owner: 'test' };
  let claimed: Promise<Lease | undefined> = Promise.resolve(undefined);
  await store.database.transaction(async (session) => {
    await holdFloors(session, 'alone');
    claimed = claimLease(store.database, { ...claim, priority: 'backfill' });
    while ((await session.run(sql`select from pg_locks where locktype = 'advisory' and not granted`)) === 0);
    const floors = await readSetting(session, 'floors');
    const datasets = { ...floors?.datasets, planned: 100 };
    await keepSetting(session, 'floors', { tables: {}, ...floors, datasets });
  });
  const lease = await claimed;
  expect(lease?.span).toEqual({ from: 100, to: 200 });
  await releaseLease(store.database, lease!);
  const nothing = { surplus: [], unsealed: [], owner: 'test' };
  const holes = [
    { from: 0, to: 50 },
    { from: 60, to: 150 },
  ];
  const leases = await reopen(store.database, { stream, holes, ...nothing });
  expect(leases.map(({ span }) => span)).toEqual([{ from: 100, to: 150 }]);
});

test('a start without ETL_SINCE keeps what an earlier one decided; another setting moves it', async () => {
  const since = async (dataset: string) => (await readWanted(store.database)).get(dataset);
  const start = (at: number, chosen?: string) =>
    keepWanted(store.database, 'kept', {
      since: at,
      chosen: chosen ?? 'head',
      isDefault: chosen === undefined,
    });
  await start(100);
  expect(await since('kept')).toBe(100);
  await start(200, 'head');
  expect(await since('kept')).toBe(100);
  await start(50, '-7d');
  expect(await since('kept')).toBe(50);
  // A restored database is started like this, with another setting.
  await start(300);
  expect(await since('kept')).toBe(50);
  await start(60, '-7d');
  expect(await since('kept')).toBe(50);
  await start(400, 'head');
  expect(await since('kept')).toBe(400);
});

test('a clock that is ahead of the chain moves no floor', async () => {
  const settings = {
    retention: { seconds: new Map([['transactions', 2.5 * DAY]]), isInLake: false },
    lake: undefined,
    partition: 'day',
  } as const;
  const floorAt = async (now: number) =>
    (await retentionFloors(settings, store.database, now)).kept[0]?.floor;
  const head = { utime: END - 5, headSeqno: 1, headUtime: END, waitingFor: null };
  await keepSetting(store.database, 'watermark', head);
  expect(await floorAt(END + 200 * DAY)).toBe(START + 2 * DAY);
  expect(await floorAt(END - DAY)).toBe(START + DAY);
  await store.database.run(sql`delete from etl.settings where name = 'watermark'`);
  expect(await floorAt(Infinity)).toBeLessThan(Date.now() / 1000 - 2 * DAY);
});
