import { getTableColumns, is, sql, type SQL } from 'drizzle-orm';
import { getTableConfig, PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import { factsOf, type TableFacts } from '../../schema/describe.ts';
import { identifiers, workedOnce } from '../../connection/sql.ts';
import { stagingTableOf, type StagingTable } from './staging-table.ts';

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
    copy: workedOnce(sql`copy ${into} (${identifiers(columns)}) from stdin`),
  };
  targets.set(table, target);
  return target;
}

/** Generated columns cannot be written; those with a default would become null, for rows lack them. */
function isWritten(column: PgColumn): boolean {
  return column.generated === undefined && column.generatedIdentity === undefined && !column.hasDefault;
}
