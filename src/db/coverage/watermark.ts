import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../connection/database.ts';

/**
 * The last watermark that a process found, for `status` and for other processes; `utime` is 0 where it could not be told
 * yet. Times in unix seconds.
 */
const StoredWatermark = z.object({
  utime: z.number(),
  headSeqno: z.number(),
  headUtime: z.number(),
  newest: z.number().optional(),
  waitingFor: z.string().nullable(),
});

type StoredWatermark = z.infer<typeof StoredWatermark>;

export async function saveWatermark(session: Session, watermark: StoredWatermark): Promise<void> {
  await session.run(sql`
    insert into etl.settings as s (name, value) values ('watermark', ${JSON.stringify(watermark)}::jsonb)
    on conflict (name) do update set value = excluded.value, updated_at = default
    where (s.value->>'utime')::int8 <= (excluded.value->>'utime')::int8`);
}

export async function readSavedWatermark(session: Session): Promise<StoredWatermark | undefined> {
  const [row] = await session.rows(
    sql`select value from etl.settings where name = 'watermark'`,
    z.object({ value: StoredWatermark }),
  );
  return row?.value;
}

/** What another process found, and the newest block that it saw; undefined before any has found one. */
export async function readFoundWatermark(
  session: Session,
): Promise<(StoredWatermark & { readonly newest: number }) | undefined> {
  const saved = await readSavedWatermark(session);
  if (saved === undefined || saved.utime === 0) return undefined;
  return { ...saved, newest: saved.newest ?? saved.headUtime };
}

/**
 * Makes a process the one that asks the API for the watermark, for so many seconds from now; true where it is. It stays
 * the one as long as it comes back in time.
 */
export async function takeLookout(session: Session, owner: string, seconds: number): Promise<boolean> {
  const taken = await session.run(sql`
    insert into etl.settings as s (name, value)
    values ('lookout', jsonb_build_object('owner', ${owner}::text, 'until', clock_timestamp() + make_interval(secs => ${seconds})))
    on conflict (name) do update set value = excluded.value, updated_at = default
    where s.value->>'owner' = ${owner} or (s.value->>'until')::timestamptz < clock_timestamp()`);
  return taken > 0;
}
