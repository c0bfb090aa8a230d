import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { UsageError } from '../../errors.ts';
import type { Database } from '../connection/database.ts';
import { readsOnly } from '../connection/read-only.ts';

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
 * Makes the role that reads the data and does no more, or gives it a new password, which no other place keeps. On a server
 * that only reads it finds the role that the primary has made.
 * @throws DatabaseError where a role of that name may do more
 * @throws UsageError where the server only reads, and the role is not there or is to get a password
 */
export async function allowReading(
  database: Database,
  { name, timeout, password = randomBytes(18).toString('base64url') }: ReaderOptions,
): Promise<Reader> {
  if (await readsOnly(database)) return findReader(database, name, password);
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

async function findReader(database: Database, name: string, password: string | null): Promise<Reader> {
  const found = await database.run(sql`select from pg_roles where rolname = ${name}`);
  if (found > 0 && password === null) return { exists: true, password: undefined, left: [] };
  throw new UsageError('the server only reads: no role is made here, and none gets a password', {
    hint: 'Run `reader` on the primary, and then `reader --keep-password` here: a standby has the same roles and passwords.',
  });
}
