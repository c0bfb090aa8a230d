import { runWorkerPool } from '../crawl/streams/worker-pool.ts';
import { waitFor, type DaemonContext, type Position } from './daemon-context.ts';
import { wantsOf } from './wants.ts';

const WORKERS = 3;
/** Milliseconds between two searches for a new hole, or for what has matured. */
const IDLE_MS = 2000;
/** One bad range, or an endpoint that this server does not have, must not keep the rest from being read. */
const ON_WRONG_ANSWER = 'refuse';

/** Reads everything older than the tail, and holes wherever they appear. */
export async function runHistoryLoop(options: DaemonContext, position: Position): Promise<void> {
  const { planner } = options;
  await waitFor(options, 'the backfill', () =>
    runWorkerPool({
      ...options,
      workers: WORKERS,
      idleMs: IDLE_MS,
      onWrongAnswer: ON_WRONG_ANSWER,
      isOver: () => Promise.resolve(false),
      take: async () => planner.take(await wantsOf(options, position, 'backfill')),
    }),
  );
}
