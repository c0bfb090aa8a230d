import type pg from 'pg';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { chooseDatasets } from '../../../src/dataset/dataset.ts';
import { startSimulator, type SimulatorOptions } from '../../../test/support/simulator/simulator.ts';
import { SPAN } from '../network.ts';
import { openBenchCrawl } from '../open-crawl.ts';

/** One day of a quiet network, from which every other day is made. */
const DAY = {
  seed: 11,
  start: SPAN.from,
  duration: 86_400,
  masterchainInterval: 20,
  tickTockEvery: 200,
};

/** Transactions a day for each wallet: enough that jettons and items change hands. */
const BUSY = 8;

/** The datasets of all questions, without blocks. */
export const DATASETS = [
  'transactions',
  'traces',
  'actions',
  'jetton_transfers',
  'jetton_burns',
  'nft_transfers',
];

/** A day of about so many transactions. */
export function networkOfDay(transactions: number): SimulatorOptions & typeof DAY {
  const accounts = Math.max(60, Math.min(1000, Math.round(transactions / BUSY)));
  return { ...DAY, load: transactions / DAY.duration, accounts };
}

/** Crawls the first day through the program's own crawler, and returns how many transactions it has. */
export async function crawlOneDay(url: string, client: pg.Client, transactions: number): Promise<number> {
  const simulator = await startSimulator(networkOfDay(transactions));
  const bench = await openBenchCrawl(simulator.url, url);
  const { crawl, stop } = bench;
  const datasets = chooseDatasets(DATASETS, await loadJobs());
  const wanted = { from: DAY.start, to: crawl.chain.last.utime };
  const readable = await findReadablePart({ ...crawl, wanted, delaySeconds: 0, signal: stop.leaving });
  await fillRange({ ...crawl, datasets, readable, stop });
  await bench.close();
  await simulator.close();
  const { rows } = await client.query<{ count: string }>('select count(*) from ton.transactions');
  return Number(rows[0]?.count);
}
