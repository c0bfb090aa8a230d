import { readLeases } from '../crawl/streams/read-leases.ts';
import { waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { wantsOf } from './tail-loop.ts';

/** Milliseconds between two searches for a new hole, or for what has matured. */
const IDLE_MS = 2000;

/** Reads everything older than the tail, and holes wherever they appear. */
export async function runHistoryLoop(options: DaemonContext, position: ChainPosition): Promise<void> {
  const { planner } = options;
  await waitFor(options, 'the backfill', (context, isBack) =>
    readLeases({
      ...options,
      context,
      priority: 'backfill',
      idleMs: IDLE_MS,
      isOver: () => Promise.resolve(false),
      take: async (readers) => {
        const taken = await planner.takeSome(await wantsOf(options, position, 'backfill'), readers);
        // Nothing is to be read, so no page will tell.
        if (taken.length === 0) isBack();
        return taken;
      },
    }),
  );
}
