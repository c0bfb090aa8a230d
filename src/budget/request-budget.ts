import { setImmediate } from 'node:timers/promises';
import PQueue from 'p-queue';
import { IncompleteError } from '../errors.ts';
import type { Clock } from '../clock.ts';

/**
 * The right to send requests. The API counts the requests of all keys and processes of a network. So every
 * sender asks here first and reports the outcome. From that, the budget learns the possible rate.
 */
export interface Budget {
  /**
   * Resolves when one request may be sent. The caller sends it at once, without slow work in between. The
   * more urgent request goes first. Rejects with the signal's reason as soon as it is aborted.
   */
  take(priority: Priority, signal: AbortSignal): Promise<void>;
  /**
   * Reports that the server refused a request because of the rate (429), or asked for a pause (`Retry-After`,
   * in milliseconds from now). No request is sent until the pause is over, and later ones are slower.
   * `elapsedMs`: the time since `take` resolved for this request.
   */
  refused(retryAfterMs: number | undefined, elapsedMs?: number): void | Promise<void>;
  /**
   * Reports that the server let a request through, whatever else it answered. `elapsedMs`: the time since
   * `take` resolved for it. By now the server has certainly counted the request.
   */
  succeeded(elapsedMs: number): void | Promise<void>;
  /** Unix milliseconds at which a pause of more than a minute ends, if the server has asked for one. */
  pausedUntil?(): number | undefined;
}

/** A budget that ends after `most` requests: the next request gets an IncompleteError. */
export function createCappedBudget(budget: Budget, most: number): Budget {
  let left = most;
  return {
    async take(priority, signal) {
      if (left <= 0) {
        throw new IncompleteError(`all ${most} requests of --max-requests are spent`, {
          hint: 'What was read is kept. The same command continues from there.',
        });
      }
      left -= 1;
      await budget.take(priority, signal);
    },
    pausedUntil: () => budget.pausedUntil?.(),
    refused: (retryAfterMs, elapsedMs) => budget.refused(retryAfterMs, elapsedMs),
    succeeded: (elapsedMs) => budget.succeeded(elapsedMs),
  };
}

/**
 * The purpose of a request, the most urgent first: the head of the chain, ranges found missing, history, and
 * second readings of rows that may have changed.
 */
export const PRIORITIES = ['tail', 'repair', 'backfill', 'refresh'] as const;

export type Priority = (typeof PRIORITIES)[number];

/** 0 for the most urgent. */
export function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

/** The head start of each priority over the next one in a queue, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * The priority of a request in a queue that serves the greatest number first. The more urgent request goes first,
 * unless the other one came ten seconds earlier for each rank between them. So no request waits without end.
 */
export function urgencyOf(priority: Priority, { monotonic }: Pick<Clock, 'monotonic'>): number {
  return -(monotonic() + PATIENCE_MS * rankOf(priority));
}

/** Counts by priority; a missing priority means 0. */
export type Counts = Partial<Readonly<Record<Priority, number>>>;

