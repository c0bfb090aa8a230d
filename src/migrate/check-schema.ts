import { getTableColumns, sql } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import { oneRow, type Session } from '../postgres/database.ts';
import { loadTables } from '../postgres/load-tables.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { stableJettons, ton_proxies } from '../tables/etl/watch-list.ts';
import { partitions } from '../tables/etl/pages.ts';

const Column = z.object({ table: z.string(), column: z.string(), type: z.string(), required: z.boolean() });
const Index = z.object({ name: z.string(), valid: z.boolean() });

/**
 * Compares the live schema with the migrations, and returns a sentence for each difference. Names and types are queried in
 * a way that does not depend on `search_path` and `quote_all_identifiers`, which a role or database may set.
 */
export async function compareSchema(session: Session): Promise<string[]> {
  const tables = await loadTables();
  const columns = await session.rows(
    sql`
      select n.nspname || '.' || c.relname as "table", a.attname as "column",
        replace(format_type(a.atttypid, a.atttypmod), '"', '') as type, a.attnotnull as required
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`,
    Column,
  );
  const indexes = await session.rows(
    sql`select indexname as name, true as valid from pg_indexes where schemaname in ('ton', 'etl')`,
    Index,
  );
  const names = new Set(indexes.map(({ name }) => name));
  const differences = tables.flatMap((table) => [
    ...columnDifferences(
      table,
      columns.filter((column) => column.table === nameOf(table)),
    ),
    ...indexesOf(table)
      .filter((name) => !names.has(name))
      .map((name) => `${nameOf(table)} lacks the index ${name}`),
  ]);
  return [...differences, ...(await lostKeys(session, tables)), ...(await addedRules(session))];
}

const Keyed = z.object({ table: z.string() });

/** Tables without their primary key, which cannot take rows. */
async function lostKeys(session: Session, tables: readonly PgTable[]): Promise<string[]> {
  const rows = await session.rows(
    sql`
      select n.nspname || '.' || c.relname as "table"
      from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      where i.indisprimary`,
    Keyed,
  );
  const keyed = new Set(rows.map(({ table }) => table));
  return tables
    .filter((table) => isKeyed(table) && !keyed.has(nameOf(table)))
    .map((table) => `${nameOf(table)} lacks its primary key`);
}

function isKeyed(table: PgTable): boolean {
  const { primaryKeys, columns } = getTableConfig(table);
  return primaryKeys.length > 0 || columns.some(({ primary }) => primary);
}

const Added = z.object({ table: z.string(), kind: z.string(), name: z.string() });

/**
 * Finds triggers, rules and policies that this program did not create: they may drop or change rows. The program's
 * own triggers change only certificates and closed days.
 */
async function addedRules(session: Session): Promise<string[]> {
  const rows = await session.rows(
    sql`
      select n.nspname || '.' || c.relname as "table", a.kind, a.name
      from (
        select tgrelid as relation, 'trigger' as kind, tgname as name from pg_trigger
        where not tgisinternal and tgparentid = 0 and tgenabled <> 'D'
          and not (tgrelid in (${nameOf(coverage)}::regclass, ${nameOf(ton_proxies)}::regclass, ${nameOf(stableJettons)}::regclass)
            and tgname in ('reopen_days', 'reopen_days_of_streams', 'withdraw_unsupported'))
        union all select ev_class, 'rule', rulename from pg_rewrite where rulename <> '_RETURN'
        union all select polrelid, 'policy', polname from pg_policy) a
        join pg_class c on c.oid = a.relation join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ton', 'etl', 'etl_partitions') order by 1, 2, 3`,
    Added,
  );
  return rows.map(
    ({ table, kind, name }) =>
      `${table} has a ${kind} ${name} that no migration created: it may drop or change rows`,
  );
}

const Secured = z.object({ table: z.string(), partitions: z.coerce.number() });

