import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { streamOf } from '../../src/crawl/streams/streams.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { readCoverage } from '../../src/db/coverage/coverage.ts';
import { readWanted } from '../../src/db/coverage/wanted.ts';
import { readSavedWatermark } from '../../src/db/coverage/watermark.ts';
import { systemClock, type Clock } from '../../src/clock.ts';
import { AuthError } from '../../src/errors.ts';
import { lengthOf, type Range } from '../../src/range.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import type { Stop } from '../../src/stop.ts';
import { datasetsNamed, never, openTestCrawl, silent, testConfig } from '../support/crawl.ts';
import { commitsEnded } from '../support/database/commits-ended.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const DELAY = 4;

let store: TestStore;
let simulator: Simulator;

beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await simulator.close();
  await store.close();
});

/** A live network that began some hours ago. */
async function serve(options: SimulatorOptions, hours = 1.3): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  simulator = await startSimulator({ start: now - 3600 * hours, load: 0.5, live: { head: now }, ...options });
}

/** Runs a daemon until `until` is true, and stops it as SIGTERM would. */
async function runUntil(since: string, until: () => Promise<boolean>, logger = silent): Promise<void> {
  const finishing = new AbortController();
  const stop: Stop = { finishing: finishing.signal, leaving: new AbortController().signal };
  const config = { since, watermarkDelay: DELAY, freshness: 3, rps: 200 };
  const crawl = await openTestCrawl(store, simulator.url, { stop, config, maxAttempts: 2, logger });
  const datasets = await datasetsNamed('blocks', 'transactions');
  const over = new AbortController();
  const daemon = runDaemon({ ...crawl, datasets, config: testConfig(config), stop }).finally(() => {
    over.abort();
  });
  while (!over.signal.aborted && !(await until())) await delay(100);
  finishing.abort();
  await daemon;
  await crawl.close();
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(50);
}

async function covered(name: string): Promise<Range[]> {
  const [dataset] = await datasetsNamed(name);
  return readCoverage(store.database, streamOf(dataset!));
}

