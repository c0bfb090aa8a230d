import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseError, DatabaseUnavailableError } from '../errors.ts';
import { oneRow, type Database, type Session } from '../postgres/database.ts';
import { targetOf } from '../write/target.ts';

/** If counting takes longer than this, Postgres' own estimate is used. */
const TIME_LIMIT = '2s';

export interface RowCount {
  readonly table: string;
  readonly rows: number;
  /** False if the number is Postgres' estimate, because counting took too long. */
  readonly exact: boolean;
}

const Count = z.object({ rows: z.coerce.number() });

/** Counts the rows of a data table. */
export async function countRows(database: Database, table: object): Promise<RowCount> {
  const { name, into } = targetOf(table);
  try {
    const row = await database.transaction(async (session) => {
      await session.run(sql`select set_config('statement_timeout', ${TIME_LIMIT}, true)`);
      return oneRow(session, sql`select count(*) as rows from ${into}`, Count);
    });
    return { table: name, rows: row.rows, exact: true };
  } catch (error) {
    // If the database is down rather than slow, the estimate fails, too.
    if (!(error instanceof DatabaseError) && !(error instanceof DatabaseUnavailableError)) throw error;
    return { table: name, rows: await estimate(database, name), exact: false };
  }
}

/** The approximate number of rows that Postgres maintains: costs next to nothing. */
export async function estimateRows(database: Session, table: object): Promise<RowCount> {
  const { name } = targetOf(table);
  return { table: name, rows: await estimate(database, name), exact: false };
}

async function estimate(database: Session, name: string): Promise<number> {
  const table = `ton.${name}`;
  const row = await oneRow(
    database,
    sql`select coalesce(sum(greatest(reltuples::int8, n_live_tup, 0)), 0)::int8 as rows
        from (select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)) tree
          join pg_class on pg_class.oid = tree.relid left join pg_stat_user_tables stats on stats.relid = tree.relid
        where relkind = 'r'`,
    Count,
  );
  return row.rows;
}
