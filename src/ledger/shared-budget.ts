import type { Budget } from '../budget/request-budget.ts';
import { type Clock, createInterruptibleSleep } from '../clock.ts';
import { addCounts, rankOf, type Counts, type Priority } from '../budget/priority.ts';
import { createWaiters, type Waiters } from '../budget/waiters.ts';
import { refuseSlots, resumeSlots, takeSlots, type Grant, createSlots, type Slots } from './budget-row.ts';
import type { Session } from '../postgres/database.ts';

interface SharedBudgetOptions {
  readonly database: Session;
  /** Host (and port) of the API, which counts the requests. */
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Clock;
  /** Called when a pause of more than a minute begins, with its length in seconds, and with 0 when it ends. */
  readonly onPause?: (seconds: number) => void;
}

/** A budget, and how this process uses it. */
export interface SharedBudget extends Budget {
  /** Requests that are waiting now. */
  waiting(): Counts;
  /** Requests that were sent since the last call. */
  takeSpent(): Counts;
}

const OVERDUE_RANK = rankOf('repair');

/** Every event that matters ends the sleep; a timer holds no more than this. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * The budget of all processes that share a database. Slots come from its row (`etl.take_slots`), several at once if no
 * other process needs them. Each goes to the most urgent waiter of this process when it is due.
 * @throws (from `take` and `refused`) the database's error if it is unreachable
 */
export function createSharedBudget(options: SharedBudgetOptions): SharedBudget {
  const { database, host, clock } = options;
  const pause = createInterruptibleSleep(clock);
  const slots = createSlots();
  let granting = false;
  let spent: Counts = {};
  /** Generation of the slot with which this process probed whether a long pause is over. */
  let probe: number | undefined;
  const grantInTime = async () => {
    granting = true;
    while (waiters.size > 0) {
      const now = clock.monotonic();
      const due = slots.nextDue(now);
      if (due > now) {
        await pause.sleep(Math.min(LONGEST_SLEEP_MS, due - now, asker.askForRest(now) - now));
        continue;
      }
      const slot = slots.use(now);
      if (slot?.isProbe === true) probe = slot.generation;
      spent = add(spent, waiters.grant());
    }
    granting = false;
  };
  const changed = () => {
    if (granting) pause.end();
    else void grantInTime();
  };
  const waiters = createWaiters({ changed, clock, spacingMs: () => asker.spacingMs });
  const asker = createAsker(options, { slots, waiters, answered: () => pause.end() });
  return {
    take: (priority, signal) => waiters.join(priority, signal),
    refused: (retryAfterMs, elapsedMs = 0) => {
      slots.clear();
      probe = undefined;
      const generation = slots.generationAt(clock.monotonic() - elapsedMs);
      return refuseSlots(database, { host, generation, retryAfterMs });
    },
    succeeded: async (elapsedMs) => {
      asker.succeeded();
      if (probe === undefined || slots.generationAt(clock.monotonic() - elapsedMs) !== probe) return;
      const generation = probe;
      probe = undefined;
      await resumeSlots(database, host, generation);
      asker.askAtOnce();
      pause.end();
    },
    pausedUntil: () => asker.pausedUntil(),
    waiting: () => waiters.inOrder().reduce<Counts>((counts, { priority }) => add(counts, priority), {}),
    takeSpent: () => {
      const taken = spent;
      spent = {};
      return taken;
    },
  };
}

interface AskerParts {
  readonly slots: Slots;
  readonly waiters: Waiters;
  /** Called after each question, even if it failed. */
  readonly answered: () => void;
}

/** Asks the row, one question at a time, and knows for each rank when to ask again. */
function createAsker(
  { database, host, rps, clock, onPause }: SharedBudgetOptions,
  { slots, waiters, answered }: AskerParts,
) {
  const turns = new Map<number, { readonly at: number; readonly called: boolean }>();
  let succeeded = 0;
  let busy = false;
  let isFirst = true;
  let spacingMs = 1000 / rps;
  const pauses = createPauseWatch(clock, onPause);
  const ask = async (rank: number, wanted: number) => {
    const asked = clock.monotonic();
    const reported = succeeded;
    const called = turns.get(rank)?.called ?? false;
    const grant = await takeSlots(database, {
      host,
      rps,
      rank,
      wanted,
      called,
      succeeded: reported,
      isFirst,
    });
    const now = clock.monotonic();
    succeeded -= reported;
    spacingMs = 1000 * grant.spacing;
    if (grant.granted > 0) isFirst = false;
    pauses.note(grant);
    slots.put(grant, asked, now);
    turns.set(rank, { at: now + 1000 * grant.again, called: grant.granted === 0 });
  };
  return {
    get spacingMs() {
      return spacingMs;
    },
    pausedUntil: () => pauses.until(),
    askAtOnce: () => turns.clear(),
    succeeded: () => {
      succeeded += 1;
    },
    /** Asks for waiters without a slot, the most urgent first. Returns when to ask if that is not due yet. */
    askForRest: (now: number): number => {
      const [first, ...others] = waiters.inOrder().slice(slots.count);
      if (first === undefined || busy) return Infinity;
      const rank = rankFor(first);
      const at = turns.get(rank)?.at ?? -Infinity;
      if (at > now) return at;
      busy = true;
      const alike = others.filter(
        (one) => one.priority === first.priority && one.isOverdue === first.isOverdue,
      );
      void ask(rank, 1 + alike.length)
        .catch((error: unknown) => waiters.fail(error))
        .then(() => {
          busy = false;
          answered();
        });
      return Infinity;
    },
  };
}

/** Keeps the last known state of a long pause, and reports when one begins and ends. */
function createPauseWatch(clock: Clock, onPause: SharedBudgetOptions['onPause']) {
  /** Unix milliseconds; 0 without a pause. */
  let until = 0;
  return {
    note: ({ paused }: Grant) => {
      const isNews = paused > 0 !== until > 0;
      until = paused > 0 ? clock.now() + 1000 * paused : 0;
      if (isNews) onPause?.(paused);
    },
    until: () => (until > clock.now() ? until : undefined),
  };
}

/** The rank to ask with. An overdue request ranks with the most urgent ones below the tail, in all processes. */
function rankFor({ priority, isOverdue }: ReturnType<Waiters['inOrder']>[number]): number {
  return isOverdue ? Math.min(rankOf(priority), OVERDUE_RANK) : rankOf(priority);
}

function add(counts: Counts, priority: Priority | undefined): Counts {
  return priority === undefined ? counts : addCounts(counts, { [priority]: 1 });
}
