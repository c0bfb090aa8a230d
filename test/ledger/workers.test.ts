import { hostname } from 'node:os';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { spendingLines } from '../../src/commands/status-command.ts';
import { createSharedBudget } from '../../src/ledger/shared-budget.ts';
import { startHeartbeat, readSpending, reportWorker } from '../../src/ledger/workers.ts';
import { silent } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const HOST = 'api.example';
const forever = new AbortController().signal;

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

/** Only complete minutes count, so this dates everything that was sent some minutes back. */
async function ago(minutes: number): Promise<void> {
  await store.database.run(sql`
    update etl.spending set minute = date_trunc('minute', clock_timestamp()) - make_interval(mins => ${minutes})`);
}

test('status names the host of the budget, what each process spends it on, who waits and who is silent', async () => {
  const { database } = store;
  const budget = createSharedBudget({ database, host: HOST, rps: 100, clock: systemClock });
  const worker = { name: 'one/1/a', host: HOST };
  const heartbeat = startHeartbeat({ database, worker, budget, clock: systemClock, logger: silent });
  await Promise.all(['tail', 'backfill', 'backfill'].map((kind) => budget.take(kind as 'tail', forever)));
  await reportWorker(database, { name: 'two/2/b', host: HOST }, { backfill: 3 }, { backfill: 9 });
  await reportWorker(database, { name: 'three/3/c', host: HOST }, {}, {});
  await database.run(
    sql`update etl.workers set seen_at = seen_at - interval '3 min' where worker = 'three/3/c'`,
  );
  await heartbeat.stop();
  await ago(1);
  expect(spendingLines(await readSpending(database), 1_780_000_000)).toEqual([
    'budget    api.example allows 100 requests a second; at most 97.1 are sent now, 0.2 were in the last minute',
    'worker    three/3/c: no heartbeat for 3m; 0 requests in the last minute, 0 in the last hour',
    'worker    two/2/b: alive; 9 requests in the last minute, 9 in the last hour (75 %: backfill 9); waiting: 3 backfill',
    'worker    one/1/a: ended; 3 requests in the last minute, 3 in the last hour (25 %: backfill 2, tail 1)',
  ]);
  await database.run(sql`
    insert into etl.spending select host, minute, 'four/4/d', priority, requests from etl.spending where worker = 'one/1/a'`);
  expect(spendingLines(await readSpending(database), 1_780_000_000).at(-1)).toBe(
    'worker    2 others: ended; 6 requests in the last minute, 6 in the last hour (40 %: backfill 4, tail 2)',
  );
  await database.run(sql`delete from etl.spending where worker = 'four/4/d'`);
  await ago(2);
  const { spent } = await readSpending(database);
  expect(spent.map(({ lastMinute, lastHour }) => [lastMinute, lastHour])).toEqual([
    [0, 2],
    [0, 1],
    [0, 9],
  ]);
});

test('status leaves out a host without a request for an hour', async () => {
  const { database } = store;
  const budget = createSharedBudget({ database, host: 'left', rps: 10, clock: systemClock });
  const worker = { name: 'five/5/e', host: 'left' };
  const heartbeat = startHeartbeat({ database, worker, budget, clock: systemClock, logger: silent });
  await budget.take('tail', forever);
  await heartbeat.stop();
  const linesOfHost = async () =>
    spendingLines(await readSpending(database), 1_780_000_000).filter((line) =>
      line.startsWith('budget    left'),
    );
  await ago(59);
  expect(await linesOfHost()).toHaveLength(1);
  await ago(61);
  expect(await linesOfHost()).toEqual([]);
});

test('status prints a pause and refusals', async () => {
  const { database } = store;
  const budget = createSharedBudget({ database, host: 'refusing', rps: 10, clock: systemClock });
  await budget.take('tail', forever);
  await budget.refused(60_000, 0);
  const lines = spendingLines(await readSpending(database), 1_780_000_000);
  expect(lines.find((line) => line.includes('refusing'))).toMatch(
    /^budget {4}refusing allows 10 requests a second; at most 9\.4 are sent now, 0\.0 were in the last minute; paused for (1m|60s|59s), until 2026-05-28T20:2[67]:\d\dZ: the API requested it; 1 refusal, the last 0s ago$/,
  );
});

test('a killed process is no longer named: on this host at once, on another after a few minutes', async () => {
  const { database } = store;
  const gone = `${hostname()}/${2 ** 22 + 1}/dead`;
  const own = `${hostname()}/${process.pid}/here`;
  for (const name of [gone, own, 'elsewhere/7/x', 'elsewhere/8/y'])
    await reportWorker(database, { name, host: 'killed' }, {}, {});
  await database.run(sql`
    update etl.workers set seen_at = seen_at - interval '34 minutes' where worker = 'elsewhere/7/x'`);
  const { workers } = await readSpending(database);
  const names = workers.filter(({ host }) => host === 'killed').map(({ worker }) => worker);
  expect(names.toSorted()).toEqual([own, 'elsewhere/8/y'].toSorted());
});
