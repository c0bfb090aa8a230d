import type { Budget } from '../../budget/budget.ts';
import type { Clock } from '../../clock.ts';
import { createInterruptibleSleep } from '../../budget/interruptible-sleep.ts';
import { addCounts, rankOf, type Counts, type Priority } from '../../budget/priority.ts';
import { createWaiters, type Waiters } from '../../budget/waiters.ts';
import { refuseSlots, takeSlots } from './budget-row.ts';
import type { Session } from '../connection/database.ts';
import { createSlots, type Slots } from './slots.ts';

interface SharedBudgetOptions {
  readonly database: Session;
  /** Host (and port) of the API, which counts the requests. */
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Clock;
}

/** A budget, and how this process uses it. */
export interface SharedBudget extends Budget {
  /** Requests that wait now. */
  waiting(): Counts;
  /** Requests that went out since the last call. */
  takeSpent(): Counts;
}

/** Whatever is waited for ends the sleep; a timer can hold no more than this. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * The budget of all processes that share a database. Slots come from its row (`etl.take_slots`), in blocks where there
 * is nobody else to leave room for, and go to whoever is most urgent in this process when they are due.
 * @throws (from `take` and `refused`) the error of the database where that is away
 */
export function createSharedBudget(options: SharedBudgetOptions): SharedBudget {
  const { database, host, clock } = options;
  const pause = createInterruptibleSleep(clock);
  const slots = createSlots();
  let granting = false;
  let spent: Counts = {};
  const grantInTime = async () => {
    granting = true;
    while (waiters.size > 0) {
      const now = clock.monotonic();
      const due = slots.nextDue(now);
      if (due > now) {
        await pause.sleep(Math.min(LONGEST_SLEEP_MS, due - now, asker.askForRest(now) - now));
        continue;
      }
      slots.use(now);
      spent = add(spent, waiters.grant());
    }
    granting = false;
  };
  const waiters = createWaiters(() => {
    if (granting) pause.end();
    else void grantInTime();
  });
  const asker = createAsker(options, { slots, waiters, answered: () => pause.end() });
  return {
    take: (priority, signal) => waiters.join(priority, signal),
    refused: (retryAfterMs, elapsedMs = 0) => {
      slots.clear();
      const generation = slots.generationAt(clock.monotonic() - elapsedMs);
      return refuseSlots(database, { host, generation, retryAfterMs });
    },
    succeeded: () => asker.succeeded(),
    waiting: () => waiters.inOrder().reduce<Counts>(add, {}),
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
  /** Called after each question, whatever came of it. */
  readonly answered: () => void;
}

/** Asks the row, one question at a time, and knows when it said to ask again, by rank. */
function createAsker(
  { database, host, rps, clock }: SharedBudgetOptions,
  { slots, waiters, answered }: AskerParts,
) {
  const turns = new Map<number, { readonly at: number; readonly called: boolean }>();
  let succeeded = 0;
  let busy = false;
  const ask = async (rank: number, wanted: number) => {
    const asked = clock.monotonic();
    const reported = succeeded;
    const called = turns.get(rank)?.called ?? false;
    const grant = await takeSlots(database, { host, rps, rank, wanted, called, succeeded: reported });
    const now = clock.monotonic();
    succeeded -= reported;
    slots.put(grant, asked, now);
    turns.set(rank, { at: now + 1000 * grant.again, called: grant.granted === 0 });
  };
  return {
    succeeded: () => {
      succeeded += 1;
    },
    /** Asks for those who have no slot yet, the most urgent first; or returns when that makes sense, if it is later. */
    askForRest: (now: number): number => {
      const [first, ...others] = waiters.inOrder().slice(slots.count);
      if (first === undefined || busy) return Infinity;
      const rank = rankOf(first);
      const at = turns.get(rank)?.at ?? -Infinity;
      if (at > now) return at;
      busy = true;
      void ask(rank, 1 + others.filter((priority) => priority === first).length)
        .catch((error: unknown) => waiters.fail(error))
        .then(() => {
          busy = false;
          answered();
        });
      return Infinity;
    },
  };
}

function add(counts: Counts, priority: Priority | undefined): Counts {
  return priority === undefined ? counts : addCounts(counts, { [priority]: 1 });
}
