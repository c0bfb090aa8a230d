import { LEAST_SLACK_SECONDS } from '../budget/slack.ts';
import type { Grant } from './budget-row.ts';

/** A slot that is not used within this time belongs to nobody: used no later, slots keep the plan in any second. */
const PATIENCE_MS = 1000 * LEAST_SLACK_SECONDS;

/** So much longer than the quickest a grant may take: beyond, nobody can tell when its slots are due. */
const MOST_DELAY_MS = 2 * PATIENCE_MS;

export interface Slot {
  /** When the request may go out, on the monotonic clock of this process. */
  readonly due: number;
  readonly generation: number;
  /** True: given in a long pause, to ask whether it is over. */
  readonly isProbe: boolean;
}

/** The slots that a process was given and has not used. Times are milliseconds of its monotonic clock. */
export interface Slots {
  readonly count: number;
  /** Takes over what a grant holds; it was asked for at `asked` and is here at `now`. */
  put(grant: Grant, asked: number, now: number): void;
  /** When the next one is due, after those that were not used in time have gone; Infinity where there is none. */
  nextDue(now: number): number;
  /** Takes the next one away. */
  use(now: number): Slot | undefined;
  /** The generation of the slot with which a request went out at that time. */
  generationAt(time: number): number;
  /** Gives all up. */
  clear(): void;
}

export function createSlots(): Slots {
  let slots: Slot[] = [];
  let quickest = Infinity;
  /** Which generation was in use since when; the newest refusal that can still come back is of one of the last. */
  const used: { readonly generation: number; readonly since: number }[] = [];
  return {
    get count() {
      return slots.length;
    },
    put: ({ granted, first, spacing, generation, paused }, asked, now) => {
      slots = slots.filter((slot) => slot.generation >= generation);
      quickest = Math.min(quickest, now - asked);
      // A process that was frozen, or waited for its turn on a busy machine, has an old grant.
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
