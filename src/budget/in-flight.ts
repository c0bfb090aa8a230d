import { setImmediate } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { Clock } from '../clock.ts';
import { urgencyOf, type Priority } from './priority.ts';

/** More than this is not under way at once, however slow the source: 25 requests a second at three seconds each. */
export const MOST_IN_FLIGHT = 120;
/** One request on its way while the rows of another are written. */
const LEAST = 2;
/** Before anything was answered: no more than this, and as many as answers in half a second need. */
const START = 8;
const FIRST_MS = 500;
/** For the time between two leases, and for some that wait for the next slot. */
const HEADROOM = 1.5;
/** The latest answers, of which the mean latency is taken. */
const REMEMBERED = 48;
/** If more than this part of the latest attempts failed, the target becomes smaller, to this part of it. */
const MOST_FAILED = 1 / 8;
const CUT = 0.7;
/** How much of a cut comes back after as many attempts of which fewer failed. */
const RECOVERY = 1.25;
/** Attempts after which failures are judged, at least. */
const FEWEST_JUDGED = 8;
/** A process that sends more than this part of the allowed rate waits for it. */
const NEARLY_ALL = 0.8;
/** Bodies at once in memory that are let go as soon as they are read. */
const BRIEF = 4;
/** Bodies at once in memory, from the first byte to the commit of their rows: some megabytes each. TCP holds back the others. */
const BODIES = 8;

/**
 * How many requests should be under way at once: the allowed rate times the time that one takes (Little's law), with some
 * headroom, and fewer while the source fails.
 */
export interface InFlight extends Shares {
  /** Of all processes. From the send of a request to the commit of its rows, without the wait for a slot of the budget. */
  readonly target: number;
  /** How many are. */
  readonly underWay: number;
  /** How many of them are answered, and are being received, read or written. */
  readonly workedOn: number;
  /** True if so many requests, sent in so many milliseconds, leave next to nothing of the allowed rate. */
  readonly isRateBound: (requests: number, ms: number) => boolean;
  /**
   * A request that is about to be sent. `isBrief`: its answer is let go as soon as it is read. Such answers have places of
   * their own: the code that holds a page until its commit may have to ask for more meanwhile, and pages that hold all
   * places would wait for each other forever. Default: false.
   */
  open(priority: Priority, isBrief?: boolean): Flight;
}

/**
 * One request from its send to the commit of its rows; after a failure it may be sent again. The code that opens it ends it,
 * whatever came of it.
 */
export interface Flight {
  sent(): void;
  /**
   * The status is here: waits for a place in memory, the most urgent first. Rejects with the signal's reason when that is
   * aborted.
   */
  arrived(signal: AbortSignal): Promise<void>;
  /**
   * Before work that takes milliseconds of CPU: waits until no other work has this turn of the event loop. Between two
   * turns timers are on time, so no slot of the budget passes unused while pages are read.
   */
  turn(): Promise<void>;
  /** The attempt was in vain. `isTrouble`: because the source is overloaded or away. */
  failed(isTrouble: boolean): void;
  /** Its rows are written, or are not wanted. */
  end(): void;
  /** Milliseconds for which the last attempt waited for a place in memory. */
  readonly waitedMs: number;
}

/** What other processes have under way. */
export interface OtherReaders {
  readonly requests: number;
  readonly processes: number;
}

/** The part of the target that is this process's own. */
interface Shares {
  /** What others leave of it, and an even part at least. */
  share(): number;
  /** An even part, for each process that reads. */
  evenShare(): number;
  /** Who else sends requests just now. */
  beside(others: OtherReaders): void;
  /** What was last said of them; `isIdle`: they read all that is left, and nothing is to be done here. */
  others(): OtherReaders & { readonly isIdle: boolean };
  /** Tells whether all that is left is in other processes' hands. */
  rest(isIdle: boolean): void;
}

