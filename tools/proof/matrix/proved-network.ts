import pg from 'pg';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import type { Simulator, SimulatorOptions } from '../../../test/support/simulator/simulator.ts';
import { streamTables, type Table } from './cells.ts';
import { crawlNetwork, startNetwork } from './network.ts';
import { readRows, type Rows } from './rows.ts';

/** The source of databases. */
export interface Databases {
  /** The name of a database that `prepare` has filled. */
  template(name: string, prepare: (url: string) => Promise<void>): Promise<string>;
  clone(template: string): Promise<Clone>;
}

interface Clone {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

/** A network that was crawled and proved; copies of it can be altered. */
export interface ProvedNetwork {
  readonly simulator: Simulator;
  readonly tables: readonly Table[];
  /** Datasets that need a second reading. */
  readonly readTwice: ReadonlySet<string>;
  /** The rows of every copy before it is altered. */
  readonly truth: Rows;
  clone(): Promise<Clone>;
  close(): Promise<void>;
}

export async function openProvedNetwork(
  seed: number,
  databases: Databases,
  changes: Partial<SimulatorOptions> = {},
): Promise<ProvedNetwork> {
  const simulator = await startNetwork(seed, changes);
  const template = await databases.template(`proved_${seed}`, (url) =>
    crawlNetwork({ url, source: simulator.url }, simulator),
  );
  const tables = await streamTables();
  const clone = () => databases.clone(template);
  const first = await clone();
  const truth = await withClient(first.url, (client) => readRows(client, tables));
  await first.drop();
  const jobs = await loadJobs();
  const readTwice = new Set(jobs.flatMap(({ name, job }) => ('second-reading' in job.checks ? [name] : [])));
  return { simulator, tables, readTwice, truth, clone, close: () => simulator.close() };
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}
