import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { readWanted } from '../../src/ledger/stored-coverage.ts';
import { readSetting } from '../../src/ledger/stored-settings.ts';
import { systemClock, type Clock } from '../../src/clock.ts';
import { AuthError } from '../../src/errors.ts';
import { lengthOf } from '../../src/range.ts';
import type { SimulatorOptions } from '../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl, testConfig } from '../support/crawl.ts';
import { DELAY, useLiveDaemon } from '../support/live-daemon.ts';
import { thorough } from '../support/thorough.ts';

const live = useLiveDaemon();
const { serve, runUntil, covered, endOf, storedTransactions } = live;

describe('the daemon', () => {
  test('keeps the head within its delay, and every transaction of what it covers', async () => {
    await serve({});
    const began = Math.floor(Date.now() / 1000);
    const lag = async () => {
      const mark = await readSetting(live.database(), 'watermark');
      return (mark?.headUtime ?? Infinity) - (await endOf('transactions'));
    };
    const lastCovered = async () => await endOf('transactions');
    // It runs long enough that the head has moved away from where it began.
    await runUntil('head', async () => (await lastCovered()) > began && (await lag()) < DELAY + 10);
    const ranges = await covered('transactions');
    expect(ranges).toHaveLength(1);
    const [range] = ranges;
    expect(await storedTransactions(range!)).toBe(live.simulator().truth.counts(range).transactions);
  });

  test('fills the past next to the head, newest first, and continues from where a stopped one was', async () => {
    await serve({});
    await runUntil('-1h', async () => (await covered('transactions')).length > 0);
    const before = lengthOf(await covered('transactions'));
    const whole = async () =>
      lengthOf(await covered('transactions')) > 3500 && lengthOf(await covered('blocks')) > 3500;
    await runUntil('-1h', whole);
    const ranges = await covered('transactions');
    expect(lengthOf(ranges)).toBeGreaterThanOrEqual(Math.max(3500, before));
    for (const range of ranges) {
      expect(await storedTransactions(range)).toBe(live.simulator().truth.counts(range).transactions);
    }
  });

  thorough('begins at the head, even if its first poll got responses that were cut short', async () => {
    await serve({ faults: { shortBlocks: 1 } });
    const began = Date.now() / 1000;
    const repaired = delay(1500).then(() => {
      live.simulator().faults.shortBlocks = 0;
    });
    await runUntil('head', async () => (await covered('transactions')).length > 0);
    await repaired;
    const since = await readWanted(live.database());
    expect(since.get('transactions')!).toBeGreaterThan(began - 60);
  });

  test('refuses wrong responses, and reads the rest', async () => {
    const html = { status: 200, body: '<html>not the API</html>', headers: { 'content-type': 'text/html' } };
    await serve({ before: ({ path }) => (path === '/api/v3/transactions' ? html : undefined) });
    const refused = () =>
      live
        .database()
        .rows(
          sql`select distinct dataset from etl.refused where reason = 'failing'`,
          z.object({ dataset: z.string() }),
        );
    const done = async () => (await refused()).length > 0 && lengthOf(await covered('blocks')) > 3500;
    await runUntil('-1h', done);
    expect(await refused()).toEqual([{ dataset: 'transactions' }]);
    expect(lengthOf(await covered('blocks'))).toBeGreaterThan(3500);
  });

  thorough('requests a missing route once, and sets aside only what it requested', async () => {
    await serve({ faults: { absent: ['/api/v3/transactions'] } });
    const rounds = () => live.simulator().stats.byPath.get('/api/v3/masterchainBlockShardState') ?? 0;
    await runUntil('-20m', async () => (await covered('blocks')).length > 0 && rounds() > 4);
    expect(live.simulator().stats.byPath.get('/api/v3/transactions')).toBeLessThanOrEqual(2);
    const refused = await live
      .database()
      .rows(
        sql`select count(*)::int as ranges from etl.refused where dataset = 'transactions'`,
        z.object({ ranges: z.number() }),
      );
    expect(refused[0]?.ranges).toBeLessThanOrEqual(2);
  });

  test('ends as a whole if one half of it is refused for ten minutes', async () => {
    const refusal = { status: 403, body: '{"error":"forbidden"}', headers: {} };
    const isOld = (start: string | null) => Number(start) < Date.now() / 1000 - 3600;
    let began = false;
    // The requests at the start of every run are refused, too: otherwise only the range would be.
    const before: SimulatorOptions['before'] = ({ path, search }) => {
      const isRefused = path === '/api/v3/transactions' && isOld(search.get('start_utime'));
      return isRefused || (began && path === '/api/v3/masterchainInfo') ? refusal : undefined;
    };
    await serve({ before }, 2.3);
    const config = { since: '-2h', watermarkDelaySeconds: DELAY, freshnessSeconds: 1, rps: 200 };
    const crawl = await openTestCrawl(live.store(), live.simulator().url, { config });
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
    // All of its loops have ended with it: nothing is in flight.
    expect(crawl.context.api.inFlight.count).toBe(0);
    const { total } = live.simulator().stats;
    await crawl.close();
    expect(live.simulator().stats.total).toBe(total);
  });
});