interface InFlightOptions {
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export function createInFlight({ rps, clock }: InFlightOptions): InFlight {
  const bodies = new PQueue({ concurrency: BODIES });
  const brief = new PQueue({ concurrency: BRIEF });
  const latency = createLatency();
  const care = createCare();
  const turn = createTurns();
  let underWay = 0;
  const target = () => {
    const meanMs = latency.meanMs();
    const first = Math.min(START, wantedFor(rps, FIRST_MS));
    return care.of(meanMs === undefined ? first : wantedFor(rps, meanMs));
  };
  const open = (priority: Priority, isBrief = false): Flight => {
    let [sentAt, waitedMs]: [number | undefined, number] = [undefined, 0];
    let leave: (() => void) | undefined;
    const land = (isAnswer: boolean, isTrouble: boolean) => {
      leave?.();
      leave = undefined;
      if (sentAt === undefined) return;
      underWay -= 1;
      if (isAnswer) latency.add(clock.monotonic() - sentAt - waitedMs);
      if (isAnswer || isTrouble) care.tell(isTrouble, target());
      sentAt = undefined;
    };
    return {
      sent: () => {
        [sentAt, waitedMs] = [clock.monotonic(), 0];
        underWay += 1;
      },
      arrived: async (signal) => {
        const began = clock.monotonic();
        leave = await enter(isBrief ? brief : bodies, urgencyOf(priority, clock), signal);
        waitedMs += clock.monotonic() - began;
      },
      turn,
      failed: (isTrouble) => land(false, isTrouble),
      end: () => land(true, false),
      get waitedMs() {
        return waitedMs;
      },
    };
  };
  return {
    ...createShares(target),
    get target() {
      return target();
    },
    get underWay() {
      return underWay;
    },
    get workedOn() {
      return bodies.pending;
    },
    isRateBound: (requests, ms) => requests * 1000 > NEARLY_ALL * rps * ms,
    open,
  };
}

function wantedFor(rps: number, latencyMs: number): number {
  const wanted = Math.ceil((rps * latencyMs * HEADROOM) / 1000) + 1;
  return Math.min(MOST_IN_FLIGHT, Math.max(LEAST, wanted));
}

/** The mean, and not the median: small requests are many, and as many large ones have to be under way as they take time. */
function createLatency() {
  const latest: number[] = [];
  let sum = 0;
  return {
    add: (ms: number) => {
      sum += ms;
      if (latest.push(ms) > REMEMBERED) sum -= latest.shift() ?? 0;
    },
    meanMs: () => (latest.length === 0 ? undefined : sum / latest.length),
  };
}

/** Makes a target smaller while the source fails, as a lost packet does in TCP. */
function createCare() {
  let [factor, attempts, failures] = [1, 0, 0];
  return {
    of: (target: number) => Math.max(LEAST, Math.floor(target * factor)),
    tell: (isTrouble: boolean, target: number) => {
      attempts += 1;
      failures += Number(isTrouble);
      if (attempts < Math.max(FEWEST_JUDGED, target)) return;
      factor = failures > MOST_FAILED * attempts ? factor * CUT : Math.min(1, factor * RECOVERY);
      factor = Math.max(LEAST / MOST_IN_FLIGHT, factor);
      [attempts, failures] = [0, 0];
    },
  };
}

/** Resolves when there is room in a queue, which stays taken until the returned function is called. */
function enter(queue: PQueue, priority: number, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((leave) => resolve(leave));
    queue.add(hold, { priority, signal }).catch(reject);
  });
}

function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => setImmediate());
    return last;
  };
}

function createShares(target: () => number): Shares {
  let others: OtherReaders = { requests: 0, processes: 0 };
  let isIdle = false;
  const evenShare = () => Math.ceil(target() / (1 + others.processes));
  return {
    evenShare,
    share: () => Math.max(target() - others.requests, evenShare()),
    beside: (readers) => {
      others = readers;
    },
    others: () => ({ ...others, isIdle }),
    rest: (value) => {
      isIdle = value;
    },
  };
}

/**
 * Works on all items, on as many at once as requests should be in flight. Results are in the order of the items. After a
 * failure none is begun, and those under way are waited for.
 * @throws the first error of any
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
