import { createHash } from 'node:crypto';
import { getTableColumns, is, sql, type SQL } from 'drizzle-orm';
import { getTableConfig, PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import { LOCKS } from '../locks.ts';
import { lockOf, type LockMode } from '../postgres/write-transaction.ts';
import type { Session } from '../postgres/database.ts';
import { identifiers, texts, prerendered } from '../postgres/sql.ts';
import { endStrayCopies } from '../ledger/leases.ts';
import { factsOf, type TableFacts } from '../tables/describe.ts';
import type { CopyColumn } from './copy-buffer.ts';

/** Facts about a table for statements, computed once. */
export interface Target {
  readonly table: object;
  readonly name: string;
  /** Names of the columns that are written. */
  readonly columns: readonly string[];
  readonly facts: TableFacts;
  /** The table's name within a statement. */
  readonly into: SQL;
  readonly staging: StagingTable;
  /** The COPY statement that fills the table directly. */
  readonly copy: SQL;
}

const targets = new WeakMap<object, Target>();

/** Throws a TypeError if it is not a described Drizzle table. */
export function targetOf(table: object): Target {
  const known = targets.get(table);
  if (known !== undefined) return known;
  if (!is(table, PgTable)) throw new TypeError('not a Drizzle table');
  const { name } = getTableConfig(table);
  const into = sql`${table}`;
  const facts = factsOf(table);
  const written = Object.values(getTableColumns(table)).filter(isWritten);
  const columns = written.map((column) => column.name);
  const target = {
    table,
    name,
    columns,
    facts,
    into,
    staging: stagingTableOf({ name, into, columns: written }),
    copy: prerendered(sql`copy ${into} (${identifiers(columns)}) from stdin`),
  };
  targets.set(table, target);
  return target;
}

/** Excludes generated columns, and those with a default, which would become null because rows lack them. */
function isWritten(column: PgColumn): boolean {
  return column.generated === undefined && column.generatedIdentity === undefined && !column.hasDefault;
}

/** A temporary table with the written columns of another one. Rows wait in it to be inserted. */
export interface StagingTable {
  readonly columns: readonly CopyColumn[];
  /** Its name within a statement. */
  readonly name: SQL;
  /** Creates it, once in a session, and begins to fill it. */
  readonly copy: SQL;
}

/** The staging table of a table. Its name depends on its columns, because versions share pooled sessions. */
function stagingTableOf(table: { name: string; into: SQL; columns: readonly PgColumn[] }): StagingTable {
  const columns = table.columns.map((column) => ({ name: column.name, type: column.getSQLType() }));
  const digest = createHash('sha256').update(JSON.stringify(columns)).digest('hex').slice(0, 8);
  const own = sql.identifier(`${table.name}_${digest}`);
  const name = sql`pg_temp.${own}`;
  const names = identifiers(columns.map((column) => column.name));
  return {
    columns: columns.map(({ name: column, type }) => ({
      name: column,
      kind: type === 'jsonb' ? 'json' : type.endsWith('[]') ? 'array' : 'text',
    })),
    name,
    // Each commit empties it; the delete is for a table that is filled twice in one transaction.
    copy: prerendered(sql`
      create temp table if not exists ${own} on commit delete rows as select ${names} from ${table.into} with no data;
      delete from ${name};
      copy ${name} from stdin`),
  };
}

/**
 * Sends lines to a staging table with COPY, in the given order: several times cheaper, on both sides, than rows as
 * parameters. Works only within a transaction, whose end empties the table.
 */
export async function fillStagingTable(
  session: Session,
  { copy }: StagingTable,
  lines: Iterable<string | Buffer>,
): Promise<void> {
  await session.copyIn(copy, lines);
}

export function byRank(a: Target, b: Target): number {
  return rank(a) < rank(b) ? -1 : 1;
}

/**
 * Parts come before their wholes: as long as an older copy of a whole is stored, it shows which parts are outdated.
 * Tables whose rows are on several pages come last: a page with the same row waits until the first one has committed.
 * Versions come after the thing itself, whose row is locked then: no other commit compares with the same last version.
 */
function rank({ name, facts }: Target): string {
  const isPart = facts.supersedes !== undefined && facts.supersedes.of !== name;
  const whole = facts.shared === undefined && facts.conflict.kind !== 'version' ? 1 : 2;
  return `${isPart ? 0 : whole} ${name}`;
}

/**
 * Locks stream tables until the transaction ends, in the order in which commits write them. A transaction that writes
 * rows locks them `shared`. One that certifies what is stored locks them `alone`: it waits for commits in progress and
 * lets none begin. A process that freezes while it copies would block it, so its session is terminated. These locks
 * belong to the program. A lock on the tables themselves would also wait for a user's open transaction or an `analyze`,
 * and block all commits meanwhile.
 *
 * Call it before rows of coverage are locked. In the other order, two transactions could deadlock.
 */
export async function lockTables(
  session: Session,
  targets: readonly Target[],
  mode: LockMode,
): Promise<void> {
  const ordered = targets.filter(({ facts }) => facts.partitioned).toSorted(byRank);
  if (ordered.length === 0) return;
  if (mode === 'alone') await endStrayCopies(session);
  await session.run(sql`
    select ${lockOf(sql`${`${LOCKS.rows}/`}::text || name`, mode)}
    from (${texts(ordered.map(({ name }) => name))}) as tables (name)`);
}
