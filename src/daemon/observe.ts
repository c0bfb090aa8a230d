import type { Config } from '../settings/config.ts';
import type { CrawlContext, PageEvent } from '../crawl/crawl-context.ts';
import type { AnyJob, Collection, Dataset } from '../dataset/dataset.ts';
import { UsageError, messageOf } from '../errors.ts';
import { followedDatasets, sayReasons } from '../status/readiness.ts';
import { createSnapshots, type Snapshot } from '../status/snapshot.ts';
import { createMetrics } from './server/metrics.ts';
import { startStatusServer, type StatusServer } from './server/status-server.ts';
import type { ApiClient } from '../api/client.ts';
import type { Stats } from '../api/exchange.ts';
import { every, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { formatTime, lengthOf } from '../range.ts';

interface ObserveOptions {
  readonly context: CrawlContext;
  readonly subscribe: (listener: (event: PageEvent) => void) => void;
  readonly config: Config;
  /** The streams that the daemon reads. */
  readonly datasets: readonly Dataset[];
  /** The collections that it reads. */
  readonly collections: readonly Collection[];
  /** All datasets that exist. */
  readonly jobs: readonly Dataset<AnyJob>[];
}

/** Shows people and machines the state of a daemon: the status page with its metrics, and a log line each minute. */
export interface Observation {
  /** Address of the status page; undefined if none is served. */
  readonly url: string | undefined;
  close(): Promise<void>;
}

export async function observe(options: ObserveOptions): Promise<Observation> {
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

/** Milliseconds between two lines. */
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
interface SummaryLoop {
  onPage(event: PageEvent): void;
  /** Notes the readiness. A change is logged, with the reasons. */
  readonly onReadiness: (ready: boolean, reasons: readonly string[]) => void;
  run(signal: AbortSignal): Promise<void>;
}

export function createSummaryLoop(options: SummaryOptions): SummaryLoop {
  const { clock, logger, api, snapshot } = options;
  let rows = 0;
  let last = counted(api.stats);
  let wasReady: boolean | undefined;
  const onReadiness: SummaryLoop['onReadiness'] = (ready, reasons) => {
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
    onPage: ({ records }) => {
      rows += records;
    },
    run: (signal) => every(clock, { pauseMs: PERIOD_MS, signal, isLater: true }, tell),
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
