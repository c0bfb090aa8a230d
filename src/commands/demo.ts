import { join } from 'node:path';
import { openCrawl, type Store } from '../app.ts';
import type { Config } from '../config.ts';
import { backfill } from '../crawl/streams/backfill.ts';
import { missingOf } from '../crawl/streams/missing.ts';
import { reachOf } from '../crawl/streams/reach.ts';
import { loadJobs } from '../dataset/load-jobs.ts';
import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { type Stop, stopOnSignals } from '../stop.ts';
import { runSql } from '../db/read/free-sql.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { demoNetwork } from '../simulator/network/demo-network.ts';
import { startSimulator } from '../simulator/http/server.ts';
import { createLogger, type Logger } from '../logger.ts';
import type { Invocation } from './command.ts';
import { openProgress, progressStyle } from './output/progress/open-progress.ts';
import { missingLine, printSummary } from './output/summary.ts';
import { formatTable } from './output/table.ts';
import { withStore } from './with-store.ts';

/** The demo network's own limit: enough to be quick, and a limit all the same. */
const RPS = 25;
const CONCURRENCY = 3;

const HOUR = `
  select account, count(*) as transactions, round(sum(total_fees) / 1e9, 4) as fees_ton
  from transactions
  where utime >= '2026-01-01 01:00Z' and utime < '2026-01-01 02:00Z'
  group by account order by transactions desc limit 5`;

const LAST_BLOCKS = `
  select utime, workchain, shard, seqno, tx_count from blocks order by utime desc, workchain, shard limit 5`;

/** `demo`: the whole way from an API to SQL answers on this machine alone: simulator, crawl, Postgres. */
export async function demo({ config: given }: Invocation): Promise<ExitCode> {
  const config: Config = { ...given, network: 'demo', dataDir: join(given.dataDir, 'demo'), rps: RPS };
  // The bars tell how far it is: a line for each range as well would push them off the screen.
  const level = given.logLevel === 'info' ? 'warn' : given.logLevel;
  const logger = createLogger({ level, format: given.logFormat });
  const stop = stopOnSignals(logger);
  try {
    return await withStore({ config, logger }, undefined, async (store) => {
      const simulator = await startSimulator({
        ...demoNetwork,
        rateLimit: { kind: 'sliding-window', rps: RPS },
      });
      try {
        const datasets = chooseDatasets(['all'], await loadJobs());
        const requests = await crawlAll({ config, store, datasets, baseUrl: simulator.url, stop, logger });
        if (stop.finishing.aborted) return EXIT.incomplete;
        if (requests === 0) console.log('\nNothing was missing: no data was asked for.');
        await showWhatLanded(store, datasets);
        return EXIT.done;
      } finally {
        await simulator.close();
      }
    });
  } finally {
    stop.dispose();
  }
}

interface DemoRun {
  readonly config: Config;
  readonly store: Store;
  readonly datasets: readonly Dataset[];
  readonly baseUrl: string;
  readonly stop: Stop;
  readonly logger: Logger;
}

/** Covers the network once; how many requests for data it took. */
async function crawlAll({ config, store, datasets, baseUrl, stop, logger }: DemoRun): Promise<number> {
  const crawl = await openCrawl({ config, store, logger, stop, baseUrl });
  try {
    const { context, chain } = crawl;
    const wanted = { from: chain.first.utime, to: chain.last.utime };
    const reach = await reachOf({ context, chain, wanted, delaySeconds: 0, signal: stop.finishing });
    const range = reach.range ?? wanted;
    await printSummary({
      database: store.database,
      globalId: chain.globalId,
      baseUrl,
      datasets,
      wanted: range,
    });
    const before = context.api.stats.requests;
    if ((await missingOf(context, datasets, range, reach.watermark)).size === 0) return 0;
    const style = progressStyle(config);
    const progress = await openProgress({
      crawl,
      datasets,
      watermark: reach.watermark,
      range,
      style,
      rps: RPS,
      concurrency: CONCURRENCY,
    });
    const left = await backfill({ ...crawl, datasets, reach, concurrency: CONCURRENCY, stop });
    progress.end();
    for (const [dataset, ranges] of left) console.log(missingLine(dataset, ranges));
    return context.api.stats.requests - before;
  } finally {
    await crawl.close();
  }
}

async function showWhatLanded({ database, embedded }: Store, datasets: readonly Dataset[]): Promise<void> {
  const names = [...new Set(datasets.flatMap(({ job }) => Object.keys(job.tables)))].sort();
  const counts = names
    .map((name) => `select '${name}' as "table", count(*) as rows from ton.${name}`)
    .join(' union all ');
  await show(database, 'What landed', `select * from (${counts}) counted where rows > 0 order by "table"`);
  await show(database, 'The busiest accounts between 01:00 and 02:00', HOUR);
  await show(database, 'The last blocks', LAST_BLOCKS);
  console.log(`
Now ask it yourself:
  ETL_DATA_DIR=${embedded?.dataDir ?? ''} npx toncenter-etl sql "${LAST_BLOCKS.trim().replaceAll(/\s+/g, ' ')}"
  ETL_DATA_DIR=${embedded?.dataDir ?? ''} npx toncenter-etl status`);
}

async function show(database: Store['database'], title: string, query: string): Promise<void> {
  const { columns, rows } = await runSql(database, query, { write: false });
  console.log(
    `\n${title}\n${formatTable(
      columns,
      rows.map((row) => row.map((cell) => cell ?? '')),
    )}`,
  );
}
