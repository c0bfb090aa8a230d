import { sql } from 'drizzle-orm';
import type { Session } from '../postgres/database.ts';
import { excluded } from '../postgres/sql.ts';
import { settings } from '../tables/etl/pages.ts';
import { keepSetting, readSetting, type Settings } from './stored-settings.ts';

export type SavedWatermark = Settings['watermark'];

/** Stores a watermark for `status` and for other processes, unless a later one is stored. */
export async function saveWatermark(session: Session, watermark: SavedWatermark): Promise<void> {
  const where = sql`(${settings.value}->>'utime')::int8 <= (${excluded(settings.value)}->>'utime')::int8`;
  await keepSetting(session, 'watermark', watermark, { where });
}

export function readSavedWatermark(session: Session): Promise<SavedWatermark | undefined> {
  return readSetting(session, 'watermark');
}

/** The watermark that another process found, and the newest block that it saw; undefined before the first. */
export async function readFoundWatermark(
  session: Session,
): Promise<(SavedWatermark & { readonly newest: number }) | undefined> {
  const saved = await readSavedWatermark(session);
  if (saved === undefined || saved.utime === 0) return undefined;
  return { ...saved, newest: saved.newest ?? saved.headUtime };
}
