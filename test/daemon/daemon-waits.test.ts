import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { SimulatorOptions } from '../support/simulator/simulator.ts';
import { DELAY, useLiveDaemon } from '../support/live-daemon.ts';
import { thorough } from '../support/thorough.ts';

const live = useLiveDaemon();
const { serve, runUntil, covered, endOf, storedTransactions } = live;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(50);
}

describe('the daemon', () => {
  thorough(
    'waits while the source refuses what it served before: a key, a page of a gateway, a bad request',
    async () => {
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
        const end = await endOf('blocks');
        return answered === answers.length && Date.now() / 1000 - end < DELAY + 8;
      };
      await runUntil('head', until);
      expect(answered).toBe(answers.length);
    },
  );

  const OTHERS: readonly [string, SimulatorOptions][] = [
    ['a chain that was restarted under the same name', { seed: 77 }],
    ['another network', { globalId: -3, seed: 77 }],
  ];
  thorough.each(OTHERS)(
    'waits while %s answers, commits nothing of it, and continues when its own is back',
    async (_, other) => {
      const start = Math.floor(Date.now() / 1000) - 4680;
      await serve({ start });
      let [waits, failed] = [0, 0];
      const write = (line: string) => {
        if (line.includes('"code":"wrong_network"')) waits += 1;
        if (line.includes('request failed, retrying')) failed += 1;
      };
      const end = async () => await endOf('transactions');
      const swap = async (options: SimulatorOptions) => {
        const { port } = live.simulator();
        await live.simulator().close();
        // A server that restarts is unavailable for a moment.
        const before = failed;
        await until(() => Promise.resolve(failed > before));
        await serve({ start, port, ...options });
      };
      let back = Infinity;
      const sway = async () => {
        await until(async () => (await end()) > 0);
        await swap(other);
        await until(() => Promise.resolve(waits > 8));
        await swap({});
        back = Date.now() / 1000;
      };
      let isOver = false;
      const swayed = sway().finally(() => {
        isOver = true;
      });
      const goesOn = async () => isOver && (back === Infinity || (await end()) > back);
      await Promise.all([swayed, runUntil('-1h', goesOn, pino({ level: 'debug' }, { write }))]);
      const { truth } = live.simulator();
      const own = {
        blocks: new Set([...truth.blocks()].map(({ root_hash }) => root_hash)),
        transactions: new Set([...truth.transactions()].map(({ hash }) => hash)),
      };
      const stored = (column: string, table: string) =>
        live
          .database()
          .rows(sql.raw(`select ${column} as name from ton.${table}`), z.object({ name: z.string() }));
      const blocks = await stored('root_hash', 'blocks');
      const transactions = await stored('hash', 'transactions');
      expect(Math.min(blocks.length, transactions.length)).toBeGreaterThan(0);
      expect(blocks.filter(({ name }) => !own.blocks.has(name))).toEqual([]);
      expect(transactions.filter(({ name }) => !own.transactions.has(name))).toEqual([]);
    },
  );

  test('waits while the API fails, and continues when it is back', async () => {
    await serve({});
    const failures = () => live.simulator().stats.byStatus.get(502) ?? 0;
    const recovered = async () => {
      const end = await endOf('transactions');
      if (end > 0 && failures() === 0) live.simulator().faults.badGateway = 1;
      if (failures() > 2) live.simulator().faults.badGateway = 0;
      return failures() > 2 && Date.now() / 1000 - end < DELAY + 8;
    };
    await runUntil('head', recovered);
    const [range] = await covered('transactions');
    expect(await storedTransactions(range!)).toBe(live.simulator().truth.counts(range).transactions);
  });

  thorough('waits at any error of the database, and continues when it is repaired', async () => {
    await serve({});
    const broken = (code: string, table: string) => [
      `create function etl.broken() returns trigger language plpgsql as
         $$ begin raise exception 'this fails' using errcode = '${code}'; end $$;
       create trigger broken before insert on ${table} for each statement execute function etl.broken()`,
      'drop function etl.broken() cascade',
    ];
    const faults = [
      ['alter table etl.coverage rename to lost', 'alter table etl.lost rename to coverage'],
      ['alter table ton.transactions rename to lost', 'alter table ton.lost rename to transactions'],
      // A damaged page of one table, a damaged index, a limit of the settings.
      broken('XX001', 'etl.pages'),
      broken('XX002', 'ton.messages'),
      broken('53400', 'etl.pages'),
    ];
    let waits = 0;
    const write = (line: string) => {
      if (line.includes('not available, retrying')) waits += 1;
    };
    const end = async () => await endOf('transactions');
    const harm = async () => {
      for (const [fault = '', remedy = ''] of faults) {
        await until(async () => (await end()) > 0);
        const before = waits;
        await live.database().script(fault);
        await until(() => Promise.resolve(waits > before));
        await live.database().script(remedy);
      }
      return Date.now() / 1000;
    };
    let healed = Infinity;
    const harmed = harm().then((time) => (healed = time));
    const recovered = async () => healed < Infinity && (await end()) > healed - DELAY;
    await runUntil('head', recovered, pino({ level: 'debug' }, { write }));
    await harmed;
    // Rows that were read are not reported missing at the source.
    const refusals = sql`select detail from etl.refused`;
    expect(await live.database().rows(refusals, z.object({ detail: z.string() }))).toEqual([]);
    const ranges = await covered('transactions');
    expect(ranges).toHaveLength(1);
    expect(ranges[0]?.to).toBeGreaterThan(healed - DELAY);
    expect(await storedTransactions(ranges[0]!)).toBe(live.simulator().truth.counts(ranges[0]).transactions);
  });
});
