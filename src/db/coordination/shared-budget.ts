import type { Budget } from '../../budget/budget.ts';
import type { Clock } from '../../clock.ts';
import { createNap } from '../../budget/interruptible-sleep.ts';
import { addCounts, PRIORITIES, type Counts } from '../../budget/priority.ts';
import { createWaiters, type Waiter } from '../../budget/waiters.ts';
import { refuseSlots, takeSlots } from './budget-row.ts';
import type { Session } from '../connection/database.ts';
import { createSlots, type Slots } from './slots.ts';

interface SharedBudgetOptions {
  readonly database: Session;
  /** What counts the requests: host (and port) of the API. */
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Clock;
}

/** A budget, and what there is to tell of its use in this process. */
export interface SharedBudget extends Budget {
  /** Requests that wait now. */
  waiting(): Counts;
  /** Requests that went out since the last call. */
  takeSpent(): Counts;
}

/**
 * The budget of all processes that share a database. Slots come from its row (`etl.take_slots`), in blocks where there
 * is nobody else to leave room for, and go to whoever is most urgent in this process when they are due.
 * @throws (from `take` and `refused`) the error of the database where that is away
 */
export function createSharedBudget(options: SharedBudgetOptions): SharedBudget {
  const { database, host, clock } = options;
  const nap = createNap(clock);
  const slots = createSlots();
  const asker = createAsker(options, slots);
  let pumping = false;
  let spent: Counts = {};
  const waiters = createWaiters({
    clock,
    joined: () => {
      if (pumping) nap.end();
      else void pump();
    },
    left: () => {
      if (waiters.size === 0) nap.end();
    },
  });

  /** Asks for those who have no slot yet, the most urgent first; or when that makes sense, where it is later. */
  const askForRest = (now: number): number => {
    const rest = waiters.inOrder().slice(slots.count);
    const rank = rest[0]?.rank;
    if (rank === undefined || asker.busy) return Infinity;
    const at = asker.turn(rank);
    if (at > now) return at;
    const wanted = rest.filter((waiter) => waiter.rank === rank).length;
    void asker
      .ask(rank, wanted)
      .catch((error: unknown) => waiters.fail(error))
      .then(() => nap.end());
    return Infinity;
  };
  const pump = async () => {
    pumping = true;
    while (waiters.size > 0) {
      const now = clock.monotonic();
      const due = slots.nextDue(now);
      if (due > now) {
        await nap.take(Math.min(LONGEST_NAP_MS, due - now, askForRest(now) - now));
        continue;
      }
      slots.use(now);
      spent = add(spent, waiters.grant());
    }
    pumping = false;
  };
  return {
    take: (priority, signal) => waiters.join(priority, signal),
    refused: (retryAfterMs, elapsedMs = 0) => {
      slots.clear();
      const generation = slots.generationAt(clock.monotonic() - elapsedMs);
      return refuseSlots(database, { host, generation, retryAfterMs });
    },
    succeeded: asker.succeeded,
    waiting: () => waiters.inOrder().reduce<Counts>(add, {}),
    takeSpent: () => {
      const taken = spent;
      spent = {};
      return taken;
    },
  };
}

/** Whatever is waited for ends the nap; this is only what a timer can hold. */
const LONGEST_NAP_MS = 60_000;

/** Who asks the row, one question at a time, and knows when it said to ask again, by rank. */
function createAsker({ database, host, rps, clock }: SharedBudgetOptions, slots: Slots) {
  const turns = new Map<number, { readonly at: number; readonly called: boolean }>();
  let succeeded = 0;
  let busy = false;
  return {
    get busy() {
      return busy;
    },
    /** When to ask for this rank. */
    turn: (rank: number) => turns.get(rank)?.at ?? -Infinity,
    succeeded: () => {
      succeeded += 1;
    },
    ask: async (rank: number, wanted: number) => {
      busy = true;
      const asked = clock.monotonic();
      const reported = succeeded;
      const called = turns.get(rank)?.called ?? false;
      try {
        const answer = await takeSlots(database, { host, rps, rank, wanted, called, succeeded: reported });
        const now = clock.monotonic();
        succeeded -= reported;
        slots.put(answer, asked, now);
        turns.set(rank, { at: now + 1000 * answer.again, called: answer.granted === 0 });
      } finally {
        busy = false;
      }
    },
  };
}

function add(counts: Counts, waiter: Waiter | undefined): Counts {
  const priority = waiter && PRIORITIES[waiter.rank];
  return priority === undefined ? counts : addCounts(counts, { [priority]: 1 });
}
