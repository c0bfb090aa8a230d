import { parseArgs } from 'node:util';
import { openCrawl } from '../../src/app/open-crawl.ts';
import { readConfig } from '../../src/settings/config.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { formatTable } from '../../src/commands/table.ts';
import { createLogger } from '../../src/logger.ts';
import type { Range } from '../../src/range.ts';
import { borrowedStore } from '../../test/support/database/borrowed-store.ts';
import { startSimulator, type Simulator } from '../../test/support/simulator/simulator.ts';
import { readNaively } from './naive.ts';
import { compareSpeed, SIZES } from './scripts/compare.ts';
import { startServer, type BenchServer } from './store.ts';

/*
 * Compares the program with a plain offset client, on the same simulated server, under the same limit: what
 * each lost, what it read twice, what it cost. Then it compares the speed with a Python script and dlt, if
 * Python is available: `PYTHON=venv/bin/python npm run versus`, with `pip install requests "psycopg[binary]"
 * "dlt[postgres]"`. `npm run versus -- speed [--against DIRECTORY]... [--rounds 3] [--transactions 480000]...` does only
 * that, also with other versions of the program, each built in a directory of its own.
 */

const RPS = 10;
const START = Date.UTC(2026, 2, 1) / 1000;
const BUILDS = ['1.2', '1.3'] as const;

interface Dataset {
  readonly name: string;
  readonly path: string;
  readonly list: string;
  readonly idOf: (record: unknown) => string;
  /** The name of the same column in the database. */
  readonly stored: string;
  readonly truth: (simulator: Simulator, span: Range) => string[];
}

const member = (name: string) => (record: unknown) => String((record as Record<string, unknown>)[name]);
const blockId = (record: unknown) => {
  const { workchain, shard, seqno } = record as Record<string, unknown>;
  return `${String(workchain)}:${String(shard)}:${String(seqno)}`;
};

const DATASETS: readonly Dataset[] = [
  {
    name: 'blocks',
    path: '/api/v3/blocks',
    list: 'blocks',
    idOf: blockId,
    stored: `select workchain || ':' || shard || ':' || seqno as id from ton.blocks`,
    truth: ({ truth }, span) => [...truth.blocks(span)].map(blockId),
  },
  {
    name: 'transactions',
    path: '/api/v3/transactions',
    list: 'transactions',
    idOf: member('hash'),
    stored: 'select hash as id from ton.transactions',
    truth: ({ truth }, span) => [...truth.transactions(span)].map(member('hash')),
  },
  {
    name: 'jetton_transfers',
    path: '/api/v3/jetton/transfers',
    list: 'jetton_transfers',
    idOf: member('transaction_hash'),
    stored: 'select transaction_hash as id from ton.jetton_transfers',
    truth: ({ truth }, span) => [...truth.jettonTransfers(span)].map(member('transaction_hash')),
  },
];

interface Outcome {
  readonly lost: number;
  readonly doubled: number;
  readonly requests: number;
  readonly refused: number;
  readonly seconds: number;
}

function held(expected: readonly string[], ids: readonly string[]): Pick<Outcome, 'lost' | 'doubled'> {
  const seen = new Set(ids);
  return { lost: expected.filter((id) => !seen.has(id)).length, doubled: ids.length - seen.size };
}

async function naive(simulator: Simulator, dataset: Dataset, span: Range): Promise<Outcome> {
  const start = performance.now();
  const { ids, requests, refused } = await readNaively({ ...dataset, url: simulator.url, span, rps: RPS });
  const seconds = (performance.now() - start) / 1000;
  return { ...held(dataset.truth(simulator, span), ids), requests, refused, seconds };
}

async function ours(
  server: BenchServer,
  simulator: Simulator,
  dataset: Dataset,
  name: string,
): Promise<[Outcome, Range]> {
  const store = await server.create(name, { from: START, to: START + 86_400 });
  const never = new AbortController().signal;
  const stop = { finishing: never, leaving: never };
  const config = readConfig({ TONCENTER_RPS: String(RPS), TONCENTER_NETWORK: simulator.url }, '/');
  const crawl = await openCrawl({
    config,
    stop,
    baseUrl: simulator.url,
    logger: createLogger({ level: 'warn', format: 'json' }),
    store: borrowedStore(store),
  });
  const datasets = (await loadJobs()).filter((job) => job.name === dataset.name);
  const start = performance.now();
  const readable = await findReadablePart({
    ...crawl,
    wanted: { from: START, to: crawl.chain.last.utime },
    delaySeconds: 0,
    signal: never,
  });
  await fillRange({ ...crawl, datasets, readable, stop });
  const seconds = (performance.now() - start) / 1000;
  const span = readable.range ?? { from: START, to: START };
  const { requests, refused } = crawl.context.api.stats;
  const { rows } = await store.client.query<{ id: string }>(
    `${dataset.stored} where utime >= to_timestamp($1) and utime < to_timestamp($2)`,
    [span.from, span.to],
  );
  await crawl.close();
  await store.close();
  const ids = rows.map(({ id }) => id);
  return [{ ...held(dataset.truth(simulator, span), ids), requests, refused, seconds }, span];
}

async function compareLosses(): Promise<void> {
  const header = ['server', 'dataset', 'rows', 'client', 'lost', 'doubled', 'requests', 'refused', 'seconds'];
  const rows: string[][] = [];
  const server = await startServer();
  for (const build of BUILDS) {
    const simulator = await startSimulator({
      build,
      seed: 5,
      start: START,
      duration: 3000,
      load: 9,
      accounts: 600,
      masterchainInterval: 1,
      rateLimit: { kind: 'sliding-window', rps: RPS },
    });
    for (const dataset of DATASETS) {
      const [mine, span] = await ours(
        server,
        simulator,
        dataset,
        `versus_${build.replace('.', '_')}_${dataset.name}`,
      );
      const theirs = await naive(simulator, dataset, span);
      const total = String(dataset.truth(simulator, span).length);
      for (const [client, outcome] of [
        ['offset', theirs],
        ['toncenter-etl', mine],
      ] as const) {
        const { lost, doubled, requests, refused, seconds } = outcome;
        const figures = [lost, doubled, requests, refused, seconds.toFixed(1)].map(String);
        rows.push([build, dataset.name, total, client, ...figures]);
      }
    }
    await simulator.close();
  }
  await server.stop();
  console.log(formatTable(header, rows));
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '1' },
    transactions: { type: 'string', multiple: true, default: SIZES },
  },
});
if (positionals[0] !== 'speed') await compareLosses();
const sizes = values.transactions.map(Number);
await compareSpeed({ against: values.against, rounds: Number(values.rounds), sizes });
