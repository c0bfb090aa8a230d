import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startSimulator, type Simulator, type SimulatorOptions } from '../simulator/simulator.ts';
import { compile } from '../program/compile.ts';
import { openTestStore, type TestStore } from '../database/database.ts';
import type { Order } from './child.ts';
import { digestTables } from './digest.ts';
import { keysOf, violations, type Keys } from './invariants.ts';

/** The phase in which a process was killed, seen from outside: that of its most advanced loop. */
export type Phase = 'fetch' | 'within a statement' | 'between statements' | 'commit' | 'elsewhere';

/** The phases that kills aim at, in turn. */
const TARGETS: readonly Phase[] = ['fetch', 'between statements', 'commit', 'within a statement'];
const APPLICATION = 'to-be-killed';
/** The minimum and maximum of a response's milliseconds. */
const LATENCY_MS = [0, 30] as const;
/**
 * The same if a process is to be killed while it waits for responses: otherwise one of its loops nearly
 * always writes.
 */
const WAITED_FOR_MS = [2000, 2000] as const;
/** A process that was not seen in the phase aimed at is still killed. */
const PATIENCE_MS = 15_000;

export interface Proof {
  /** Starts the crawl and kills it; returns the phase, or undefined if the range was complete by then. */
  kill(number: number): Promise<Phase | undefined>;
  /** The current violations, see `violations`. */
  violations(): Promise<string[]>;
  /** Runs the crawl to its end, and returns its exit code. */
  finish(): Promise<number | null>;
  digest(): Promise<Record<string, string>>;
  /** The digest of an undisturbed crawl in a separate database. */
  undisturbed(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

interface ProofOptions {
  readonly network: Omit<SimulatorOptions, 'latencyMs'> & {
    readonly start: number;
    readonly duration: number;
  };
  readonly datasets: readonly string[];
  /** Rows a page of the crawls that are killed: few, so that there is much to interrupt. */
  readonly page: number;
}

/** Opens a network, a database, and a program that is killed while it works between them. */
export async function openProof({ network, datasets, page }: ProofOptions): Promise<Proof> {
  const program = await compile();
  const simulator = await openNetwork(network);
  // The last blocks have no successors yet, which a crawl waits for.
  const range = { from: network.start, to: network.start + network.duration - 60 };
  const keys = keysOf(simulator.truth, range);
  const run = (store: TestStore): Run => ({
    order: { database: store.url, api: simulator.url, applicationName: APPLICATION, datasets, range },
    program,
  });
  const store = await openTestStore();
  const client = await connect(store);
  await slowDownCommits(client);
  const { order } = run(store);
  const inSmallPages = { order: { ...order, page }, program };
  return {
    async kill(number) {
      const target = TARGETS[number % TARGETS.length] ?? 'fetch';
      const phase = await killOnce(inSmallPages, client, simulator, target);
      return (await isComplete(client, order)) ? undefined : phase;
    },
    violations: () => violations(client, keys),
    finish: () => finish(run(store)),
    digest: () => digestTables(client),
    undisturbed: () => undisturbed(run, keys),
    async close() {
      await client.end();
      await store.close();
      await simulator.close();
    },
  };
}

/** A network whose responses can be slowed down. */
interface Network extends Simulator {
  keepWaiting(isKept: boolean): void;
}

async function openNetwork(network: ProofOptions['network']): Promise<Network> {
  let waits = false;
  const simulator = await startSimulator({
    ...network,
    get latencyMs() {
      return waits ? WAITED_FOR_MS : LATENCY_MS;
    },
  });
  return Object.assign(simulator, { keepWaiting: (isKept: boolean) => void (waits = isKept) });
}

interface Run {
  readonly order: Order;
  readonly program: string;
}

async function connect({ url }: TestStore): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Slows commits down as a disk does: otherwise no process would ever be seen in one. */
async function slowDownCommits(client: pg.Client): Promise<void> {
  await client.query(`
    create function public.wait_a_moment() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.01); return null; end $$;
    create constraint trigger wait_a_moment after insert on etl.pages deferrable initially deferred
      for each row execute function public.wait_a_moment()`);
}

function start({ program, order }: Run): ChildProcess {
  const script = join(program, 'test', 'support', 'kill', 'child.js');
  return spawn(process.execPath, [script, JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

async function finish(run: Run): Promise<number | null> {
  const [code] = (await once(start(run), 'exit')) as [number | null];
  return code;
}

async function killOnce(
  run: Run,
  client: pg.Client,
  network: Network,
  target: Phase,
): Promise<Phase | undefined> {
  const child = start(run);
  const ended = once(child, 'exit');
  try {
    return await catchIn(child, client, network, target);
  } finally {
    child.kill('SIGKILL');
    await ended;
    network.keepWaiting(false);
    await forgetProcess(client);
  }
}

/** Stops the process in the phase aimed at, and reads its phase. */
async function catchIn(
  child: ChildProcess,
  client: pg.Client,
  network: Network,
  target: Phase,
): Promise<Phase | undefined> {
  const asked = network.stats.total;
  while (child.exitCode === null && network.stats.total < asked + 4) await delay(5);
  await delay(Math.random() * 400);
  network.keepWaiting(target === 'fetch');
  const deadline = performance.now() + PATIENCE_MS;
  while (child.exitCode === null) {
    const late = performance.now() > deadline;
    if (!late && (await phaseOf(client, network)) !== target) {
      await delay(3);
      continue;
    }
    child.kill('SIGSTOP');
    const phase = await phaseOf(client, network);
    if (phase === target || late) return phase;
    child.kill('SIGCONT');
  }
  return undefined;
}

async function phaseOf(client: pg.Client, simulator: Simulator): Promise<Phase> {
  const { rows } = await client.query<{ state: string; open: boolean; commits: boolean }>(
    `select state, xact_start is not null as open, query ilike 'commit%' as commits
     from pg_stat_activity where datname = current_database() and application_name = '${APPLICATION}'`,
  );
  const open = rows.filter((row) => row.open);
  if (open.some(({ state, commits }) => state === 'active' && commits)) return 'commit';
  if (open.some(({ state }) => state === 'idle in transaction')) return 'between statements';
  if (open.length > 0) return 'within a statement';
  return simulator.stats.requests.slice(-8).some(({ status }) => status === 0) ? 'fetch' : 'elsewhere';
}

async function isComplete(client: pg.Client, { datasets, range }: Order): Promise<boolean> {
  const { rows } = await client.query<{ complete: number }>(
    `select count(*)::int as complete from etl.coverage
     where pass = 0 and scope = '' and covered @> int8range($1, $2) and dataset = any($3)`,
    [range.from, range.to, datasets],
  );
  return rows[0]?.complete === datasets.length;
}

/** Waits until its sessions are over, as they are before any restart; its leases have expired by then. */
async function forgetProcess(client: pg.Client): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = current_database() and application_name = '${APPLICATION}'`,
    );
    if (rowCount === 0) break;
    await delay(5);
  }
  await client.query('update etl.leases set expires_at = clock_timestamp()');
}

async function undisturbed(run: (store: TestStore) => Run, keys: Keys): Promise<Record<string, string>> {
  const store = await openTestStore();
  const client = await connect(store);
  try {
    const code = await finish(run(store));
    const wrong = await violations(client, keys);
    if (code !== 0 || wrong.length > 0)
      throw new Error(`the undisturbed crawl ended with ${String(code)}: ${wrong.join('; ')}`);
    return await digestTables(client);
  } finally {
    await client.end();
    await store.close();
  }
}
