import { openCrawl, openStore, type Store } from '../app.ts';
import { loadJobs } from '../crawl/load-jobs.ts';
import { runDaemon } from '../daemon/daemon.ts';
import { stopOnSignals } from '../daemon/shutdown.ts';
import { chooseDatasets, type Dataset } from '../dataset.ts';
import { networkName } from '../db/network.ts';
import { EXIT, isAbort, type ExitCode } from '../errors.ts';
import { openSource } from '../source.ts';
import type { Stop } from '../stop.ts';
import type { Invocation } from './command.ts';

interface SyncFlags {
  readonly only?: readonly string[];
  readonly record?: string;
}

/** `sync`: the daemon. Ends with exit 0 when told to stop. */
export async function sync(invocation: Invocation, flags: SyncFlags): Promise<ExitCode> {
  const { config, logger } = invocation;
  const datasets = chooseDatasets(flags.only ?? config.datasets, await loadJobs());
  const stop = stopOnSignals(logger);
  const store = await openStore(config, logger);
  try {
    const source = await openSource(config, store, 'live');
    try {
      await follow(invocation, { store, datasets, stop, baseUrl: source.baseUrl, record: flags.record });
    } catch (error) {
      // Told to leave while it waited for the API to begin with.
      if (!isAbort(error) || !stop.leaving.aborted) throw error;
    } finally {
      await source.close();
    }
    return EXIT.done;
  } finally {
    await store.close();
    stop.dispose();
  }
}

interface Errand {
  readonly store: Store;
  readonly datasets: readonly Dataset[];
  readonly stop: Stop;
  readonly baseUrl: string;
  readonly record: string | undefined;
}

async function follow({ config, logger }: Invocation, errand: Errand): Promise<void> {
  const { store, datasets, stop } = errand;
  const crawl = await openCrawl({ config, logger, ...errand, onPage: () => undefined });
  try {
    logger.info(
      {
        database: store.database.label,
        network: networkName(crawl.chain.globalId),
        datasets: datasets.map(({ name }) => name),
        since: config.since,
        rps: config.rps,
      },
      'daemon started',
    );
    await runDaemon({ ...crawl, datasets, config, stop });
    logger.info('daemon stopped');
  } finally {
    await crawl.close();
  }
}
