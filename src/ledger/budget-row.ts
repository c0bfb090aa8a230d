import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto } from '../postgres/sql.ts';
import { budget } from '../tables/etl/budget.ts';

/** What a process asks of the row. */
export interface Ask {
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  /** 0 for the most urgent. */
  readonly rank: number;
  /** How many wait with this rank. */
  readonly wanted: number;
  /** True for whoever comes at the time that an earlier reply without a slot has named. */
  readonly called: boolean;
  /** Requests that the server let through since the last ask. */
  readonly succeeded: number;
  /** True until the process has had a slot: it may ask whether a long pause is over. */
  readonly isFirst?: boolean;
}

/** What the row answers. Seconds, counted from the moment of the grant, so that no clock of a client matters. */
const Grant = z.object({
  /** Slots that were given. */
  granted: z.number(),
  /** Until the first of them. */
  first: z.number(),
  /** From one to the next. */
  spacing: z.number(),
  /** Until it makes sense to ask again. */
  again: z.number(),
  generation: z.coerce.number(),
  /** Seconds that a pause of more than a minute still lasts: a slot that is given in it asks whether it is over. */
  paused: z.number(),
});

export type Grant = z.infer<typeof Grant>;

const Missing = z.object({ granted: z.null() });

/** Takes slots, or says when to ask again, and makes the row where there is none: a transaction of its own each time. */
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

/** Nobody knows what was sent before: the first request leaves as much time as any other. */
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
  /** Of the slot with which the refused request went out. */
  readonly generation: number;
  /** What the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Pauses everybody, and makes everybody slower unless a refusal of this generation is known already. */
export async function refuseSlots(session: Session, refusal: RefusedSlot): Promise<void> {
  const { host, generation, retryAfterMs } = refusal;
  const pause = retryAfterMs === undefined ? null : retryAfterMs / 1000;
  await session.run(sql`select etl.refuse_slots(${host}, ${generation}, ${pause})`);
}

/** Ends the pause: a request that was sent in it, with a slot of this generation, was let through. */
export async function resumeSlots(session: Session, host: string, generation: number): Promise<void> {
  await session.run(sql`select etl.resume_slots(${host}, ${generation})`);
}
