import { createInterruptibleSleep } from '../../budget/interruptible-sleep.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { crawlLease } from './crawl-lease.ts';
import type { IdleReaders } from './read-pages.ts';
import type { Priority } from '../../budget/priority.ts';
import type { Assignment, Planner } from './planner.ts';

/** Milliseconds between two searches for work if none was found. */
const IDLE_MS = 250;

interface ReadLeasesOptions {
  readonly context: CrawlContext;
  readonly stop: Stop;
  readonly planner: Pick<Planner, 'others'>;
  /** The priority of the leases. All processes that read leases of this priority share the readers. */
  readonly priority: Priority;
  /** At most this many next leases for idle readers; empty if nothing is free now. */
  readonly take: (readers: number) => Promise<readonly Assignment[]>;
  /** Called when nothing is free and no reader is busy: false if work may still come. */
  readonly isOver: () => Promise<boolean>;
  /** Milliseconds between two searches for work if none was found; default 250. */
  readonly idleMs?: number;
}

/**
 * Reads as many leases at once as requests should be in flight, counting those of other processes, until
 * nothing is left or `stop` says so. If the API fails for good for one lease, it is refused for a while and
 * logged. If the API or the database is down, all readers end and the error is thrown.
 */
export async function readLeases(options: ReadLeasesOptions): Promise<void> {
  const { context, stop, planner, priority, take, isOver, idleMs = IDLE_MS } = options;
  const { inFlight } = context.api;
  const pause = createInterruptibleSleep(context.clock);
  const readings = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let isStarving = false;
  const idleReaders: IdleReaders = {
    count: () => (isStarving ? Math.max(0, inFlight.evenShare() - readings.size) : 0),
    wake: () => {
      isStarving = false;
      pause.end();
    },
  };
  const fail = (error: unknown) => void failures.push(error);
  const read = (assignment: Assignment) => {
    const reading = crawlLease(context, assignment, { stop, idleReaders })
      .catch(fail)
      .then(() => {
        readings.delete(reading);
        pause.end();
      });
    readings.add(reading);
  };
  const handOut = async () => {
    while (!stop.finishing.aborted && failures.length === 0) {
      if (readings.size < inFlight.target) inFlight.noteOthers(await planner.others(priority));
      const room = Math.ceil(inFlight.share() - readings.size);
      const assignments = room > 0 ? await take(room) : [];
      isStarving = room > 0 && assignments.length === 0;
      inFlight.noteIdle(isStarving && readings.size === 0);
      if (assignments.length > 0) assignments.forEach(read);
      // Another worker's lease may be cut and leave work for this one.
      else if (readings.size === 0 && (await isOver())) return;
      else await pause.sleep(room > 0 ? idleMs : IDLE_MS);
    }
  };
  stop.finishing.addEventListener('abort', idleReaders.wake);
  await handOut().catch(fail);
  stop.finishing.removeEventListener('abort', idleReaders.wake);
  inFlight.noteIdle(false);
  await Promise.all(readings);
  if (failures.length > 0) throw failures[0];
}
