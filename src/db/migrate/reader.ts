import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Database } from '../connection/database.ts';

export interface ReaderOptions {
  readonly name: string;
  /** Seconds after which a statement of the role's is ended. */
  readonly timeout: number;
}

/**
 * Makes the role that reads the data and does no more, or gives it a new password, which is returned: no other place
 * keeps it.
 * @throws DatabaseError where a role of that name may do more, or this user may not make roles
 */
export async function allowReading(database: Database, { name, timeout }: ReaderOptions): Promise<string> {
  const password = randomBytes(18).toString('base64url');
  await database.transaction((session) =>
    session.run(sql`select etl.allow_reading(${name}, ${password}, make_interval(secs => ${timeout}))`),
  );
  return password;
}
