import type { Command } from 'commander';
import { openCrawl } from '../app/open-crawl.ts';
import { openStore } from '../app/open-store.ts';
import { systemClock } from '../clock.ts';
import { runDaemon } from '../daemon/daemon.ts';
import { observe } from '../daemon/observe.ts';
import { chooseDatasets, piggybackedCollections, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { networkName } from '../ledger/stored-network.ts';
import { nameOfProcess } from '../ledger/worker-name.ts';
import { EXIT, type ExitCode, isAbort, messageOf, ServerChangedError, UsageError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { OUTAGE, outlast, retry, type RetryContext, type RetryOptions } from '../retry.ts';
import type { Schedule } from '../settings/schedule.ts';
import { datasetList, examples } from './option-words.ts';
import {
  askHost,
  closeAfter,
  type Invocation,
  type OpenedHost,
  runCommand,
  withStop,
} from './run-command.ts';

export function defineSync(command: Command): void {
  command
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, separated by commas', datasetList)
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl sync',
        'ETL_SINCE=-7d toncenter-etl sync --only blocks,transactions',
        '# a simulated network, no key, no internet:',
        'TONCENTER_NETWORK=demo ETL_DATA_DIR=./demo toncenter-etl sync',
      ),
    )
    .action((flags: SyncFlags) => runCommand((invocation) => sync(invocation, flags)));
}

interface SyncFlags {
  readonly only?: readonly string[];
  readonly record?: string;
}

/**
 * `sync`: the daemon. It waits if the database or the API cannot be reached, and exits with 0 when it is stopped. If
 * another server replaces the database, it starts again from what that one has.
 */
async function sync(invocation: Invocation, { only, record }: SyncFlags): Promise<ExitCode> {
  const { config, logger } = invocation;
  const jobs = await loadDatasets();
  const { streams: datasets, collections } = splitKinds(chooseDatasets(only ?? config.datasets, jobs));
  requireScheduled(config.schedules, datasets);
  const piggybacked = piggybackedCollections(splitKinds(jobs).collections);
  const owner = nameOfProcess();
  return withStop(logger, async (stop) => {
    const { finishing: signal } = stop;
    const waiting = { clock: systemClock, random: Math.random, attempts: Infinity, logger, signal };
    const open = () => openStore({ ...config, attempts: 1 }, logger, undefined, { migrates: true });
    const follow = async (opened: OpenedHost) => {
      const asked = { config, logger, record, owner, ...opened };
      const crawl = await outlast(waiting, 'the API', () => openCrawl(asked));
      if (crawl === undefined) return;
      await closeAfter(crawl, async () =>
        closeAfter(await observe({ ...crawl, config, datasets, collections, jobs }), async (observation) => {
          const started = {
            database: opened.store.database.label,
            network: networkName(crawl.chain.globalId),
            datasets: [...datasets, ...collections].map(({ name }) => name),
            since: config.since,
            rps: config.rps,
            status: observation.url,
          };
          logger.info(started, 'daemon started');
          await runDaemon({ ...crawl, datasets, collections, piggybacked, config, stop });
          logger.info('daemon stopped');
        }),
      );
    };
    await onEachServer(waiting, async () => {
      const store = await outlast(waiting, 'the database', open);
      if (store !== undefined)
        await closeAfter(store, () => askHost(invocation, { store, stop, demo: 'live' }, follow));
    });
    return EXIT.done;
  });
}

/** Runs, and runs again if another server has replaced the one that it wrote to: no state in memory survives. */
async function onEachServer(
  waiting: RetryContext & { readonly logger: Logger; readonly signal: AbortSignal },
  run: () => Promise<void>,
): Promise<void> {
  const when = (error: unknown) => error instanceof ServerChangedError;
  const onRetry: RetryOptions['onRetry'] = ({ error }) =>
    waiting.logger.warn(
      { reason: messageOf(error), hint: error instanceof ServerChangedError ? error.hint : undefined },
      'database server changed; restarting from what the new one holds',
    );
  try {
    await retry({ ...OUTAGE, ...waiting, when, onRetry }, run);
  } catch (error) {
    if (!waiting.signal.aborted || !isAbort(error)) throw error;
  }
}

/** @throws UsageError if a schedule names a dataset that this daemon does not read, or one without ranges */
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