export function addCounts(a: Counts, b: Counts): Counts {
  return Object.fromEntries(
    PRIORITIES.map((priority) => [priority, (a[priority] ?? 0) + (b[priority] ?? 0)] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}

/** Maximum number of requests in flight, however slow the source is: 25 requests a second at three seconds each. */
export const MOST_IN_FLIGHT = 120;
/** One request in flight while the rows of another one are written. */
const LEAST = 2;
/** The target before the first answer: at most this, and as many as answers in half a second need. */
const START = 8;
const FIRST_MS = 500;
/** For the time between two leases, and for some requests that wait for the next slot. */
const HEADROOM = 1.5;
/** The number of latest answers whose mean latency counts. */
const REMEMBERED = 48;
/** If more than this share of the latest attempts failed, the target shrinks by the factor `CUT`. */
const MOST_FAILED = 1 / 8;
const CUT = 0.7;
/** The factor by which the target grows again after attempts with fewer failures. */
const RECOVERY = 1.25;
/** Minimum number of attempts before failures are judged. */
const FEWEST_JUDGED = 8;
/** Above this share of the allowed rate, a process waits for slots. */
const NEARLY_ALL = 0.8;
/** Memory slots for bodies that are released as soon as they are read. */
const BRIEF = 4;
/**
 * Memory slots for bodies, from the first byte to the commit of their rows: some megabytes each. TCP
 * backpressure holds the others.
 */
const BODIES = 8;

export type InFlight = ReturnType<typeof createInFlight>;

/**
 * One request from its send to the commit of its rows. After a failure it may be sent again. The code that
 * opens it ends it, whatever the outcome.
 */
export type Flight = ReturnType<InFlight['open']>;

/** The requests that other processes have in flight. */
export interface OtherReaders {
  readonly requests: number;
  readonly processes: number;
}

interface InFlightOptions {
  /** Allowed requests a second. */
  readonly rps: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * How many requests should be in flight: the allowed rate times the latency (Little's law), with some
 * headroom, and fewer while the source fails.
 */
export function createInFlight({ rps, clock }: InFlightOptions) {
  const [bodies, brief] = [new PQueue({ concurrency: BODIES }), new PQueue({ concurrency: BRIEF })];
  const reading = new PQueue({ concurrency: 1 });
  let count = 0;
  // If answers wait for memory slots, this process is slower than the source: more requests would only wait, too.
  const { note, target, ...shares } = createPace(rps, () => Math.ceil((count - bodies.size) * HEADROOM));
  return {
    ...shares,
    /**
     * The target of all processes. A request counts from its send to the commit of its rows, without the wait
     * for a budget slot.
     */
    get target() {
      return target();
    },
    /** The number of requests in flight. */
    get count() {
      return count;
    },
    /** The number of answered requests that are being received, read or written. */
    get processing() {
      return bodies.pending;
    },
    /** True if this many requests in this many milliseconds use nearly all of the allowed rate. */
    isRateBound: (requests: number, ms: number) => requests * 1000 > NEARLY_ALL * rps * ms,
    /** Requests a second in a share of the allowed rate. */
    rateOf: (share: number) => share * rps,
    /**
     * Opens a request that is about to be sent. `isBrief`: its answer is released as soon as it is read. Such
     * answers have memory slots of their own. Code that holds a page until its commit may have to send more
     * requests meanwhile. If pages held all slots, they would wait for each other forever. Default: false.
     */
    open(priority: Priority, isBrief = false) {
      let [sentAt, waitedMs]: [number | undefined, number] = [undefined, 0];
      let leave: (() => void) | undefined;
      const land = (isAnswer: boolean, isTrouble: boolean) => {
        leave?.();
        leave = undefined;
        if (sentAt === undefined) return;
        count -= 1;
        if (isAnswer || isTrouble) note(isTrouble ? undefined : clock.monotonic() - sentAt - waitedMs);
        sentAt = undefined;
      };
      return {
        sent: () => {
          [sentAt, waitedMs] = [clock.monotonic(), 0];
          count += 1;
        },
        /**
         * Called when the status is known: waits for a memory slot, the most urgent first. Rejects with the
         * signal's reason if aborted.
         */
        arrived: async (signal: AbortSignal) => {
          const began = clock.monotonic();
          leave = await enter(isBrief ? brief : bodies, urgencyOf(priority, clock), signal);
          waitedMs += clock.monotonic() - began;
        },
        /**
         * Reads a body, which takes milliseconds of CPU: one body after another, the most urgent first, so that the
         * values of one body alone are in memory. `turn` lets timers fire in between, so that no slot of the budget is missed.
         */
        read: <T>(work: (turn: () => Promise<void>) => Promise<T>): Promise<T> =>
          reading.add(() => work(() => setImmediate()), { priority: urgencyOf(priority, clock) }),
        /** Notes a failed attempt. `isTrouble`: the source is overloaded or down. */
        failed: (isTrouble: boolean) => land(false, isTrouble),
        /** Its rows are written, or not wanted. */
        end: () => land(true, false),
        /** Milliseconds for which the last attempt waited for a memory slot. */
        get waitedMs() {
          return waitedMs;
        },
      };
    },
  };
}

function wantedFor(rps: number, latencyMs: number): number {
  const wanted = Math.ceil((rps * latencyMs * HEADROOM) / 1000) + 1;
  return Math.min(MOST_IN_FLIGHT, Math.max(LEAST, wanted));
}

/** Learns the target from the answers, and divides it between processes. `useful`: more of its own would only wait. */
function createPace(rps: number, useful: () => number) {
  const latest: number[] = [];
  let [sumMs, factor, attempts, failures] = [0, 1, 0, 0];
  let others: OtherReaders = { requests: 0, processes: 0 };
  let isIdle = false;
  const wanted = () => {
    if (latest.length === 0) return Math.min(START, wantedFor(rps, FIRST_MS));
    // The mean and not the median: most requests are small, but the large ones must be in flight for as long as they take.
    return Math.min(wantedFor(rps, sumMs / latest.length), Math.max(START, useful() + others.requests));
  };
  const target = () => Math.max(LEAST, Math.floor(wanted() * factor));
  /** An even share for each process that reads. */
  const evenShare = () => Math.ceil(target() / (1 + others.processes));
  return {
    target,
    /** Notes the latency of an answer; undefined if the source is in trouble. */
    note: (ms: number | undefined) => {
      sumMs += ms ?? 0;
      if (ms !== undefined && latest.push(ms) > REMEMBERED) sumMs -= latest.shift() ?? 0;
      attempts += 1;
      failures += ms === undefined ? 1 : 0;
      if (attempts < Math.max(FEWEST_JUDGED, target())) return;
      // Shrinks the target while the source fails, as TCP does after a lost packet.
      factor = failures > MOST_FAILED * attempts ? factor * CUT : Math.min(1, factor * RECOVERY);
      factor = Math.max(LEAST / MOST_IN_FLIGHT, factor);
      [attempts, failures] = [0, 0];
    },
    evenShare,
    /** What other processes leave of the target, at least an even share. */
    share: () => Math.max(target() - others.requests, evenShare()),
    /** Notes the current requests of other processes. */
    noteOthers: (readers: OtherReaders) => void (others = readers),
    /** The last such note. `isIdle`: other processes read all that is left, and this one has nothing to do. */
    others: () => ({ ...others, isIdle }),
    /** Notes whether other processes have leased all that is left. */
    noteIdle: (value: boolean) => void (isIdle = value),
  };
}

/** Resolves when a queue has room. The slot is taken until the returned function is called. */
function enter(queue: PQueue, priority: number, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((leave) => resolve(leave));
    queue.add(hold, { priority, signal }).catch(reject);
  });
}

/**
 * Works on all items, on as many at once as requests should be in flight. Results keep the order of the
 * items. After a failure no work is started, and running work is awaited.
 * @throws the first error of any item
 */
export async function allInFlight<T, R>(
  inFlight: Pick<InFlight, 'target'>,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const queue = new PQueue({ concurrency: inFlight.target });
  let failure: { readonly error: unknown } | undefined;
  const run = async (item: T) => {
    queue.concurrency = inFlight.target;
    if (failure !== undefined) throw failure.error;
    try {
      return await work(item);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };
  const running = items.map((item) => queue.add(() => run(item)));
  await Promise.allSettled(running);
  return Promise.all(running);
}
