import { sql } from 'drizzle-orm';
import { expect } from 'vitest';
import * as z from 'zod';
import type { Database } from '../../../src/postgres/database.ts';

const Moment = z.object({ now: z.string() });
const Session = z.object({ pid: z.number() });

/** Waits for running transactions, so that their writes are decided. */
export async function commitsEnded(database: Database): Promise<void> {
  const now = (await database.rows(sql`select clock_timestamp()::text as now`, Moment))[0]?.now;
  const older = sql`
    select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and state <> 'idle' and xact_start <= ${now}::timestamptz`;
  await expect.poll(() => database.rows(older, Session)).toEqual([]);
}
