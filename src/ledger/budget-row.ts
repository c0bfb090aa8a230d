import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto } from '../postgres/sql.ts';
import { budget } from '../tables/etl/budget.ts';

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
