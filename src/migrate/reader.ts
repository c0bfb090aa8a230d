import { randomBytes, createHmac } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { UsageError, EtlError } from '../errors.ts';
import { type Database, type Session, oneValue, openDatabase, readsOnly } from '../postgres/database.ts';
import { systemClock, CONFLICT, retry } from '../clock.ts';
import { parsePostgres, withLogin } from '../settings/postgres-url.ts';

/** The two roles. They exist once for all databases of a server. */
const ROLES = {
  read: { name: 'toncenter_etl_sql', table: 'select' },
  write: { name: 'toncenter_etl_sql_write', table: 'insert' },
} as const;

type Right = keyof typeof ROLES;

/**
 * Tables of schema etl that only the program may change. They cannot be rebuilt: without them the program does not
 * start, rows find no partition, or sums of expired days are lost. All other rows describe what was read, and can be
 * read or built again.
 */
const BOOKKEEPING = '^(migrations|settings|partitions|closed_days|kept_.+)$';

/** The first version with the privilege MAINTAIN (reindex, vacuum, analyze). */
const KNOWS_MAINTAIN = 170_000;

const ATTEMPTS = 10;

/** The database whose statements are to be restricted, and whether it is the embedded server. */
interface Restriction {
  readonly database: Database;
  readonly url: string;
  readonly embedded: object | undefined;
  readonly applicationName: string;
  readonly right: Right;
}

/**
 * Opens the database with a role that can only read, or only read and write rows. A read-only transaction does not
 * confine a superuser or a user who may access the server's files (`copy … to program`), nor does `set role`, which a
 * statement can reset. For such a user it opens a second connection with a role of its own. Any other user is as
 * restricted as the operator chose; so is one that writes to a server that is not embedded.
 */
export async function openRestricted(restriction: Restriction): Promise<Database> {
  const { database, url, embedded, right, applicationName } = restriction;
  if (right === 'write' && embedded === undefined) return database;
  if (!(await hasServerRights(database))) return database;
  const password = passwordFrom(parsePostgres(url).get('password') ?? '', right);
  const own = withLogin(url, ROLES[right].name, password);
  const open = () => openDatabase({ url: own, applicationName, maxConnections: 2 });
  const found = await open().catch(throwIfRetryable);
  if (found !== undefined && (await hasRights(found, right))) return found;
  await found?.close();
  if (await readsOnly(database)) {
    throw new UsageError(`the role ${ROLES[right].name} does not exist yet, and the server is read-only`, {
      hint: 'Run `toncenter-etl sql "select 1"` on the primary: it creates the role, and its standbys follow at once.',
    });
  }
  // Roles belong to the server: processes that create one at the same time collide, even in different databases.
  await retry({ ...CONFLICT, attempts: ATTEMPTS, clock: systemClock, random: Math.random }, () =>
    grant(restriction, found === undefined ? password : null),
  );
  return open();
}

function hasServerRights(database: Database): Promise<boolean> {
  return oneValue(
    database,
    sql`
      select r.rolsuper or exists (
        select from unnest(array['pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files']) may
        where pg_has_role(current_user, may, 'member'))
      from pg_roles r where r.rolname = current_user`,
    z.boolean(),
  );
}

/**
 * Always the same for one server, so that two processes do not invalidate each other's password. It cannot be guessed
 * without the owner's password.
 */
function passwordFrom(owners: string, right: Right): string {
  return owners === ''
    ? randomBytes(18).toString('base64url')
    : createHmac('sha256', owners).update(ROLES[right].name).digest('base64url');
}

function throwIfRetryable(error: unknown): undefined {
  if (!(error instanceof EtlError) || error.retryable) throw error;
}

function hasRights(database: Database, right: Right): Promise<boolean> {
  return oneValue(
    database,
    sql`
      select coalesce((
        select bool_and(has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, ${ROLES[right].table})
          = (${right} = 'read' or c.relnamespace::regnamespace::text <> 'etl' or c.relname !~ ${BOOKKEEPING}))
        from pg_class c
        where c.relnamespace::regnamespace::text in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')), false)`,
    z.boolean(),
  );
}

/**
 * Grants the rights. The program's own tables are open to the owner of the database. The role owns no table and cannot
 * create objects in the schemas: a trigger or an index expression would run as the next writer, which is the superuser.
 */
async function grant({ database, right, embedded }: Restriction, password: string | null): Promise<void> {
  const { name } = ROLES[right];
  await allowReading(database, { name, timeout: 0, password, strict: embedded !== undefined });
  const maintain = database.version >= KNOWS_MAINTAIN ? ', maintain' : '';
  const rights = right === 'read' ? 'select' : `select, insert, update, delete, truncate${maintain}`;
  const schemas = right === 'read' ? ['etl'] : ['ton', 'etl', 'etl_partitions'];
  for (const schema of schemas)
    await database.script(`
      grant ${rights} on all tables in schema ${schema} to ${name};
      alter default privileges in schema ${schema} grant ${rights} on tables to ${name}`);
  const withheld = await database.rows(
    sql`
      select c.oid::regclass::text as name from pg_class c
      where c.relnamespace = 'etl'::regnamespace and c.relkind = 'r' and c.relname ~ ${BOOKKEEPING}`,
    z.object({ name: z.string() }),
  );
  await database.script(
    `revoke insert, update, delete, truncate on ${withheld.map((table) => table.name).join(', ')} from ${name}`,
  );
}

export interface ReaderOptions {
  readonly name: string;
  /** Statement timeout of the role in seconds; 0 for none. */
  readonly timeout: number;
  /** Default: a new random one. Null keeps the password of an existing role. */
  readonly password?: string | null;
  /** True: revokes from PUBLIC, and so from every role, what goes beyond reading. Default: false. */
  readonly strict?: boolean;
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
) {
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
    /** False if the role does not exist and this user may not create it. */
    exists: !lacks('role'),
    /** Undefined if the role existed and this user may not alter it. */
    password: password === null || lacks('role') || lacks('password') ? undefined : password,
    /**
     * Statements that an administrator must run, in this order; empty if all is done. A role that another user created
     * keeps its password.
     */
    left: left.filter(({ part }) => part !== 'password').map(({ statement }) => `${statement};`),
    /** Sentences about tables whose rows the role cannot see, and what to do. */
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

async function findReader(database: Database, { name, isThere, password }: Wanted) {
  if (isThere && password === null)
    return { exists: true, password: undefined, left: [], hidden: await rowsHiddenFrom(database, name) };
  throw new UsageError('the server is read-only: no role can be created or altered', {
    hint: 'Run `reader` on the primary, and then `reader --keep-password` here: a standby has the same roles and passwords.',
  });
}
