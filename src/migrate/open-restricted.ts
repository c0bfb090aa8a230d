import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { systemClock } from '../clock.ts';
import { EtlError, UsageError } from '../errors.ts';
import { CONFLICT, retry } from '../retry.ts';
import { parsePostgres, withLogin } from '../settings/postgres-url.ts';
import { openDatabase, type Database } from '../postgres/database.ts';
import { readsOnly } from '../postgres/read-only.ts';
import { allowReading } from './reader.ts';

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

const Truth = z.object({ truth: z.boolean() });

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

async function hasServerRights(database: Database): Promise<boolean> {
  const [row] = await database.rows(
    sql`
      select r.rolsuper or exists (
        select from unnest(array['pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files']) may
        where pg_has_role(current_user, may, 'member')) as truth
      from pg_roles r where r.rolname = current_user`,
    Truth,
  );
  return row?.truth ?? true;
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

async function hasRights(database: Database, right: Right): Promise<boolean> {
  const [row] = await database.rows(
    sql`
      select coalesce((
        select bool_and(has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, ${ROLES[right].table})
          = (${right} = 'read' or c.relnamespace::regnamespace::text <> 'etl' or c.relname !~ ${BOOKKEEPING}))
        from pg_class c
        where c.relnamespace::regnamespace::text in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')), false) as truth`,
    Truth,
  );
  return row?.truth ?? false;
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