async function storedTransactions({ from, to }: Range): Promise<number> {
  const [row] = await store.database.rows(
    sql`select count(*) as count from ton.transactions where utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
    z.object({ count: z.coerce.number() }),
  );
  return row?.count ?? 0;
}

describe('the daemon', () => {
  test('keeps the head within its delay, and every transaction of what it covers', async () => {
    await serve({});
    const began = Math.floor(Date.now() / 1000);
    const lag = async () => {
      const mark = await readSavedWatermark(store.database);
      return (mark?.headUtime ?? Infinity) - ((await covered('transactions')).at(-1)?.to ?? 0);
    };
    const lastCovered = async () => (await covered('transactions')).at(-1)?.to ?? 0;
    // Long enough for the head to have moved away from where it began.
    await runUntil('head', async () => (await lastCovered()) > began && (await lag()) < DELAY + 10);
    const ranges = await covered('transactions');
    expect(ranges).toHaveLength(1);
    const [range] = ranges;
    expect(await storedTransactions(range!)).toBe(simulator.truth.counts(range).transactions);
  });

  test('fills the past beside the head, newest first, and goes on where a stopped one was', async () => {
    await serve({});
    await runUntil('-1h', async () => (await covered('transactions')).length > 0);
    const before = lengthOf(await covered('transactions'));
    const whole = async () =>
      lengthOf(await covered('transactions')) > 3500 && lengthOf(await covered('blocks')) > 3500;
    await runUntil('-1h', whole);
    const ranges = await covered('transactions');
    expect(lengthOf(ranges)).toBeGreaterThanOrEqual(Math.max(3500, before));
    for (const range of ranges) {
      expect(await storedTransactions(range)).toBe(simulator.truth.counts(range).transactions);
    }
  });

  test('begins at the head, also where its first poll of it got answers that were cut short', async () => {
    await serve({ faults: { shortBlocks: 1 } });
    const began = Date.now() / 1000;
    const repaired = delay(1500).then(() => {
      simulator.faults.shortBlocks = 0;
    });
    await runUntil('head', async () => (await covered('transactions')).length > 0);
    await repaired;
    const since = await readWanted(store.database);
    expect(since.get('transactions')!).toBeGreaterThan(began - 60);
  });

  test('refuses what is answered wrongly, and reads the rest', async () => {
    const html = { status: 200, body: '<html>not the API</html>', headers: { 'content-type': 'text/html' } };
    await serve({ before: ({ path }) => (path === '/api/v3/transactions' ? html : undefined) });
    const refused = () =>
      store.database.rows(
        sql`select distinct dataset from etl.refused where reason = 'failing'`,
        z.object({ dataset: z.string() }),
      );
    const done = async () => (await refused()).length > 0 && lengthOf(await covered('blocks')) > 3500;
    await runUntil('-1h', done);
    expect(await refused()).toEqual([{ dataset: 'transactions' }]);
    expect(lengthOf(await covered('blocks'))).toBeGreaterThan(3500);
  });

  test('waits while the source refuses what it gave before: a key, a page of a gateway, a bad request', async () => {
    const answers: [number, string][] = [
      [401, '{"error":"API key does not exist"}'],
      [403, '<html><title>Just a moment...</title></html>'],
      [404, '<html><title>404 Not Found</title></html>'],
      [400, '{"error":"bad"}'],
      [402, '{"error":"pay"}'],
    ];
    let [began, answered] = [false, 0];
    await serve({
      before: ({ path }) => {
        const answer = began && path === '/api/v3/blocks' ? answers[answered] : undefined;
        if (answer === undefined) return undefined;
        answered += 1;
        return { status: answer[0], body: answer[1], headers: {} };
      },
    });
    const until = async () => {
      began ||= (await covered('blocks')).length > 0;
      const end = (await covered('blocks')).at(-1)?.to ?? 0;
      return answered === answers.length && Date.now() / 1000 - end < DELAY + 8;
    };
    await runUntil('head', until);
    expect(answered).toBe(answers.length);
  });

  test('asks once for what the server lacks, and sets aside no more than what it asked for', async () => {
    await serve({ faults: { absent: ['/api/v3/transactions'] } });
    const rounds = () => simulator.stats.byPath.get('/api/v3/masterchainBlockShardState') ?? 0;
    await runUntil('-20m', async () => (await covered('blocks')).length > 0 && rounds() > 4);
    expect(simulator.stats.byPath.get('/api/v3/transactions')).toBeLessThanOrEqual(2);
    const refused = await store.database.rows(
      sql`select count(*)::int as ranges from etl.refused where dataset = 'transactions'`,
      z.object({ ranges: z.number() }),
    );
    expect(refused[0]?.ranges).toBeLessThanOrEqual(2);
  });

  test('ends as a whole where a half of it is refused for ten minutes', async () => {
    const refusal = { status: 403, body: '{"error":"forbidden"}', headers: {} };
    const isOld = (start: string | null) => Number(start) < Date.now() / 1000 - 3600;
    let began = false;
    // What every run begins with is refused too: else the range alone would be.
    const before: SimulatorOptions['before'] = ({ path, search }) => {
      const isRefused = path === '/api/v3/transactions' && isOld(search.get('start_utime'));
      return isRefused || (began && path === '/api/v3/masterchainInfo') ? refusal : undefined;
    };
    await serve({ before }, 2.3);
    const config = { since: '-2h', watermarkDelay: DELAY, freshness: 1, rps: 200 };
    const crawl = await openTestCrawl(store, simulator.url, { config });
    const datasets = await datasetsNamed('blocks', 'transactions');
    // A clock on which each pause between attempts takes two minutes.
    let later = 0;
    const clock: Clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() + later,
      sleep: (ms, signal) => {
        if (Math.log2(ms / 1000) % 1 === 0) later += 120_000;
        return systemClock.sleep(Math.min(ms, 100), signal);
      },
    };
    const context = { ...crawl.context, clock };
    began = true;
    const daemon = runDaemon({ ...crawl, context, datasets, config: testConfig(config), stop: never });
    await expect(daemon).rejects.toThrow(AuthError);
    // All of its loops have ended with it: nothing is under way.
    expect(crawl.context.api.inFlight.underWay).toBe(0);
    const { total } = simulator.stats;
    await crawl.close();
    expect(simulator.stats.total).toBe(total);
  });

  test('waits while another network answers, commits nothing meanwhile, and goes on when its own is back', async () => {
    const start = Math.floor(Date.now() / 1000) - 4680;
    await serve({ start });
    let waits = 0;
    const write = (line: string) => {
      if (line.includes('"code":"wrong_network"')) waits += 1;
    };
    const end = async () => (await covered('transactions')).at(-1)?.to ?? 0;
    const swap = async (options: SimulatorOptions) => {
      const { port } = simulator;
      await simulator.close();
      await serve({ start, port, ...options });
    };
    const pages = () =>
      store.database.rows(sql`select max(id)::int as last from etl.pages`, z.object({ last: z.number() }));
    let back = Infinity;
    const sway = async () => {
      await until(async () => (await end()) > 0);
      await swap({ globalId: -3, seed: 77 });
      await until(() => Promise.resolve(waits > 0));
      await commitsEnded(store.database);
      const before = await pages();
      await until(() => Promise.resolve(waits > 8));
      expect(await pages()).toEqual(before);
      await swap({});
      back = Date.now() / 1000;
    };
    let isOver = false;
    const swayed = sway().finally(() => {
      isOver = true;
    });
    const goesOn = async () => isOver && (back === Infinity || (await end()) > back);
    await Promise.all([swayed, runUntil('-1h', goesOn, pino({ level: 'debug' }, { write }))]);
    const networks = sql`select distinct global_id from ton.blocks`;
    expect(await store.database.rows(networks, z.object({ global_id: z.number() }))).toEqual([
      { global_id: -777 },
    ]);
  });

  test('waits while the API fails, and goes on when it is back', async () => {
    await serve({});
    const failures = () => simulator.stats.byStatus.get(502) ?? 0;
    const recovered = async () => {
      const end = (await covered('transactions')).at(-1)?.to ?? 0;
      if (end > 0 && failures() === 0) simulator.faults.badGateway = 1;
      if (failures() > 2) simulator.faults.badGateway = 0;
      return failures() > 2 && Date.now() / 1000 - end < DELAY + 8;
    };
    await runUntil('head', recovered);
    const [range] = await covered('transactions');
    expect(await storedTransactions(range!)).toBe(simulator.truth.counts(range).transactions);
  });

  test('waits at any fault of the database, and continues when it is repaired', async () => {
    await serve({});
    const faults = [
      ['alter table etl.coverage rename to lost', 'alter table etl.lost rename to coverage'],
      [
        `create function etl.broken() returns trigger language plpgsql as
           $$ begin raise exception 'a page is broken' using errcode = 'XX001'; end $$;
         create trigger broken before insert on etl.pages for each row execute function etl.broken()`,
        'drop function etl.broken() cascade',
      ],
    ];
    let waits = 0;
    const write = (line: string) => {
      if (line.includes('waiting before another attempt')) waits += 1;
    };
    const end = async () => (await covered('transactions')).at(-1)?.to ?? 0;
    const harm = async () => {
      for (const [fault = '', remedy = ''] of faults) {
        await until(async () => (await end()) > 0);
        const before = waits;
        await store.database.script(fault);
        await until(() => Promise.resolve(waits > before));
        await store.database.script(remedy);
      }
      return Date.now() / 1000;
    };
    let healed = Infinity;
    const harmed = harm().then((time) => (healed = time));
    const recovered = async () => healed < Infinity && (await end()) > healed - DELAY;
    await runUntil('head', recovered, pino({ level: 'debug' }, { write }));
    await harmed;
    const ranges = await covered('transactions');
    expect(ranges).toHaveLength(1);
    expect(ranges[0]?.to).toBeGreaterThan(healed - DELAY);
    expect(await storedTransactions(ranges[0]!)).toBe(simulator.truth.counts(ranges[0]).transactions);
  });
});
