import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase } from '../../src/db/database.ts';
import { startSimulator, type Simulator } from '../../src/simulator/server.ts';
import { differences } from '../proof/differences.ts';
import { datasetsNamed, openTestCrawl } from '../support/crawl.ts';
import { openProof } from '../support/verify.ts';
import { compareCovered, findDoubled, findRounded, installAudit, truthOf } from './audit.ts';
import { urlOf, type Cluster } from './cluster.ts';
import type { Harm, Harmful, Plan } from './plan.ts';
import { openProxy, type Proxy } from './proxy.ts';
import { createSpoiler, type Spoiler } from './spoil.ts';
import { lastLine, launch, startCrew, type Crew, type Memory } from './workers.ts';

const DATASETS = ['blocks', 'transactions', 'traces', 'jetton_transfers', 'actions'];
/** Whose rows do not change: they are compared whenever they are covered. */
const IMMUTABLE = DATASETS.filter((name) => name !== 'actions');
const TICK_MS = 50;
/** Chain seconds behind the range by which everything in it is registered, and nothing has been generated otherwise. */
const TRUTH_TAIL = 150;
const FINISH_ATTEMPTS = 3;
/** What takes longer after the storm hangs. */
const LONGEST_MS = 60_000;

/** What became of a seed. */
export interface Outcome {
  readonly seed: number;
  /** What is wrong, in sentences; empty where everything is as it should be. */
  readonly problems: readonly string[];
  readonly faults: Readonly<Record<string, number>>;
  readonly harms: Readonly<Record<string, number>>;
  /** Processes of the program that were started. */
  readonly starts: number;
  /** Rows that were held against the truth. */
  readonly rows: number;
  readonly requests: number;
  readonly quarantined: number;
  readonly memory: readonly Memory[];
  /** Where the workers' words are. */
  readonly directory: string;
}

interface Run {
  readonly plan: Plan;
  readonly cluster: Cluster;
  readonly program: string;
  readonly directory: string;
  readonly name: string;
  readonly simulator: Simulator;
  readonly spoiler: Spoiler;
  readonly proxy: Proxy;
  /** The workers' way to the database. */
  readonly url: string;
  readonly harms: Map<Harm, number>;
}

/** Lets workers crawl a live network while they, the API and the database are harmed, and holds what is left against the truth. */
export async function runSeed(
  plan: Plan,
  cluster: Cluster,
  program: string,
  directory: string,
): Promise<Outcome> {
  await mkdir(directory, { recursive: true });
  const spoiler = createSpoiler(plan.seed);
  const simulator = await startSimulator({
    ...plan.network,
    ...{ faults: { ...plan.faults }, headTime: plan.head.from, after: spoiler.spoil },
  });
  const name = `chaos_${plan.seed}`;
  await cluster.dropDatabase(name);
  const own = await cluster.createDatabase(name);
  const proxy = await openProxy(cluster.port);
  const url = urlOf(own, name, proxy.port);
  const run: Run = {
    plan,
    cluster,
    program,
    directory,
    name,
    simulator,
    spoiler,
    proxy,
    url,
    harms: new Map(),
  };
  try {
    await withClient(run, (client) => installAudit(client, plan.commitMs));
    return await harmAndCompare(run);
  } finally {
    await proxy.close();
    await simulator.close();
    await cluster.dropDatabase(name);
  }
}

async function harmAndCompare(run: Run): Promise<Outcome> {
  const { plan, simulator, spoiler, directory } = run;
  const crew = startCrew({ ...run, ...settingsOf(run), processes: plan.processes });
  const problems: string[] = [];
  try {
    await Promise.all([moveHead(run), harmAll(run, crew)]);
  } finally {
    await crew.end();
  }
  problems.push(...crew.complaints);
  const faults = Object.fromEntries([...simulator.stats.byFault, ...spoiler.counts]);
  const { requests, quarantined, rows } = await calm(run, problems);
  return {
    ...{ seed: plan.seed, problems, faults, harms: Object.fromEntries(run.harms), starts: crew.starts() },
    ...{ rows, requests, quarantined, memory: crew.memory, directory },
  };
}

/** The head goes on with the wall clock, from the end of history to the end of the range. */
async function moveHead({ plan, simulator }: Run): Promise<void> {
  const { head, seconds } = plan;
  const began = performance.now();
  for (let share = 0; share < 1; share = (performance.now() - began) / (1000 * seconds)) {
    simulator.headTime = head.from + share * (head.to - head.from);
    await delay(TICK_MS);
  }
  simulator.headTime = head.to;
}

async function harmAll(run: Run, crew: Crew): Promise<void> {
  const began = performance.now();
  const lasting: Promise<unknown>[] = [];
  for (const harmful of run.plan.harms) {
    await delay(Math.max(0, harmful.at - (performance.now() - began)));
    run.harms.set(harmful.harm, (run.harms.get(harmful.harm) ?? 0) + 1);
    const done = HARM[harmful.harm](run, crew, harmful);
    // The database has to be back before anything else is done to it; all other harms may overlap.
    if (harmful.harm === 'kill database') await done;
    else lasting.push(done.catch(() => undefined));
  }
  await Promise.all(lasting);
}

const HARM: Readonly<Record<Harm, (run: Run, crew: Crew, harmful: Harmful) => Promise<void>>> = {
  'kill worker': (_, crew, { worker }) => crew.kill(worker),
  'freeze worker': (run, crew, { worker, ms }) => crew.freeze(worker, ms, (pid) => expireLeases(run, pid)),
  'drop connections': async ({ proxy }) => {
    proxy.drop();
    await Promise.resolve();
  },
  'end sessions': (run) =>
    withClient(run, async (client) => {
      await client.query(`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`);
    }),
  'kill database': async ({ cluster, proxy }) => {
    await cluster.killAndRestart();
    proxy.target = cluster.port;
  },
  'disk full': async (run, _, { ms }) => {
    const set = (full: boolean) =>
      withClient(run, async (client) => {
        await client.query(`update chaos.weather set disk_full = ${full}`);
      });
    await set(true);
    await delay(ms);
    await set(false);
  },
};

