import { openCrawl, type Crawl } from '../app.ts';
import { piggybackedCollections } from '../crawl/collections/read-collections.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { runDaemon } from '../daemon/daemon.ts';
import { createMetrics } from '../daemon/metrics.ts';
import { startStatusServer, type StatusServer } from '../daemon/status-server.ts';
import { followedDatasets } from '../status/readiness.ts';
import { createSnapshots } from '../status/snapshot.ts';
import { chooseDatasets, splitKinds, type AnyJob, type Collection, type Dataset } from '../dataset/dataset.ts';
import { networkName } from '../db/connection/network.ts';
import { EXIT, isAbort, UsageError, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { withSource, type Opened } from './with-source.ts';

interface SyncFlags {
  readonly only?: readonly string[];
  readonly record?: string;
}

/** `sync`: the daemon. Ends with exit 0 when told to stop. */
export async function sync(invocation: Invocation, flags: SyncFlags): Promise<ExitCode> {
  const { config } = invocation;
  const all = await loadDatasets();
  const { streams, collections } = splitKinds(chooseDatasets(flags.only ?? config.datasets, all));
  const known = splitKinds(all);
  const piggybacked = piggybackedCollections(known.collections);
  return withSource(invocation, { demo: 'live' }, async (opened) => {
    const chosen = { datasets: streams, collections, piggybacked };
    try {
      await follow(invocation, { ...opened, ...chosen, jobs: all, record: flags.record });
    } catch (error) {
      // Told to leave while it waited for the API to begin with: a daemon that is stopped has done its work.
      if (!isAbort(error) || !opened.stop.finishing.aborted) throw error;
    }
    return EXIT.done;
  });
}

interface Errand extends Opened {
  /** Every dataset that there is. */
  readonly jobs: readonly Dataset<AnyJob>[];
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  readonly piggybacked: readonly Collection[];
  readonly record: string | undefined;
}

async function follow(invocation: Invocation, errand: Errand): Promise<void> {
  const { config, logger } = invocation;
  const { store, datasets, collections, piggybacked, stop } = errand;
  const crawl = await openCrawl({ config, logger, ...errand });
  try {
    const metrics = createMetrics(crawl.context.api.stats);
    crawl.subscribe((event) => metrics.onPage(event));
    const server = await serve(invocation, errand, crawl, metrics);
    try {
      logger.info(
        {
          database: store.database.label,
          network: networkName(crawl.chain.globalId),
          datasets: [...datasets, ...collections].map(({ name }) => name),
          since: config.since,
          rps: config.rps,
          status: server?.url,
        },
        'daemon started',
      );
      await runDaemon({ ...crawl, datasets, collections, piggybacked, config, stop });
      logger.info('daemon stopped');
    } finally {
      await server?.close();
    }
  } finally {
    await crawl.close();
  }
}

/** Data matter more than the page that tells of them: where its address is taken, the daemon runs without. */
async function serve(
  { config, logger }: Invocation,
  { jobs, datasets }: Errand,
  { context }: Crawl,
  metrics: ReturnType<typeof createMetrics>,
): Promise<StatusServer | undefined> {
  const { listen } = config;
  if (listen === undefined) return undefined;
  try {
    const followed = followedDatasets(datasets, config.schedules);
    const snapshot = createSnapshots({ context, jobs, datasets: followed, config });
    return await startStatusServer({ listen, clock: context.clock, logger, metrics, snapshot });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    logger.warn({ reason: error.message, hint: error.hint }, 'no status page');
    return undefined;
  }
}
