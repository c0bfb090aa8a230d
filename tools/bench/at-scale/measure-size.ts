import * as z from 'zod';
import { DAY, formatTime } from '../../../src/range.ts';
import { DATASETS } from '../queries/one-day.ts';
import type { BenchServer, BenchStore } from '../store.ts';
import type { Asked } from './asked.ts';
import { ASK, CLI, runApart, type Cost } from './run-apart.ts';

/** A lake of some days, from which databases are filled. */
export interface Scale {
  readonly server: BenchServer;
  /** Serves the first day. */
  readonly api: string;
  /** The start of the first day, in Unix seconds. */
  readonly start: number;
  readonly lake: string;
}

interface Sized extends Scale {
  readonly days: number;
  readonly begin: (step: string) => void;
}

/** Seconds at both ends of the first day that depend on what was before it, or comes after. */
const ENDS = 900;

export const WHOLE = ['blocks', ...DATASETS];

const ONLY = ['--only', 'blocks,transactions,traces'];

/** Fills a database from the lake, runs the usual commands, and returns the cost of each, by name. */
export async function measureSize(scale: Sized): Promise<ReadonlyMap<string, Cost>> {
  const { server, start, days, lake, begin } = scale;
  const store = await server.create(`days_${days}`);
  const costs = new Map<string, Cost>();
  const { run, ask } = runnersOf(scale, store, (name, cost) => void costs.set(name, cost));
  const [first, second] = [0, 1].map((day) => formatTime(start + day * DAY));
  const range = (from = '', to = '') => ['--from', from, '--to', to];
  const end = formatTime(start + days * DAY);
  try {
    await run('load', ['import', '--lake', lake, ...range(first, end)]);
    begin('vacuum');
    await store.client.query('vacuum (analyze)');
    await tellSize(store, begin);
    await run('status', ['status']);
    await run('plan of a day', ['plan', ...range(first, second)]);
    const inner = range(formatTime(start + ENDS), formatTime(start + DAY - ENDS));
    await run('verify of a day', ['verify', ...inner, ...ONLY]);
    // The rows are younger than those of the lake: every part of the day is rewritten.
    await run('export of a day', ['export', ...range(first, second), '--out', lake]);
    await ask('questions, a day, Postgres', { database: store.url, ...asked(start + DAY, 1, start + DAY) });
    await ask('questions, all of it, lake', { lake, ...asked(start, days, start + DAY) });
    const kept = Math.floor((Date.now() / 1000 - start - DAY) / DAY);
    const retention = WHOLE.map((dataset) => `${dataset}:${kept}d`).join(',');
    await run('retention of a day', ['prune'], { ETL_RETENTION: `${retention}, lake`, ETL_LAKE: lake });
    await run('import of a day', ['import', '--lake', lake, ...range(first, second)]);
  } finally {
    await store.close();
    await server.remove(store.url);
  }
  return costs;
}

function asked(from: number, days: number, day: number): Pick<Asked, 'day' | 'next' | 'from' | 'to'> {
  const dayOf = (second: number) => formatTime(second).slice(0, 10);
  return { day: dayOf(day), next: dayOf(day + DAY), from: dayOf(from), to: dayOf(from + days * DAY) };
}

function runnersOf(
  { server, api, begin }: Sized,
  store: BenchStore,
  keep: (name: string, cost: Cost) => void,
) {
  const settings = settingsOf(store, api);
  const measure = async (name: string, running: ReturnType<typeof runApart>) => {
    begin(name);
    const { printed, isDone, ...cost } = await running;
    begin(`${name}: ${JSON.stringify(cost)}`);
    if (!isDone) console.error(printed.slice(-2000));
    keep(name, cost);
    return printed;
  };
  return {
    run: async (name: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
      await measure(name, runApart(server, CLI, args, { ...settings, ...more }));
    },
    ask: async (name: string, order: Asked) => {
      console.error(await measure(name, runApart(server, ASK, [JSON.stringify(order)], {})));
    },
  };
}

export function settingsOf({ url }: BenchStore, api: string): Readonly<Record<string, string>> {
  return {
    DATABASE_URL: url,
    TONCENTER_NETWORK: api,
    TONCENTER_RPS: '1000',
    ETL_PARTITION: 'day',
    ETL_DATASETS: WHOLE.join(','),
  };
}

const Size = z.object({
  transactions: z.string(),
  messages: z.string(),
  blocks: z.string(),
  size: z.string(),
});

async function tellSize({ client }: BenchStore, begin: (step: string) => void): Promise<void> {
  const { rows } = await client.query(
    `select (select count(*) from ton.transactions) as transactions, (select count(*) from ton.messages) as messages,
       (select count(*) from ton.blocks) as blocks, pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  begin(JSON.stringify(Size.parse(rows[0])));
}
