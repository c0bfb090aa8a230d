import { createHash } from 'node:crypto';
import { getTableColumns, is, sql, type SQL } from 'drizzle-orm';
import { getTableConfig, PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import { LOCKS } from '../locks.ts';
import { lockOf, type LockMode } from '../postgres/hold-lock.ts';
import type { Session } from '../postgres/database.ts';
import { identifiers, texts, prerendered } from '../postgres/sql.ts';
import { endStrayCopies } from '../ledger/copying.ts';
import { factsOf, type TableFacts } from '../tables/describe.ts';
import type { CopyColumn } from './copy-text.ts';

/** What a statement needs to know of a table, worked out once. */
export interface Target {
  readonly table: object;
  readonly name: string;
  /** Names of the columns that are written. */
  readonly columns: readonly string[];
  readonly facts: TableFacts;
  /** The table's name within a statement. */
  readonly into: SQL;
  readonly staging: StagingTable;
  /** Fills the table itself. */
  readonly copy: SQL;
}

const targets = new WeakMap<object, Target>();

/** Throws a TypeError for anything but a described Drizzle table. */
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

/** Generated columns cannot be written; those with a default would become null, for rows lack them. */
function isWritten(column: PgColumn): boolean {
  return column.generated === undefined && column.generatedIdentity === undefined && !column.hasDefault;
}

/** A temporary table with the columns of another one that are written: rows wait there to be inserted. */
export interface StagingTable {
  readonly columns: readonly CopyColumn[];
  /** Its name within a statement. */
  readonly name: SQL;
  /** Makes it, once a session, and begins to fill it. */
  readonly copy: SQL;
}

/**
 * The staging table of a table. Its name tells its columns: a pooled session may still have the one that another version
 * of this program made.
 */
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
    // Emptied by each commit, and here for a table that is filled twice in one transaction.
    copy: prerendered(sql`
      create temp table if not exists ${own} on commit delete rows as select ${names} from ${table.into} with no data;
      delete from ${name};
      copy ${name} from stdin`),
  };
}

/**
 * Brings lines into a staging table with COPY, in the order given: several times cheaper, on both sides, than any way to
 * send rows as parameters. Only within a transaction: its end empties the table.
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
 * Parts come before their wholes: an older copy of a whole shows which parts are out of date, as long as it is there. Rows
 * that other pages bring too come last: whoever brings one waits until the first to write it has committed.
 */
function rank({ name, facts }: Target): string {
  const isPart = facts.supersedes !== undefined && facts.supersedes.of !== name;
  const whole = facts.shared === undefined ? 1 : 2;
  return `${isPart ? 0 : whole} ${name}`;
}

/**
 * Holds stream tables until the transaction ends, in the order in which commits write them. Whoever writes rows holds
 * them `shared`. Whoever says what is written holds them `alone`: that waits for commits under way and lets none begin.
 * A process that freezes while it copies would be waited for in vain, so its session is ended.
 * These locks are the program's own. A lock on the tables themselves would also wait for an open transaction of a user,
 * or an `analyze`, and hold all commits meanwhile.
 *
 * It comes before rows of coverage are locked: the other way round two transactions could wait for each other.
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
