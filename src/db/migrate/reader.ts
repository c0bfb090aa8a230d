import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../connection/database.ts';

export interface ReaderOptions {
  readonly name: string;
  /** Seconds after which a statement of the role's is ended; 0 for never. */
  readonly timeout: number;
  /** Default: a new one, at random. Null keeps that of a role which is there. */
  readonly password?: string | null;
}

/** What became of a role that was to read. */
export interface Reader {
  /** False: there is no such role, and this user may not make it. */
  readonly exists: boolean;
  /** Undefined where the role was there already and this user may not alter it. */
  readonly password: string | undefined;
  /** What an administrator has to run for the rest, in this order; empty where all is done. */
  readonly left: readonly string[];
}

const Left = z.object({ part: z.enum(['role', 'password', 'settings', 'server']), statement: z.string() });

/**
 * Makes the role that reads the data and does no more, or gives it a new password, which no other place keeps.
 * @throws DatabaseError where a role of that name may do more
 */
export async function allowReading(
  database: Database,
  { name, timeout, password = randomBytes(18).toString('base64url') }: ReaderOptions,
): Promise<Reader> {
  const left = await database.transaction((session) =>
    session.rows(
      sql`select part, statement from etl.allow_reading(${name}, ${password}, make_interval(secs => ${timeout}))`,
      Left,
    ),
  );
  const lacks = (part: z.infer<typeof Left>['part']) => left.some((each) => each.part === part);
  return {
    exists: !lacks('role'),
    password: password === null || lacks('role') || lacks('password') ? undefined : password,
    // A role that somebody else made keeps the password that it has.
    left: left.filter(({ part }) => part !== 'password').map(({ statement }) => `${statement};`),
  };
}
