import { openCrawl, openSource } from '../app/open-crawl.ts';
import { openStore } from '../app/open-store.ts';
import { runBackfill, type BackfillReport } from '../backfill/run-backfill.ts';
import { systemClock, unixSeconds } from '../clock.ts';
import { readConfig } from '../settings/config.ts';
import { streamsOf } from '../crawl/streams/planner.ts';
import {
  chooseDatasets,
  needsRange,
  piggybackedCollections,
  splitKinds,
  type Dataset,
} from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { readMissing } from '../ledger/stored-coverage.ts';
import { createLogger } from '../logger.ts';
import { parseRange, union, type Range } from '../range.ts';

export { EtlError } from '../errors.ts';
export type { Range } from '../range.ts';
export { formatAddress, parseAddress } from '../ton/address.ts';

/** Times as on the command line: `2026-11-01`, `2026-11-01T10:00Z`, unix seconds, `-6h`, `now`. */
interface WantedTimes {
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
}

export interface BackfillOptions extends WantedTimes {
  /** Names of datasets, `core` or `all`. Default: `ETL_DATASETS`. */
  readonly only?: readonly string[];
  /** Ends the run after the current page. What was read is kept. */
  readonly signal?: AbortSignal;
}

/** A database of this program, and the API that fills it. */
export interface Index {
  /** A connection string for any Postgres client, valid while the index is open. */
  readonly databaseUrl: string;
  /**
   * The parts of a range that are not covered for a dataset, in unix seconds, oldest first, over all of its pools.
   * Empty if the database has all of it.
   */
  missing(dataset: string, wanted: WantedTimes): Promise<Range[]>;
  /**
   * Covers a range once, as the command does. It resumes, and sends no request for what is covered. Returns true if
   * all of the range is covered.
   */
  backfill(options: BackfillOptions): Promise<boolean>;
  close(): Promise<void>;
}

/** A directory without `.env`: a library takes its settings only from its caller. */
const NO_DIRECTORY = '/dev/null';

/**
 * Opens the database that the settings name (`DATABASE_URL`, …; without one, the embedded server), and brings its
 * schema up to date. README.md lists the settings; neither the environment nor `.env` is read.
 * @throws EtlError with a `hint` and a `code`, as the commands do
 */
export async function openIndex(settings: Readonly<Record<string, string>> = {}): Promise<Index> {
  const config = readConfig({ LOG_LEVEL: 'warn', ...settings }, NO_DIRECTORY);
  const logger = createLogger({ level: config.logLevel, format: config.logFormat });
  const store = await openStore(config, logger, 'toncenter-etl library');
  const all = await loadDatasets();
  const known = splitKinds(all);
  return {
    databaseUrl: store.url,
    async missing(name, { from, to }) {
      const [dataset] = splitKinds(chooseDatasets([name], all)).streams;
      return dataset === undefined ? [] : missingOf(dataset, parseRange(from, to, unixSeconds(systemClock)));
    },
    async backfill({ only = config.datasets, signal = new AbortController().signal, from, to }) {
      const { streams, collections } = splitKinds(chooseDatasets(only, all));
      const source = await openSource(config, store, 'still');
      const stop = { finishing: signal, leaving: signal };
      try {
        const crawl = await openCrawl({ config, logger, store, stop, baseUrl: source.baseUrl });
        const hasRange = streams.length > 0 || collections.some(needsRange);
        const run = {
          ...{ jobs: known.streams, datasets: streams, collections, stop },
          piggybacked: piggybackedCollections(known.collections),
          wanted: hasRange ? parseRange(from, to, unixSeconds(systemClock)) : undefined,
          delaySeconds: config.watermarkDelaySeconds,
          choices: config.choices,
          attempts: config.attempts,
          again: false,
          dryRun: false,
        };
        return await runBackfill({ ...crawl, ...run }, SILENT).finally(() => crawl.close());
      } finally {
        await source.close();
      }
    },
    close: () => store.close(),
  };

  async function missingOf(dataset: Dataset, range: Range): Promise<Range[]> {
    const streams = await streamsOf(store.database, dataset);
    const missing = await Promise.all(streams.map((stream) => readMissing(store.database, stream, [range])));
    return union(...missing);
  }
}

const SILENT: BackfillReport = {
  onReadable: () => Promise.resolve(),
  onStreams: () => Promise.resolve({ replaceLeft: () => undefined, end: () => undefined }),
  onCovered: () => undefined,
  onCollections: () => undefined,
};
