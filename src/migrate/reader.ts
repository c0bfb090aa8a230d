import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { UsageError } from '../errors.ts';
import type { Database, Session } from '../postgres/database.ts';
import { readsOnly } from '../postgres/read-only.ts';

export interface ReaderOptions {
  readonly name: string;
  /** Statement timeout of the role in seconds; 0 for none. */
  readonly timeout: number;
  /** Default: a new random one. Null keeps the password of an existing role. */
  readonly password?: string | null;
  /** True: revokes from PUBLIC, and so from every role, what goes beyond reading. Default: false. */
  readonly strict?: boolean;
}

/** The result for a reader role. */
export interface Reader {
  /** False if the role does not exist and this user may not create it. */
  readonly exists: boolean;
  /** Undefined if the role existed and this user may not alter it. */
  readonly password: string | undefined;
  /** Statements that an administrator must run, in this order; empty if all is done. */
  readonly left: readonly string[];
  /** Sentences about tables whose rows the role cannot see, and what to do. */
  readonly hidden: readonly string[];
}

const Left = z.object({ part: z.enum(['role', 'password', 'settings', 'server']), statement: z.string() });

/**
 * Creates the role that can only read the data, or gives it a new password, which is stored nowhere else. On a
 * read-only server it finds the role that the primary has created.
 * @throws DatabaseError if a role of that name has more rights
 * @throws UsageError if a missing role is to keep its password, or if the server is read-only and the role is missing
 * or is to get a password
 */
export async function allowReading(
  database: Database,
  { name, timeout, password = randomBytes(18).toString('base64url'), strict = false }: ReaderOptions,
): Promise<Reader> {
  const isThere = (await database.run(sql`select from pg_roles where rolname = ${name}`)) > 0;
  if (await readsOnly(database)) return findReader(database, { name, isThere, password });
  if (password === null && !isThere) {
    throw new UsageError(`there is no role ${name} whose password could be kept`, {
      hint: 'Omit --keep-password: the role is then created with a password.',
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
    // A role that another user created keeps its password.
    left: left.filter(({ part }) => part !== 'password').map(({ statement }) => `${statement};`),
    hidden: await rowsHiddenFrom(database, name),
  };
}

/** Sentences about tables whose rows a role, or the owner of the views, cannot see, with what to do. */
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
  throw new UsageError('the server is read-only: no role can be created or altered', {
    hint: 'Run `reader` on the primary, and then `reader --keep-password` here: a standby has the same roles and passwords.',
  });
}
