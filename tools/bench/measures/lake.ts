import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseDatasets } from '../../../src/dataset/dataset.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { tablesOf } from '../../../src/export/write-rows.ts';
import { importLake } from '../../../src/commands/import-command.ts';
import { withLake } from '../../../src/lake/open-lake.ts';
import { exportLake } from '../../../src/lake/export-lake.ts';
import { crawlApart } from '../crawl-apart.ts';
import { busyNetworkOf, serveNetwork } from '../network.ts';
import { countRows, startServer, type BenchServer } from '../store.ts';

const never = new AbortController().signal;
const stop = { finishing: never, leaving: never };
const ignore = () => undefined;

interface Cost {
  readonly rows: number;
  readonly seconds: number;
  /** Of the program and of Postgres together. */
  readonly cpuSeconds: number;
}

/**
 * The cost of crawling so many transactions, of exporting them into a lake, and of importing them into an
 * empty database. CPU seconds are comparable even on a shared machine.
 */
export async function measureLake(
  tell: (measure: string, values: Readonly<Record<string, unknown>>) => void,
  transactions: number,
): Promise<void> {
  const network = busyNetworkOf(transactions);
  const range = { from: network.start, to: network.start + network.duration };
  const api = await serveNetwork(network);
  const server = await startServer();
  const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-bench-lake-'));
  try {
    const source = await server.create('crawled', range);
    let crawler = 0;
    const crawl = await costOf(server, async () => {
      crawler = (await crawlApart({ database: source.url, api: api.url, range })).cpuSeconds;
      return countRows(source);
    });
    const crawled = { ...crawl, cpuSeconds: crawl.cpuSeconds + crawler };
    tell('crawl', perSecond(crawled));
    const available = await loadJobs();
    const datasets = chooseDatasets(['transactions'], available);
    const shared = { range, stop, now: range.to };
    const exported = await costOf(server, () =>
      withLake(directory, async (lake) => {
        const { database } = source;
        await exportLake({
          ...shared,
          lake,
          database,
          tables: tablesOf(datasets, available),
          onPart: ignore,
          onFault: ignore,
        });
        return countRows(source);
      }),
    );
    tell('export', perSecond(exported));
    const target = await server.create('imported');
    const imported = await costOf(server, () =>
      withLake(directory, async (lake) => {
        const { database } = target;
        const partitions = createPartitions(database, 'month');
        const expected = new Set(datasets.map(({ name }) => name));
        const wanted = { ...shared, datasets, available, expected };
        await importLake({ ...wanted, lake, database, partitions, onCommit: ignore });
        return countRows(target);
      }),
    );
    const times = crawled.cpuSeconds / crawled.rows / (imported.cpuSeconds / imported.rows);
    tell('import', { ...perSecond(imported), timesTheCrawl: times, aim: 5 });
    await target.close();
    await source.close();
  } finally {
    await rm(directory, { recursive: true });
    await server.stop();
    await api.stop();
  }
}

async function costOf(server: BenchServer, work: () => Promise<number>): Promise<Cost> {
  const [start, cpu, before] = [performance.now(), process.cpuUsage(), await server.cpuSeconds()];
  const rows = await work();
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = (user + system) / 1e6 + (await server.cpuSeconds()) - before;
  return { rows, seconds: (performance.now() - start) / 1000, cpuSeconds };
}

const perSecond = ({ rows, seconds, cpuSeconds }: Cost) => ({
  rows,
  rowsPerSecond: Math.round(rows / seconds),
  rowsPerCpuSecond: Math.round(rows / cpuSeconds),
  microsecondsPerRow: (cpuSeconds / rows) * 1e6,
});
