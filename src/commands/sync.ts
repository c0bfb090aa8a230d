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
  const { datasets, collections, piggybacked, stop } = errand;
  const crawl = await openPatiently(invocation, errand);
  if (crawl === undefined) return;
  try {
    const watched = await watch(invocation, errand, crawl);
    try {
      logger.info(startOf(invocation, errand, crawl, watched.url), 'daemon started');
      await runDaemon({ ...crawl, datasets, collections, piggybacked, config, stop });
      logger.info('daemon stopped');
    } finally {
      await watched.close();
    }
  } finally {
    await crawl.close();
  }
}