/** As if the process had stood for longer than its leases last. */
function expireLeases(run: Run, pid: number): Promise<void> {
  return withClient(run, async (client) => {
    await client.query(
      `update etl.leases set expires_at = clock_timestamp() where owner like '%/' || $1 || '/%'`,
      [String(pid)],
    );
  });
}

/**
 * After the storm: what is covered must be true as it stands; the same program fills the rest; what did not fit is taken
 * back; and in the end every table is the truth.
 */
async function calm(
  run: Run,
  problems: string[],
): Promise<{ requests: number; quarantined: number; rows: number }> {
  const { plan, simulator, spoiler } = run;
  await withClient(run, (client) => client.query('update chaos.weather set disk_full = false'));
  const truth = truthOf(simulator.truth.extendTo(plan.head.to + TRUTH_TAIL), plan.range);
  const left = await withClient(run, (client) => compareCovered(client, truth, IMMUTABLE));
  problems.push(...left.problems.map((problem) => `as it was left: ${problem}`));
  for (const name of Object.keys(simulator.faults)) Reflect.deleteProperty(simulator.faults, name);
  simulator.headTime = plan.network.start + (plan.network.duration ?? 0);
  await finish(run, problems);
  const full = await withClient(run, (client) => compareCovered(client, truth, IMMUTABLE));
  problems.push(...full.problems.map((problem) => `after it was finished: ${problem}`));
  problems.push(...(await withClient(run, findDoubled)), ...(await withClient(run, findRounded)));
  const quarantined = await countQuarantined(run);
  spoiler.active = false;
  await retryQuarantine(run, problems);
  await secondReading(run);
  const healed = await withClient(run, (client) => compareCovered(client, truth, DATASETS));
  problems.push(...healed.problems.map((problem) => `in the end: ${problem}`));
  if ((await countQuarantined(run)) > 0) problems.push('in the end: records are still in quarantine');
  if (problems.length === 0) await compareValues(run, problems);
  const requests = simulator.stats.total;
  return { requests, quarantined, rows: left.rows + full.rows + healed.rows };
}

/** Takes up the backfill until it says that nothing is missing. */
async function finish(run: Run, problems: string[]): Promise<void> {
  const { range } = run.plan;
  const args = [
    'backfill',
    '--from',
    String(range.from),
    '--to',
    String(range.to),
    '--only',
    DATASETS.join(),
  ];
  let said = '';
  for (let attempt = 1; attempt <= FINISH_ATTEMPTS; attempt += 1) {
    // What was set aside during the storm would be tried again in minutes.
    await withClient(run, (client) =>
      client.query('delete from etl.refused; update etl.leases set expires_at = clock_timestamp()'),
    );
    const result = await runProgram(run, args, `finish-${attempt}`);
    if (result.code === 0) return;
    said = result.said;
  }
  problems.push(`the crawl cannot be finished: ${said}`);
}

async function retryQuarantine(run: Run, problems: string[]): Promise<void> {
  const { code, said } = await runProgram(run, ['quarantine', 'retry', '--again'], 'quarantine');
  if (code !== 0) problems.push(`quarantine cannot be emptied: ${said}`);
}

/** Actions that were classified again are exchanged by their second reading, which an hour later would be due. */
async function secondReading(run: Run): Promise<void> {
  const database = await openDatabase({ url: run.url, applicationName: 'chaos' });
  const store = { url: run.url, database, close: () => Promise.resolve() };
  const crawl = await openTestCrawl(store, run.simulator.url);
  try {
    const proof = await openProof(store, crawl);
    await proof.readAgain(await datasetsNamed('actions'), run.plan.range);
  } finally {
    await crawl.close();
    await database.close();
  }
}

/** Every value of every row, not only that the rows are there. */
async function compareValues(run: Run, problems: string[]): Promise<void> {
  await withClient(run, (client) =>
    client.query(
      'update ton.transactions set extra = null; update ton.blocks set extra = null; update ton.messages set extra = null',
    ),
  );
  const found = await differences(run.url, run.simulator, run.plan.range, IMMUTABLE);
  for (const [dataset, seconds] of found)
    if (seconds.size > 0)
      problems.push(`${dataset}: values differ in ${seconds.size} seconds, such as ${[...seconds][0] ?? ''}`);
}

async function countQuarantined(run: Run): Promise<number> {
  const { rows } = await withClient(run, (client) =>
    client.query<{ records: number }>('select count(*)::int as records from etl.quarantine'),
  );
  return rows[0]?.records ?? -1;
}

async function runProgram(
  run: Run,
  args: readonly string[],
  name: string,
): Promise<{ code: number | null; said: string }> {
  const log = join(run.directory, `${name}.log`);
  const child = launch({ ...run, ...settingsOf(run), args, processes: 1 }, log);
  const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  return { code, said: `exit ${String(code)}: ${lastLine(log)}` };
}

function settingsOf({ url, simulator }: Run) {
  return {
    args: ['sync', '--only', DATASETS.join()],
    settings: {
      ...{ DATABASE_URL: url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '1000' },
      ...{ ETL_SINCE: 'first', ETL_FRESHNESS: '1s', ETL_ATTEMPTS: '20' },
    },
  };
}

async function withClient<T>(
  { cluster, name }: Pick<Run, 'cluster' | 'name'>,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: urlOf(cluster.url, name) });
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}
