import { sql } from 'drizzle-orm';
import { backfill } from '../../../src/commands/backfill-command.ts';
import { verify } from '../../../src/commands/verify-command.ts';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { chooseDatasets } from '../../../src/dataset/dataset.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { openDatabase, type Database } from '../../../src/postgres/database.ts';
import { migrate } from '../../../src/migrate/migrate.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { formatTime, type Range } from '../../../src/range.ts';
import {
  startSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../../test/support/simulator/simulator.ts';
import { never, openTestCrawl } from '../../../test/support/crawl.ts';
import { runHere, type CommandTarget } from '../run-here.ts';
import { MOVES } from './cells.ts';

const START = Date.UTC(2026, 5, 1) / 1000;
/** Seconds of the network in which something happens. */
const BUSY_SECONDS = 400;
/** The delay with which some datasets are served. */
const DELAY_SECONDS = 960;

/** Seconds that are crawled: not from the network's very start, because there are blocks before a real range. */
export const RANGE: Range = { from: START + 61, to: START + BUSY_SECONDS - 47 };

/** A small network with rows of every dataset. */
export function startNetwork(seed: number, changes: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  return startSimulator({
    start: START,
    duration: BUSY_SECONDS + DELAY_SECONDS,
    seed,
    load: { base: 2.5, dead: [{ from: START + BUSY_SECONDS, to: START + BUSY_SECONDS + DELAY_SECONDS }] },
    accounts: 60,
    masterchainInterval: 4,
    reshardEvery: 8,
    electionSeconds: 120,
    build: '1.3',
    mix: { burn: 0.2, nft: 0.2, swap: 0.2 },
    ...changes,
  });
}

/** Names of all datasets that can be verified. */
export async function streamNames(): Promise<string[]> {
  return (await loadJobs()).map(({ name }) => name);
}

/** Crawls the range of a network as a user does, twice if a second reading is due, and verifies it. */
export async function crawlNetwork(
  target: CommandTarget,
  { truth }: Pick<Simulator, 'truth'>,
): Promise<void> {
  const names = await streamNames();
  const database = await openDatabase({ url: target.url, applicationName: 'proof' });
  try {
    await migrate(database);
    await makeRoom(database);
    for (const pool of truth.pools) await database.run(sql`insert into etl.watch (address) values (${pool})`);
    const flags = { from: String(RANGE.from), to: String(RANGE.to), only: names, quiet: true };
    await mustEndWith(0, target, (invocation) => backfill(invocation, flags));
    await readAgain(target);
    await mustEndWith(0, target, (invocation) => verify(invocation, flags));
    await database.run(sql`analyze`).catch(() => undefined);
  } finally {
    await database.close();
  }
}

/** Partitions for rows that are moved far out of the range. */
async function makeRoom(database: Database): Promise<void> {
  const tables = (await loadJobs()).flatMap(({ job }) => Object.values(job.tables));
  const times = Object.values(MOVES).flatMap((by) => [RANGE.from + by, RANGE.to + by].map(formatTime));
  await createPartitions(database, 'month').ensure(tables, times);
}

type Command = Parameters<typeof runHere>[1];

async function mustEndWith(code: number, target: CommandTarget, command: Command): Promise<void> {
  const outcome = await runHere(target, command);
  if (outcome.code !== code) throw new Error(`exit ${String(outcome.code)}:\n${outcome.lines.join('\n')}`);
}

/** Does the second reading of those that need one, as if days had passed. */
export async function readAgain(
  { url, source }: CommandTarget,
  only: readonly string[] = ['all'],
): Promise<void> {
  const database = await openDatabase({ url, applicationName: 'proof' });
  const crawl = await openTestCrawl({ url, database, close: () => Promise.resolve() }, source);
  try {
    await database.run(sql`update etl.pages set committed_at = committed_at - interval '3 days'`);
    await database.run(sql`update etl.refused set retry_at = retry_at - interval '3 days' where pass = 1`);
    const datasets = chooseDatasets(only, await loadJobs());
    const readable = { range: RANGE, watermark: RANGE.to + 200_000 };
    await fillRange({ ...crawl, datasets, readable, stop: never, again: true });
  } finally {
    await crawl.close();
    await database.close();
  }
}
