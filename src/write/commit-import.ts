import { randomBytes } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseConflictError } from '../errors.ts';
import { formatTime, union, type Range } from '../range.ts';
import { type CopyPieces, identifiers } from '../postgres/sql.ts';
import {
  oneRow,
  type Database,
  type OpenTransaction,
  type Session,
  writeTransaction,
} from '../postgres/database.ts';
import { addCoverage, forgetRefusals } from '../ledger/stored-coverage.ts';
import { logPage, commitRows, NO_PAGE } from './commit.ts';
import {
  attachFilled,
  isFree,
  makeTable,
  nameOf,
  tableNamed,
  type Partitions,
  byRank,
  targetOf,
  type Target,
} from './target.ts';
import { isCurrent, deleteSuperseded, type Staged } from './insert.ts';
import { secondOfRow } from './seals.ts';
import { announceWrites, Seconds, secondsOf, unverify } from './certificates.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** Rows of a table in the text format of COPY, in the order of `columnsToImport`. */
export interface ImportedRows {
  readonly table: Table;
  /** Produced while the server takes them. */
  readonly pieces: () => CopyPieces;
}

/** Rows from a lake, and what they cover. */
export interface Import {
  readonly rows: readonly ImportedRows[];
  /** The seconds of which the rows are complete, for each dataset; all of one day. */
  readonly covered: readonly ImportedSpan[];
  /** The entry in the log of pages. */
  readonly log: {
    /** `import` and the source of the rows. */
    readonly request: string;
    readonly worker: string;
  };
}

interface ImportedSpan {
  readonly dataset: string;
  readonly span: Range;
  /** Estimated rows in the dataset's own table. */
  readonly rows: number;
}

/**
 * Names of the imported columns: `loaded_at` is not one of them, because it says when a row came into this database.
 */
export function columnsToImport(table: Table): readonly string[] {
  return targetOf(table).columns;
}

/**
 * Writes imported rows and their coverage. None of it is verified.
 * @returns the number of new rows
 */
export async function commitImport(
  database: Database,
  partitions: Partitions,
  imported: Import,
): Promise<number> {
  const { rows, covered } = imported;
  const tables = rows.map(({ table }) => table);
  await partitions.ensure(tables, new Set(covered.map(({ span }) => formatTime(span.from))));
  return commitRows(database, {
    load: async (session) => {
      const staged: Staged[] = [];
      for (const { table, pieces } of rows) staged.push(await stage(session, targetOf(table), pieces()));
      staged.sort((a, b) => byRank(a.target, b.target));
      return { staged, checked: await announceWrites(session, staged), copied: [] };
    },
    hold: () => Promise.resolve(),
    finish: (session) => coverImported(session, imported),
  });
}

/**
 * Adds the coverage of imported rows. They are also logged as pages: the time of the import counts as that of the
 * reading, for second readings and for lookups that search for new rows.
 */
async function coverImported(session: OpenTransaction, { covered, log }: Import): Promise<void> {
  for (const { dataset, span, rows } of covered) {
    const stream = { dataset, scope: '', pass: 0 };
    await forgetRefusals(session, stream, span);
    const page = { ...NO_PAGE, span, rows, request: log.request };
    await logPage(session, { ...stream, worker: log.worker }, page, span);
    await addCoverage(session, stream, span);
  }
}

const Second = z.coerce.number().nullable();
const Counted = z.object({ rows: z.coerce.number(), first: Second, last: Second });

async function stage(session: Session, target: Target, pieces: CopyPieces): Promise<Staged> {
  await session.copyIn(target.staging.copy, pieces);
  const row = await oneRow(
    session,
    target.facts.partitioned
      ? sql`select count(*) as rows, min(${secondOfRow(sql`n`)}) as first, max(${secondOfRow(sql`n`)}) as last
          from ${target.staging.name} n`
      : sql`select count(*) as rows, null as first, null as last from ${target.staging.name}`,
    Counted,
  );
  const { rows: count, first, last } = row;
  const seconds = first === null || last === null ? [] : union([{ from: first, to: last + 1 }]);
  return { target, count, seconds };
}

interface Filling {
  readonly tables: readonly Table[];
  /** The range of the partition. */
  readonly period: Range;
  /** The imports, one after another. The iteration ends early if the run is stopped. */
  readonly imports: Iterable<Import>;
}

/** Memory for sorting while an index is built. */
const INDEX_MEMORY = '256MB';

/**
 * Fills new partitions with imported rows in one transaction: by COPY into tables without indexes, which are indexed
 * afterwards and attached last.
 * @returns the number of rows; undefined, with nothing done, if a table already has a partition of the period
 */
export async function fillPartitions(
  database: Database,
  { tables, period, imports }: Filling,
): Promise<number | undefined> {
  const targets = tables.map(targetOf).toSorted(byRank);
  for (const { name } of targets) if (!(await isFree(database, name, period))) return undefined;
  // Another process that needs the partition meanwhile creates it without waiting.
  const own = randomBytes(3).toString('hex');
  const apart = new Map(
    targets.map((target): [Table, Apart] => [
      target.table,
      { target, name: `${nameOf(target.name, period)}_${own}` },
    ]),
  );
  return writeTransaction(database, (session) =>
    fill(session, { period, imports, apart: [...apart.values()] }),
  ).catch((error: unknown) => {
    // Another process has created the same partition: its rows count.
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
  const imported: Import[] = [];
  for (const one of imports) {
    for (const { table, pieces } of one.rows)
      for (const { target, name } of apart.filter((other) => other.target.table === table))
        await session.copyIn(
          sql`copy ${tableNamed(name)} (${identifiers(target.columns)}) from stdin (freeze)`,
          pieces(),
        );
    imported.push(one);
  }
  await session.run(sql`select set_config('maintenance_work_mem', ${INDEX_MEMORY}, true)`);
  for (const { target, name } of apart) await buildIndexes(session, target, tableNamed(name));
  await announceWrites(
    session,
    apart.map(({ target }) => ({ target, seconds: [period] })),
  );
  let rows = 0;
  for (const { target, name } of apart) {
    rows += await take(session, target, tableNamed(name));
    await attachFilled(session, target.name, { period, name });
  }
  for (const one of imported) await coverImported(session, one);
  return rows;
}

const Definition = z.object({ definition: z.string(), is_constraint: z.boolean() });

/** Builds the indexes that the partition must have, before the locks that block other processes. */
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

/** Handles the rows like a page's commit does in `insert.ts`. Returns their number. */
async function take(session: OpenTransaction, target: Target, table: SQL): Promise<number> {
  if (target.facts.supersedes !== undefined) {
    const gone = await deleteSuperseded(session, { ...target, staging: { ...target.staging, name: table } });
    await unverify(session, [gone]);
    await session.run(sql`delete from ${table} n where not (${isCurrent(target)})`);
  }
  const left = await oneRow(
    session,
    sql`select count(*) as rows, (${secondsOf(table)}) as seconds from ${table}`,
    Seconds.extend({ rows: z.coerce.number() }),
  );
  await unverify(session, [{ target, seconds: left.seconds }]);
  return left.rows;
}
