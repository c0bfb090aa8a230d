import type { Config } from '../settings/config.ts';
import type { CrawlContext, PageEvent } from '../crawl/crawl-context.ts';
import type { AnyJob, Collection, Dataset } from '../dataset/dataset.ts';
import { UsageError } from '../errors.ts';
import { followedDatasets } from '../status/readiness.ts';
import { createSnapshots } from '../status/snapshot.ts';
import { createMetrics } from './server/metrics.ts';
import { startStatusServer, type StatusServer } from './server/status-server.ts';
import { createSummaryLoop } from './summary-loop.ts';

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
