import { createHmac, randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { EtlError } from '../../errors.ts';
import { parsePostgres, withLogin } from '../../settings/postgres-url.ts';
import { openDatabase, type Database } from '../connection/database.ts';
import { allowReading } from './reader.ts';

/** One for all databases of a server. */
const NAME = 'toncenter_etl_sql';

const Truth = z.object({ truth: z.boolean() });

/**
 * The database of `url` as somebody who can only read. Where its user is a superuser or may touch the server's files, a
 * read-only transaction does not hold it (`copy … to program`), nor does `set role`, which a statement resets: then it
 * is opened once more, with a role of its own. Else it is the one that is open.
 */
export async function openForReading(
  { database, url }: { readonly database: Database; readonly url: string },
  applicationName: string,
): Promise<Database> {
  if (!(await isMighty(database))) return database;
  const password = passwordFrom(parsePostgres(url).get('password') ?? '');
  const own = withLogin(url, NAME, password);
  const open = () => openDatabase({ url: own, applicationName, maxConnections: 2 });
  const found = await open().catch(unlessItMayPass);
  if (found !== undefined && (await mayRead(found))) return found;
  await found?.close();
  await grant(database, found === undefined ? password : null);
  return open();
}

async function isMighty(database: Database): Promise<boolean> {
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

/** Always the same for one server, so that two processes do not void each other's; nobody's guess without the owner's. */
function passwordFrom(owners: string): string {
  return owners === ''
    ? randomBytes(18).toString('base64url')
    : createHmac('sha256', owners).update(NAME).digest('base64url');
}

function unlessItMayPass(error: unknown): undefined {
  if (!(error instanceof EtlError) || error.retryable) throw error;
}

async function mayRead(database: Database): Promise<boolean> {
  const [row] = await database.rows(
    sql`
      select coalesce((
        select bool_and(has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, 'select'))
        from pg_class c
        where c.relnamespace::regnamespace::text in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')), false) as truth`,
    Truth,
  );
  return row?.truth ?? false;
}

/** The user's own database: the program's own tables are open to its owner, but not for writing. */
async function grant(database: Database, password: string | null): Promise<void> {
  await allowReading(database, { name: NAME, timeout: 0, password });
  await database.script(`
    grant select on all tables in schema etl to ${NAME};
    alter default privileges in schema etl grant select on tables to ${NAME}`);
}
