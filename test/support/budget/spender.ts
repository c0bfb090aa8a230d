import { sql } from 'drizzle-orm';
import { createInFlight, type Priority } from '../../../src/budget/request-budget.ts';
import { createApiClient } from '../../../src/api/client.ts';
import { systemClock } from '../../../src/clock.ts';
import { createSharedBudget } from '../../../src/ledger/shared-budget.ts';
import { openDatabase } from '../../../src/postgres/database.ts';
import { createLogger } from '../../../src/logger.ts';

/** The task of a separate process: it asks the API from so many lanes, as often as the budget allows. */
export interface SpendingOrder {
  readonly database: string;
  readonly api: string;
  readonly rps: number;
  readonly lanes: number;
  readonly priority: Priority;
  /** Milliseconds between two requests of a lane; 0 for none. */
  readonly pauseMs: number;
}

export interface SpendingReport {
  readonly requests: number;
  /** Statements that the budget cost, and the mean of their milliseconds. */
  readonly statements: number;
  readonly statementMs: number;
  /** Milliseconds from asking for a slot to its grant, for each request. */
  readonly waits: readonly number[];
}

const order = JSON.parse(process.argv[2] ?? '') as SpendingOrder;
const database = await openDatabase({ url: order.database, applicationName: 'spender' });
const cost = { statements: 0, ms: 0 };
const shared = createSharedBudget({
  database: {
    ...database,
    rows: async (query, row) => {
      const start = performance.now();
      const rows = await database.rows(query, row);
      cost.statements += 1;
      cost.ms += performance.now() - start;
      return rows;
    },
  },
  host: new URL(order.api).host,
  rps: order.rps,
  clock: systemClock,
});
const waits: number[] = [];
const api = createApiClient({
  baseUrl: order.api,
  budget: {
    ...shared,
    take: async (priority, signal) => {
      const start = performance.now();
      await shared.take(priority, signal);
      waits.push(performance.now() - start);
    },
  },
  inFlight: createInFlight({ rps: order.rps, clock: systemClock }),
  logger: createLogger({ level: 'silent', format: 'json' }),
  clock: systemClock,
  attempts: Infinity,
  random: Math.random,
});
const stop = new AbortController();

async function lane(number: number) {
  while (!stop.signal.aborted) {
    await api.get({
      path: `/${process.pid}/${order.priority}/${number}`,
      params: {},
      parse: (body: unknown) => body,
      priority: order.priority,
      signal: stop.signal,
    });
    if (order.pauseMs > 0) await systemClock.sleep(order.pauseMs, stop.signal);
  }
}

await database.run(sql`select 1`);
process.send?.('ready');
process.on('message', (message) => {
  if (message === 'go') {
    for (let number = 0; number < order.lanes; number += 1) {
      lane(number).catch((error: unknown) => {
        if (!stop.signal.aborted) console.error(error);
      });
    }
  } else {
    stop.abort();
    const report: SpendingReport = {
      requests: waits.length,
      statements: cost.statements,
      statementMs: cost.ms / Math.max(1, cost.statements),
      waits,
    };
    process.send?.(report, () => process.exit());
  }
});
