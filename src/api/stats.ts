import { PRIORITIES, type Priority } from '../budget/priority.ts';

/** What was sent and received since the client was created. */
export interface Counters {
  /** Attempts that were sent; the server counts each of them. */
  readonly requests: number;
  /** Attempts that were refused because of the rate (429). */
  readonly refused: number;
  /** Attempts that followed a failed attempt of the same request. */
  readonly retries: number;
  /** Bytes of bodies on the wire, mostly compressed. */
  readonly bytes: number;
}

/** The counters in total and by priority; live, not a copy. */
export interface Stats extends Counters {
  readonly byPriority: Readonly<Record<Priority, Counters>>;
}

/** The writing side of `Stats`. */
export interface CountingStats {
  readonly stats: Stats;
  readonly add: (priority: Priority, counter: keyof Counters, by: number) => void;
}

export function createStats(): CountingStats {
  const byPriority = { tail: zero(), repair: zero(), backfill: zero(), refresh: zero() } satisfies Record<
    Priority,
    Counters
  >;
  const sum = (counter: keyof Counters) =>
    PRIORITIES.reduce((total, priority) => total + byPriority[priority][counter], 0);
  return {
    stats: {
      byPriority,
      get requests() {
        return sum('requests');
      },
      get refused() {
        return sum('refused');
      },
      get retries() {
        return sum('retries');
      },
      get bytes() {
        return sum('bytes');
      },
    },
    add: (priority, counter, by) => {
      byPriority[priority][counter] += by;
    },
  };
}

function zero() {
  return { requests: 0, refused: 0, retries: 0, bytes: 0 };
}