/** Tables with row-level security, which hides rows silently. Partitions count with their table. */
export async function rowSecurity(session: Session): Promise<{ table: string; what: string }[]> {
  const rows = await session.rows(
    sql`
      select n.nspname || '.' || t.relname as "table", count(*) filter (where c.oid <> t.oid) as partitions
      from pg_class c left join pg_inherits i on i.inhrelid = c.oid
      join pg_class t on t.oid = coalesce(i.inhparent, c.oid) join pg_namespace n on n.oid = t.relnamespace
      where c.relrowsecurity and c.relkind in ('r', 'p') and n.nspname in ('ton', 'etl', 'etl_partitions')
      group by 1 order by 1`,
    Secured,
  );
  return rows.map(({ table, partitions }) => ({
    table,
    what: `${table}${partitions > 0 ? ` (${partitions} of its partitions)` : ''} has row-level security: roles that no policy names see none of the rows`,
  }));
}

function nameOf(table: PgTable): string {
  const { schema, name } = getTableConfig(table);
  return `${schema ?? 'public'}.${name}`;
}

function columnDifferences(table: PgTable, live: readonly z.infer<typeof Column>[]): string[] {
  const title = nameOf(table);
  if (live.length === 0) return [`the table ${title} is missing`];
  const wanted = Object.values(getTableColumns(table));
  const differences = wanted.flatMap((column) => {
    const found = live.find((row) => row.column === column.name);
    if (found === undefined) return [`${title} lacks the column ${column.name}`];
    const type = typeOf(column.getSQLType());
    if (found.type !== type) return [`${title}.${column.name} is ${found.type}, not ${type}`];
    const required = column.notNull || found.required;
    return required === found.required ? [] : [`${title}.${column.name} allows nulls`];
  });
  const known = new Set(wanted.map(({ name }) => name));
  const others = live.filter(({ column }) => !known.has(column));
  return [
    ...differences,
    ...others.map(({ column }) => `${title} has a column ${column} that no migration created`),
  ];
}

/** The type as Postgres prints it, which has fewer spaces: `timestamp(0)`, `numeric(38,0)`. */
function typeOf(declared: string): string {
  return declared.replace(' (', '(').replace(', ', ',');
}

function indexesOf(table: PgTable): string[] {
  return getTableConfig(table).indexes.flatMap(({ config }) =>
    config.name === undefined ? [] : [config.name],
  );
}

/** Invalid indexes, which Postgres does not use because creating them failed: schema and name, quoted. */
export async function invalidIndexes(session: Session): Promise<string[]> {
  const rows = await session.rows(
    sql`
      select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name, false as valid
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
      where not i.indisvalid and n.nspname in ('ton', 'etl', 'etl_partitions') order by 1`,
    Index,
  );
  return rows.map(({ name }) => name);
}

const Partition = z.object({
  name: z.string(),
  parent: z.string(),
  attached: z.boolean(),
  listed: z.boolean(),
});

/** Partitions that are listed but not attached to their table, or attached but not listed. */
export async function strayPartitions(session: Session): Promise<string[]> {
  const { name, parent } = partitions;
  const rows = await session.rows(
    sql`
      with attached as (
        select c.relname as name, p.relname as parent
        from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
        join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'etl_partitions' and c.relkind = 'r')
      select coalesce(${name}, a.name) as name, coalesce(${parent}, a.parent) as parent, a.name is not null as attached,
        ${name} is not null as listed
      from ${partitions} full join attached a on a.name = ${name} and a.parent = ${parent}
      where a.name is null or ${name} is null order by 1`,
    Partition,
  );
  return rows.map((row) =>
    row.attached
      ? `etl_partitions.${row.name} is a partition of ${row.parent} that etl.partitions does not list`
      : `etl.partitions lists ${row.name}, which is not a partition of ${row.parent}`,
  );
}

const LockRoom = z.object({
  relations: z.coerce.number(),
  room: z.number(),
  setting: z.number(),
  transactions: z.number(),
});

/** The size of the server's lock table, and the number of partitions and their indexes. */
export async function readLockRoom(session: Session): Promise<z.infer<typeof LockRoom>> {
  return oneRow(
    session,
    sql`
      select s.setting, s.transactions, s.setting * s.transactions as room, (
          select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspname = 'etl_partitions' and c.relkind in ('r', 'i')) as relations
      from (select current_setting('max_locks_per_transaction')::int as setting,
          current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int as transactions) s`,
    LockRoom,
  );
}
