import type { ApiClient } from '../api/client.ts';
import type { Stats } from '../api/stats.ts';
import { every, type Clock } from '../clock.ts';
import type { PageEvent } from '../crawl/crawl-context.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { formatTime, lengthOf } from '../range.ts';
import { sayReasons } from '../status/readiness.ts';
import type { Snapshot } from '../status/snapshot.ts';

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
export interface SummaryLoop {
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
