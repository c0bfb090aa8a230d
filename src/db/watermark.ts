import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from './database.ts';

/** The last watermark that a process found, for `status` and for other processes. Times in unix seconds. */
const StoredWatermark = z.object({
  utime: z.number(),
  headSeqno: z.number(),
  headUtime: z.number(),
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
