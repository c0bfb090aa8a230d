import { openCrawl, openStore, requireBaseUrl } from '../app.ts';
import { loadJobs } from '../crawl/load-jobs.ts';
import { runDaemon } from '../daemon/daemon.ts';
import { stopOnSignals } from '../daemon/shutdown.ts';
import { chooseDatasets } from '../dataset.ts';
import { networkName } from '../db/network.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';

/** `sync`: the daemon. Ends with exit 0 when told to stop. */
export async function sync(
  { config, logger }: Invocation,
  flags: { only?: readonly string[] },
): Promise<ExitCode> {
  const datasets = chooseDatasets(flags.only ?? config.datasets, await loadJobs());
  const baseUrl = requireBaseUrl(config);
  const stop = stopOnSignals(logger);
  const store = await openStore(config, logger);
  try {
    const crawl = await openCrawl({ config, store, logger, stop, baseUrl, onPage: () => undefined });
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
      return EXIT.done;
    } finally {
      await crawl.close();
    }
  } finally {
    await store.close();
    stop.dispose();
  }
}
