import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto } from '../postgres/sql.ts';
import { budget } from '../tables/etl/budget.ts';
import { LEAST_SLACK_SECONDS } from '../budget/slack.ts';

/** A slot that is not used within this time is dropped: used later, it could exceed the plan's rate in some second. */
const PATIENCE_MS = 1000 * LEAST_SLACK_SECONDS;

/** A grant may take this much longer than the quickest one. Beyond that, it is unknown when its slots are due. */
const MOST_DELAY_MS = 2 * PATIENCE_MS;

interface Slot {
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

/** What a process asks of the budget's row. */
export interface Ask {
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  /** Priority: 0 is the most urgent. */
  readonly rank: number;
  /** How many requests wait with this rank. */
  readonly wanted: number;
  /** True if an earlier reply without a slot named this time to ask again. */
  readonly called: boolean;
  /** Requests that the server let through since the last ask. */
  readonly succeeded: number;
  /** True until the process has had a slot: it may probe whether a long pause is over. */
  readonly isFirst?: boolean;
}

/** The reply. Times are in seconds from the moment of the grant, so that clocks of clients do not matter. */
const Grant = z.object({
  /** Number of slots granted. */
  granted: z.number(),
  /** Time until the first slot. */
  first: z.number(),
  /** Time from one slot to the next. */
  spacing: z.number(),
  /** Time after which to ask again. */
  again: z.number(),
  generation: z.coerce.number(),
  /**
   * Seconds that a pause of more than a minute still lasts: a slot that is granted meanwhile probes whether it is over.
   */
  paused: z.number(),
});

export type Grant = z.infer<typeof Grant>;

const Missing = z.object({ granted: z.null() });

/**
 * Takes slots, or says when to ask again. Inserts the row if it does not exist. Each call is a transaction of its own.
 */
export async function takeSlots(session: Session, ask: Ask): Promise<Grant> {
  const { host, rps, rank, wanted, called, succeeded, isFirst = false } = ask;
  for (;;) {
    const [grant] = await session.rows(
      sql`select * from etl.take_slots(${host}, ${rps}, ${rank}, ${wanted}, ${called}, ${succeeded}, ${isFirst})`,
      Grant.or(Missing),
    );
    if (grant !== undefined && grant.granted !== null) return grant;
    await makeRow(session, host, rps);
  }
}

/** It is unknown what was sent before, so the first request waits as long as any other. */
async function makeRow(session: Session, host: string, rps: number): Promise<void> {
  const row = {
    host,
    rps,
    free_at: sql`extract(epoch from clock_timestamp()) + 1 / ${rps}::float8`,
    slack: 0,
    server_started_at: sql`extract(epoch from pg_postmaster_start_time())`,
  };
  await session.run(sql`${insertInto(budget, row)} on conflict (${bare(budget.host)}) do nothing`);
}

interface RefusedSlot {
  readonly host: string;
  /** Generation of the slot with which the refused request was sent. */
  readonly generation: number;
  /** The pause that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Pauses all processes. Also lowers the rate, unless a refusal of this generation is known already. */
export async function refuseSlots(session: Session, refusal: RefusedSlot): Promise<void> {
  const { host, generation, retryAfterMs } = refusal;
  const pause = retryAfterMs === undefined ? null : retryAfterMs / 1000;
  await session.run(sql`select etl.refuse_slots(${host}, ${generation}, ${pause})`);
}

/** Ends the pause: a request that was sent during it, with a slot of this generation, succeeded. */
export async function resumeSlots(session: Session, host: string, generation: number): Promise<void> {
  await session.run(sql`select etl.resume_slots(${host}, ${generation})`);
}
