import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { UsageError } from '../errors.ts';
import type { Database, Session } from '../postgres/database.ts';
import { readsOnly } from '../postgres/read-only.ts';

export interface ReaderOptions {
  readonly name: string;
  /** Seconds after which a statement of the role's is ended; 0 for never. */
  readonly timeout: number;
  /** Default: a new one, at random. Null keeps that of a role which is there. */
  readonly password?: string | null;
  /** True: what every role of the database may do beside reading is taken from PUBLIC, and so from all. Default: false. */
  readonly strict?: boolean;
}

/** What became of a role that was to read. */
export interface Reader {
  /** False: there is no such role, and this user may not make it. */
  readonly exists: boolean;
  /** Undefined where the role was there already and this user may not alter it. */
  readonly password: string | undefined;
  /** What an administrator has to run for the rest, in this order; empty where all is done. */
  readonly left: readonly string[];
  /** Sentences about tables whose rows the role does not see, and what to do. */
  readonly hidden: readonly string[];
}

const Left = z.object({ part: z.enum(['role', 'password', 'settings', 'server']), statement: z.string() });

/**
 * Makes the role that reads the data and does no more, or gives it a new password, which no other place keeps. On a server
 * that only reads it finds the role that the primary has made.
 * @throws DatabaseError where a role of that name may do more
 * @throws UsageError where a role that is not there is to keep its password, or the server only reads and the role is not
 * there or is to get one
 */
export async function allowReading(
  database: Database,
  { name, timeout, password = randomBytes(18).toString('base64url'), strict = false }: ReaderOptions,
): Promise<Reader> {
  const isThere = (await database.run(sql`select from pg_roles where rolname = ${name}`)) > 0;
  if (await readsOnly(database)) return findReader(database, { name, isThere, password });
  if (password === null && !isThere) {
    throw new UsageError(`there is no role ${name} whose password could be kept`, {
      hint: 'Leave --keep-password out: the role is made, with a password.',
    });
  }
  const left = await database.transaction((session) =>
    session.rows(
      sql`select part, statement
          from etl.allow_reading(${name}, ${password}, make_interval(secs => ${timeout}), ${strict})`,
      Left,
    ),
  );
  const lacks = (part: z.infer<typeof Left>['part']) => left.some((each) => each.part === part);
  return {
    exists: !lacks('role'),
    password: password === null || lacks('role') || lacks('password') ? undefined : password,
    // A role that somebody else made keeps the password that it has.
    left: left.filter(({ part }) => part !== 'password').map(({ statement }) => `${statement};`),
    hidden: await rowsHiddenFrom(database, name),
  };
}

/** Sentences about tables whose rows a role, or the owner of the views, does not see, with what to do. */
export function rowsHiddenFrom(session: Pick<Session, 'rows'>, role?: string): Promise<string[]> {
  const name = role === undefined ? sql`current_user` : sql`${role}`;
  return session
    .rows(
      sql`select why, hint from etl.hidden_from(${name})`,
      z.object({ why: z.string(), hint: z.string() }),
    )
    .then((rows) => rows.map(({ why, hint }) => `${why}. ${hint}`));
}

interface Wanted extends Pick<ReaderOptions, 'name' | 'password'> {
  readonly isThere: boolean;
}

async function findReader(database: Database, { name, isThere, password }: Wanted): Promise<Reader> {
  if (isThere && password === null)
    return { exists: true, password: undefined, left: [], hidden: await rowsHiddenFrom(database, name) };
  throw new UsageError('the server only reads: no role is made here, and none gets a password', {
    hint: 'Run `reader` on the primary, and then `reader --keep-password` here: a standby has the same roles and passwords.',
  });
}
