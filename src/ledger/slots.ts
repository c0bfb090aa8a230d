import { LEAST_SLACK_SECONDS } from '../budget/slack.ts';
import type { Grant } from './budget-row.ts';

/** A slot that is not used within this time is dropped: used later, it could exceed the plan's rate in some second. */
const PATIENCE_MS = 1000 * LEAST_SLACK_SECONDS;

/** A grant may take this much longer than the quickest one. Beyond that, it is unknown when its slots are due. */
const MOST_DELAY_MS = 2 * PATIENCE_MS;

export interface Slot {
  /** When the request may be sent, on the monotonic clock of this process. */
  readonly due: number;
  readonly generation: number;
  /** True if it was granted during a long pause, to probe whether it is over. */
  readonly isProbe: boolean;
}

/** The unused slots of a process. Times are milliseconds of its monotonic clock. */
export interface Slots {
  readonly count: number;
  /** Adds the slots of a grant that was requested at `asked` and received at `now`. */
  put(grant: Grant, asked: number, now: number): void;
  /** Drops slots that were not used in time. Returns when the next one is due; Infinity if there is none. */
  nextDue(now: number): number;
  /** Removes and returns the next slot. */
  use(now: number): Slot | undefined;
  /** The generation of the slot with which a request was sent at that time. */
  generationAt(time: number): number;
  clear(): void;
}

export function createSlots(): Slots {
  let slots: Slot[] = [];
  let quickest = Infinity;
  /** When each generation came into use. A refusal that can still arrive belongs to one of the last ones. */
  const used: { readonly generation: number; readonly since: number }[] = [];
  return {
    get count() {
      return slots.length;
    },
    put: ({ granted, first, spacing, generation, paused }, asked, now) => {
      slots = slots.filter((slot) => slot.generation >= generation);
      quickest = Math.min(quickest, now - asked);
      // A process that was frozen, or waited for a busy machine, has an outdated grant.
      if (now - asked > quickest + MOST_DELAY_MS) return;
      const answered = (asked + now) / 2;
      for (let n = 0; n < granted; n += 1)
        slots.push({ due: answered + 1000 * (first + n * spacing), generation, isProbe: paused > 0 });
    },
    nextDue: (now) => {
      slots = slots.filter(({ due }) => due >= now - PATIENCE_MS);
      return slots[0]?.due ?? Infinity;
    },
    use: (now) => {
      const slot = slots.shift();
      if (slot === undefined || used.at(-1)?.generation === slot.generation) return slot;
      used.push({ generation: slot.generation, since: now });
      if (used.length > 16) used.shift();
      return slot;
    },
    generationAt: (time) => (used.findLast(({ since }) => since <= time) ?? used[0])?.generation ?? 0,
    clear: () => {
      slots = [];
    },
  };
}
