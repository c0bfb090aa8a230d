import { openCrawl } from '../app/open-crawl.ts';
import { systemClock } from '../clock.ts';
import { createAcknowledged } from '../daemon/acknowledged.ts';
import { runDaemon } from '../daemon/daemon.ts';
import { observe } from '../daemon/observe.ts';
import { chooseDatasets, piggybackedCollections, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { networkName } from '../db/connection/network.ts';
import { nameOfProcess } from '../db/coordination/worker-name.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import type { Schedule } from '../settings/schedule.ts';
import { outlast } from '../retry.ts';
import type { Invocation } from './command.ts';
import { withSource } from './with-source.ts';

interface SyncFlags {
  readonly only?: readonly string[];
  readonly record?: string;
}

/**
 * `sync`: the daemon. It waits for a database or an API that is away, and ends with exit 0 when stopped. Where another
 * server has taken the database's place it begins anew, from what that one holds.
 */
export async function sync(invocation: Invocation, { only, record }: SyncFlags): Promise<ExitCode> {
  const { config, logger } = invocation;
  const jobs = await loadDatasets();
  const { streams: datasets, collections } = splitKinds(chooseDatasets(only ?? config.datasets, jobs));
  requireScheduled(config.schedules, datasets);
  const piggybacked = piggybackedCollections(splitKinds(jobs).collections);
  const owner = nameOfProcess();
  const acknowledged = createAcknowledged(owner);
  return withSource(invocation, { demo: 'live', migrates: true, isPatient: true }, async (opened) => {
    const { store, stop } = opened;
    const waiting = { clock: systemClock, random: Math.random, attempts: Infinity, logger };
    const crawl = await outlast({ ...waiting, signal: stop.finishing }, 'the API', () =>
      openCrawl({ config, logger, record, owner, ...opened }),
    );
    if (crawl === undefined) return EXIT.done;
    crawl.subscribe(acknowledged.add);
    try {
      await outlast({ ...waiting, signal: stop.finishing }, 'the database', () =>
        acknowledged.compare(store.database, logger),
      );
      const observation = await observe({ ...crawl, config, datasets, collections, jobs });
      try {
        const started = {
          database: store.database.label,
          network: networkName(crawl.chain.globalId),
          datasets: [...datasets, ...collections].map(({ name }) => name),
          since: config.since,
          rps: config.rps,
          status: observation.url,
        };
        logger.info(started, 'daemon started');
        await runDaemon({ ...crawl, datasets, collections, piggybacked, config, stop });
        logger.info('daemon stopped');
      } finally {
        await observation.close();
      }
    } finally {
      await crawl.close();
    }
    return EXIT.done;
  });
}

/** @throws UsageError if a schedule names a dataset that this daemon does not keep, or one that has no ranges */
function requireScheduled(
  schedules: readonly Schedule[],
  datasets: readonly { readonly name: string }[],
): void {
  const kept = new Set(['core', 'all', ...datasets.map(({ name }) => name)]);
  const other = schedules.flatMap(({ only = [] }) => only).find((name) => !kept.has(name));
  if (other === undefined) return;
  throw new UsageError(
    `ETL_SCHEDULE names ${other}, which is not one of the streams that this daemon reads`,
    {
      hint: `Add it to ETL_DATASETS. This daemon reads the streams ${datasets.map(({ name }) => name).join(', ')}.`,
    },
  );
}
