import type { Command } from 'commander';
import { openCrawl } from '../app/open-crawl.ts';
import { openStore } from '../app/open-store.ts';
import {
  systemClock,
  every,
  type Clock,
  OUTAGE,
  outlast,
  retry,
  type RetryContext,
  type RetryOptions,
} from '../clock.ts';
import { runDaemon } from '../daemon/daemon.ts';
import {
  chooseDatasets,
  piggybackedCollections,
  splitKinds,
  type AnyJob,
  type Collection,
  type Dataset,
} from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { networkName } from '../ledger/stored-settings.ts';
import { nameOfProcess } from '../ledger/workers.ts';
import { EXIT, type ExitCode, isAbort, messageOf, ServerChangedError, UsageError } from '../errors.ts';
import type { Logger } from '../logger.ts';
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
import type { Config } from '../settings/config.ts';
import type { CrawlContext, PageEvent } from '../crawl/crawl-context.ts';
import { followedDatasets, sayReasons } from '../status/readiness.ts';
import { createSnapshots, type Snapshot } from '../status/snapshot.ts';
import { createMetrics } from '../daemon/server/metrics.ts';
import { startStatusServer, type StatusServer } from '../daemon/server/status-server.ts';
import type { ApiClient } from '../api/client.ts';
import type { Stats } from '../api/attempt.ts';
import { formatTime, lengthOf } from '../range.ts';

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

interface ObserveOptions {
  readonly context: CrawlContext;
  readonly subscribe: (listener: (event: PageEvent) => void) => void;
  readonly config: Config;
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  readonly jobs: readonly Dataset<AnyJob>[];
}

/** Shows people and machines the state of a daemon: the status page with its metrics, and a log line each minute. */
async function observe(options: ObserveOptions) {
  const { context, subscribe, config, jobs, collections } = options;
  const { clock, logger, api } = context;
  const datasets = followedDatasets(options.datasets, config.schedules);
  const snapshot = createSnapshots({ context, jobs, datasets, collections, config });
  const metrics = createMetrics(api.stats);
  const summary = createSummaryLoop({ clock, logger, api, snapshot });
  subscribe((event) => {
    metrics.onPage(event);
    summary.onPage(event);
  });
  const server = await serve(config.listen, {
    clock,
    logger,
    metrics,
    snapshot,
    onReadiness: summary.onReadiness,
  });
  const closing = new AbortController();
  const telling = summary.run(closing.signal);
  return {
    /** Address of the status page; undefined if none is served. */
    url: server?.url,
    close: async () => {
      closing.abort();
      await telling;
      await server?.close();
    },
  };
}

/** The crawl matters more than the status page: if the address is taken, the daemon runs without the page. */
async function serve(
  listen: string | undefined,
  options: Omit<Parameters<typeof startStatusServer>[0], 'listen'>,
): Promise<StatusServer | undefined> {
  if (listen === undefined) return undefined;
  try {
    return await startStatusServer({ ...options, listen });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    options.logger.warn({ reason: error.message, hint: error.hint }, 'status page not started');
    return undefined;
  }
}

const PERIOD_MS = 60_000;

interface SummaryOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly api: Pick<ApiClient, 'stats'> & {
    readonly inFlight: Pick<ApiClient['inFlight'], 'isRateBound'>;
  };
  readonly snapshot: () => Promise<Snapshot>;
}

/** Logs what the daemon did, one line a minute, and one more if it becomes ready or is not ready any more. */
export function createSummaryLoop(options: SummaryOptions) {
  const { clock, logger, api, snapshot } = options;
  let rows = 0;
  let last = counted(api.stats);
  let wasReady: boolean | undefined;
  /** Notes the readiness. A change is logged, with the reasons. */
  const onReadiness = (ready: boolean, reasons: readonly string[]) => {
    if (ready === wasReady) return;
    wasReady = ready;
    if (ready) logger.info('ready: everything wanted is there');
    else logger.info({ reason: reasons.join('; ') }, 'not ready: something wanted is missing');
  };
  const tell = async () => {
    const now = counted(api.stats);
    const spent = {
      requests: now.requests - last.requests,
      refused: now.refused - last.refused,
      retries: now.retries - last.retries,
    };
    const done = { rows, ...spent };
    [rows, last] = [0, now];
    try {
      const current = await snapshot();
      onReadiness(current.readiness.ready, sayReasons(current.readiness, current.at));
      const waitingFor = waitsFor(options, spent.requests, current);
      logger.info(
        { ...done, lag: lagsOf(current), missing: missingOf(current), waitingFor },
        'summary of the last minute',
      );
    } catch (error) {
      onReadiness(false, [messageOf(error)]);
      logger.info(
        { ...done, waitingFor: 'the database', reason: messageOf(error) },
        'summary of the last minute',
      );
    }
  };
  return {
    onReadiness,
    onPage: ({ records }: PageEvent) => {
      rows += records;
    },
    run: (signal: AbortSignal) => every(clock, { pauseMs: PERIOD_MS, signal, isLater: true }, tell),
  };
}

function counted({ requests, refused, retries }: Stats) {
  return { requests, refused, retries };
}

/** Seconds behind the clock, for each dataset that follows the head. */
function lagsOf({ datasets, lagLimits }: Snapshot): Readonly<Record<string, number | null>> {
  const followed = datasets.filter(({ dataset }) => dataset in lagLimits);
  return Object.fromEntries(followed.map(({ dataset, lag }) => [dataset, lag]));
}

/** Seconds of the past that are wanted and not stored, for all datasets together. */
function missingOf({ datasets }: Snapshot): number {
  return datasets.reduce((sum, { missing }) => sum + lengthOf(missing), 0);
}

/** What the daemon waits for; undefined if nothing blocks it. */
function waitsFor(
  { api }: SummaryOptions,
  requests: number,
  { spending, head, disk, at }: Snapshot,
): string | undefined {
  if (disk !== null && disk.free < disk.minFree) return 'free disk space (ETL_MIN_FREE)';
  const paused = Math.max(0, ...spending.budgets.map((budget) => budget.paused));
  if (paused > 0)
    return `the end of a pause that the API requested, until ${formatTime(Math.ceil(at + paused))}`;
  if (api.inFlight.isRateBound(requests, PERIOD_MS)) return 'the budget';
  return head?.waitingFor ?? undefined;
}
