import { randomBytes } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseConflictError } from '../../errors.ts';
import type { Range } from '../../range.ts';
import type { Database, OpenTransaction, Session } from '../connection/database.ts';
import { identifiers } from '../connection/sql.ts';
import { coverImported, type Import } from './commit-import.ts';
import { attachFilled, isFree, makeTable, nameOf, tableNamed } from './partitions.ts';
import { lockTables } from './rows/lock-tables.ts';
import { byRank } from './rows/rows-by-table.ts';
import { isCurrent, makeWay } from './rows/supersede.ts';
import { targetOf, type Target } from './rows/target.ts';
import { noteWrites, Seconds, secondsOf, unverify } from './writes.ts';
import { writeTransaction } from './write-transaction.ts';

interface Filling {
  readonly tables: readonly object[];
  /** The whole of a partition. */
  readonly period: Range;
  /** What comes one after another: as many of them as are asked for before somebody says stop. */
  readonly imports: Iterable<Import>;
}

/** Rows that are sorted in memory while an index is built. */
const INDEX_MEMORY = '256MB';

/**
 * Fills new partitions with rows from elsewhere in one transaction: by COPY into tables without indexes, which get them
 * afterwards and are attached last.
 * @returns the number of rows; undefined, and nothing done, where some table has a partition of the period
 */
export async function fillPartitions(
  database: Database,
  { tables, period, imports }: Filling,
): Promise<number | undefined> {
  const targets = tables.map(targetOf).toSorted(byRank);
  for (const { name } of targets) if (!(await isFree(database, name, period))) return undefined;
  // Whoever needs the partition meanwhile makes it, and waits for nobody.
  const own = randomBytes(3).toString('hex');
  const apart = new Map(
    targets.map((target): [object, Apart] => [
      target.table,
      { target, name: `${nameOf(target.name, period)}_${own}` },
    ]),
  );
  return writeTransaction(database, (session) =>
    fill(session, { period, imports, apart: [...apart.values()] }),
  ).catch((error: unknown) => {
    // Another process has begun the same partition: its rows count.
    if (error instanceof DatabaseConflictError) return undefined;
    throw error;
  });
}

/** A table that is filled before it becomes a partition. */
interface Apart {
  readonly target: Target;
  readonly name: string;
}

async function fill(
  session: OpenTransaction,
  { period, imports, apart }: Omit<Filling, 'tables'> & { readonly apart: readonly Apart[] },
): Promise<number> {
  for (const { target, name } of apart) await makeTable(session, target.name, name);
  const brought: Import[] = [];
  for (const one of imports) {
    for (const { table, pieces } of one.rows)
      for (const { target, name } of apart.filter((other) => other.target.table === table))
        await session.copyIn(
          sql`copy ${tableNamed(name)} (${identifiers(target.columns)}) from stdin (freeze)`,
          pieces(),
        );
    brought.push(one);
  }
  await session.run(sql`select set_config('maintenance_work_mem', ${INDEX_MEMORY}, true)`);
  for (const { target, name } of apart) await buildIndexes(session, target, tableNamed(name));
  await lockTables(
    session,
    apart.map(({ target }) => target),
    'shared',
  );
  let rows = 0;
  for (const { target, name } of apart) {
    rows += await take(session, target, { table: tableNamed(name), period });
    await attachFilled(session, target.name, { period, name });
  }
  for (const one of brought) await coverImported(session, one);
  return rows;
}

const Definition = z.object({ definition: z.string(), is_constraint: z.boolean() });

/** The indexes that the partition must have: built before anybody waits for it. */
async function buildIndexes(session: Session, { name }: Target, table: SQL): Promise<void> {
  const parent = sql`(${`ton.${name}`})::regclass`;
  const definitions = await session.rows(
    sql`
      select pg_get_constraintdef(oid) as definition, true as is_constraint from pg_constraint
      where conrelid = ${parent} and contype in ('p', 'u')
      union all
      select substring(pg_get_indexdef(i.indexrelid) from ' USING .*$'), false from pg_index i
      where i.indrelid = ${parent} and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    Definition,
  );
  for (const { definition, is_constraint: isConstraint } of definitions) {
    const text = sql.raw(definition);
    await session.run(
      isConstraint ? sql`alter table ${table} add ${text}` : sql`create index on ${table} ${text}`,
    );
  }
}

/** Does what a page's commit does with rows, `rows/insert.ts`; their number. */
async function take(
  session: OpenTransaction,
  target: Target,
  { table, period }: { readonly table: SQL; readonly period: Range },
): Promise<number> {
  if (target.facts.supersedes !== undefined) {
    const gone = await makeWay(session, { ...target, staging: { ...target.staging, name: table } });
    await unverify(session, [gone]);
    await session.run(sql`delete from ${table} n where not (${isCurrent(target)})`);
  }
  const [left] = await session.rows(
    sql`select count(*) as rows, (${secondsOf(table)}) as seconds from ${table}`,
    Seconds.extend({ rows: z.coerce.number() }),
  );
  if (left === undefined) return 0;
  await noteWrites(session, [{ target, seconds: [period] }]);
  await unverify(session, [{ target, seconds: left.seconds }]);
  return left.rows;
}
