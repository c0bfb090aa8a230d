import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Range } from '../../range.ts';
import type { Database, Session } from '../connection/database.ts';
import type { TableDescription } from './table-description.ts';
import { identifiers, rangeParam } from '../connection/sql.ts';
import { coverage } from '../schema/etl/coverage.ts';
import { partitions } from '../schema/etl/pages.ts';
import { quarantine } from '../schema/etl/quarantine.ts';
import { grades } from '../schema/etl/verification.ts';

/** A piece of a table that is stored by itself: a partition, or a whole table that has none. */
export interface TablePart {
  readonly table: TableDescription;
  /** Name of the partition, or of the table. */
  readonly name: string;
  /** The seconds of block time that are asked for, at most those of the partition; undefined for a whole table. */
  readonly span: Range | undefined;
}

/** What tells whether a part has changed since it was read: rows that come, change or go change one of them. */
export interface PartState {
  readonly rows: number;
  /** The newest `loaded_at`, as Postgres prints it in UTC; null where there are no rows. */
  readonly changedAt: string | null;
}

/** A row as text, in the order of the table's columns. */
export type TextRow = readonly (string | null)[];

const Span = z.object({ name: z.string(), from: z.coerce.number(), to: z.coerce.number() });
const State = z.object({ rows: z.coerce.number(), changedAt: z.string().nullable() });
const Row = z.object({ cells: z.array(z.string().nullable()) });
const Grade = z.object({ grade: z.string() });

/** Rows that are fetched at once. */
const BATCH = 5000;

/** The parts of a table that hold rows of a range, oldest first. */
export async function partsOf(
  database: Database,
  table: TableDescription,
  range: Range,
): Promise<TablePart[]> {
  if (!table.partitioned) return [{ table, name: table.name, span: undefined }];
  const spans = await database.rows(
    sql`
      select ${partitions.name}, lower(${partitions.span} * ${rangeParam(range)}) as "from",
        upper(${partitions.span} * ${rangeParam(range)}) as "to"
      from ${partitions} where ${partitions.parent} = ${table.name} and ${partitions.span} && ${rangeParam(range)}
      order by ${partitions.span}`,
    Span,
  );
  return spans.map(({ name, from, to }) => ({ table, name, span: { from, to } }));
}

export async function stateOf(database: Database, part: TablePart): Promise<PartState> {
  const [state = { rows: 0, changedAt: null }] = await database.rows(
    sql`select count(*) as rows, (max(loaded_at) at time zone 'UTC')::text as "changedAt" ${source(part)}`,
    State,
  );
  return state;
}

/**
 * How far to trust the rows of a part, for a dataset: `proved` or `cross-checked` where all of it was verified, `covered`
 * where all of it was read, else `incomplete`; so too where a record of it lies in quarantine.
 */
export async function gradeOf(database: Database, dataset: string, span: Range | undefined): Promise<string> {
  if (span === undefined) return 'as read';
  const [row] = await database.rows(
    sql`
      select case
        when count(*) = 0 or not bool_and(${coverage.covered} @> ${rangeParam(span)}) or exists (
          select from ${quarantine} where ${quarantine.dataset} = ${dataset}
            and ${quarantine.utime} >= to_timestamp(${span.from}) and ${quarantine.utime} < to_timestamp(${span.to}))
          then 'incomplete'
        when bool_and(${coverage.verified} @> ${rangeParam(span)}) then coalesce(max(${grades.grade}), 'covered')
        else 'covered' end as grade
      from ${coverage} left join ${grades} on ${grades.dataset} = ${coverage.dataset}
      where ${coverage.dataset} = ${dataset} and ${coverage.pass} = 0`,
    Grade,
  );
  return row?.grade ?? 'incomplete';
}

/**
 * Hands the rows of a part over, in the order of the key, in batches, as they were at one moment. Times are in UTC; values
 * as Postgres prints them.
 */
export async function readPart(
  database: Database,
  part: TablePart,
  onRows: (rows: readonly TextRow[]) => Promise<void>,
): Promise<void> {
  const { columns, key } = part.table;
  const cells = sql.join(
    columns.map(({ name }) => sql`${sql.identifier(name)}::text`),
    sql`, `,
  );
  await database.transaction(async (session) => {
    // Between two batches a file is written.
    await session.run(
      sql`select set_config('TimeZone', 'UTC', true), set_config('idle_in_transaction_session_timeout', '0', true)`,
    );
    await session.run(
      sql`declare part no scroll cursor for select array[${cells}] as cells ${source(part)} order by ${identifiers(key)}`,
    );
    for (;;) {
      const rows = await fetchRows(session);
      if (rows.length === 0) return;
      await onRows(rows);
    }
  });
}

async function fetchRows(session: Session): Promise<TextRow[]> {
  const rows = await session.rows(sql.raw(`fetch ${BATCH} from part`), Row);
  return rows.map(({ cells }) => cells);
}

function source({ table, span }: TablePart) {
  const from = sql`from ${sql.identifier(table.schema)}.${sql.identifier(table.name)}`;
  if (span === undefined) return from;
  return sql`${from} where utime >= to_timestamp(${span.from}) and utime < to_timestamp(${span.to})`;
}
