import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { chooseDatasets } from '../../../src/dataset/dataset.ts';
import type { Range } from '../../../src/range.ts';
import { startSimulator } from '../../../test/support/simulator/simulator.ts';
import { deriveTransactions } from '../../../src/verify/derive.ts';
import { openBenchCrawl } from '../open-crawl.ts';
import type { BenchServer } from '../store.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
/** An hour of a chain as busy as mainnet. */
const NETWORK = { start: START, duration: 3600, load: 20, accounts: 2000, seed: 9 };

export interface Spent {
  readonly transactions: number;
  readonly requests: number;
  /** The requests among them for transactions. */
  readonly toTransactions: number;
}

/** The requests of a backfill of the core datasets, with or without the use of rows that trace pages have brought. */
export async function crawlCore(server: BenchServer, deriving: boolean): Promise<Spent> {
  const simulator = await startSimulator(NETWORK);
  const bench = await server.create(deriving ? 'derived' : 'asked', { from: START, to: START + 3600 });
  const { crawl, context, stop, close } = await openBenchCrawl(simulator.url, bench.url);
  const datasets = chooseDatasets(['core'], context.jobs);
  const wanted = { from: 0, to: crawl.chain.last.utime };
  const readable = await findReadablePart({ ...crawl, wanted, delaySeconds: 0, signal: stop.leaving });
  const derive = (range: Range) => deriveTransactions(context, range);
  const derived = deriving ? { derived: { dataset: 'transactions', derive } } : {};
  await fillRange({ ...crawl, datasets, readable, stop, ...derived });
  const { rows } = await bench.client.query<{ count: string }>('select count(*) from ton.transactions');
  const spent = {
    transactions: Number(rows[0]?.count),
    requests: crawl.context.api.stats.requests,
    toTransactions: simulator.stats.byPath.get('/api/v3/transactions') ?? 0,
  };
  await close();
  await bench.close();
  await simulator.close();
  return spent;
}
