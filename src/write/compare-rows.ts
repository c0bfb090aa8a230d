import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { stringify } from 'lossless-json';
import { secondOfTime, type Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { keyHash, ofScope, secondOfRow } from './seals.ts';
import { mayLack, targetOf, type Target } from './target.ts';
import { spanOfRow, during, secondOf } from '../postgres/sql.ts';
import { same } from './insert.ts';
import type { Scope } from '../dataset/job.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** A row on which the source and the table do not agree. */
export interface Difference {
  readonly kind: 'missing' | 'differing' | 'not_in_source';
  /** Its key without utime, as one text. */
  readonly key: string;
  readonly columns: readonly string[];
  /** The second of the row itself. */
  readonly second: Range;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Stored rows with values that none of the copies on the pages has, in columns that a copy may lack. */
  readonly omissions: readonly Omission[];
  /** The distinct rows of each second that are stored, whether or not they agree. */
  readonly matched: ReadonlyMap<number, RowSum>;
}

/** The number of rows, and the sum of their keys' hashes. */
export interface RowSum {
  readonly rows: number;
  readonly keys: bigint;
}

/** A stored row, and the columns for which the source gave no value. */
export type Omission = Pick<Difference, 'key' | 'columns' | 'second'>;

const Row = z.object({
  kind: z.enum(['missing', 'differing', 'not_in_source', 'omitted']),
  key: z.string(),
  columns: z.array(z.string()),
  second: spanOfRow,
});

const Matched = z.object({ second: z.coerce.number(), rows: z.coerce.number(), keys: z.coerce.bigint() });

/** The seconds from which rows were read, and the scope if there is one. */
export interface ReadRange {
  readonly span: Range;
  readonly scope?: Scope;
  /** If true, the rows are complete, so that further stored rows are not in the source. */
  readonly isAll: boolean;
}

/** Compares rows that were just read with the stored ones, by key. Copies of a row count together. */
export async function compareRows(
  session: Session,
  table: Table,
  rows: readonly object[],
  within: ReadRange,
): Promise<Comparison> {
  const target = targetOf(table);
  const found = await session.rows(
    sql`
      with n as materialized (
        select * from json_populate_recordset(null::${target.into}, ${stringify(rows) ?? '[]'}::json)),
      compared as (
        select n.utime, ${keyText(target, 'n')} as key, t.utime is null as missing, ${differingColumns(target, 'read')} as columns
        from n left join ${target.into} t on ${same('t', 'n', target.facts.key)}),
      omitted as (
        select n.utime, ${keyText(target, 'n')} as key, ${omittedColumns(target)} as columns
        from n join ${target.into} t on ${same('t', 'n', target.facts.key)} group by 1, 2)
      select distinct case when missing then 'missing' else 'differing' end as kind, key,
        case when missing then '{}' else columns end as columns, ${secondOf('c')}::text as second
      from compared c where missing or cardinality(columns) > 0
      union all
      select 'omitted', key, columns, ${secondOf('u')}::text from omitted u where cardinality(columns) > 0
      ${within.isAll ? sql`union all ${beyond(target, within)}` : sql``}`,
    Row,
  );
  const matched = await session.rows(
    sql`select second, count(*) as rows, sum(hash) as keys from (
          select distinct ${secondOfRow(sql`n`)} as second, ${keyText(target, 'n')} as key, ${keyHash(target, sql`n`)} as hash
          from json_populate_recordset(null::${target.into}, ${stringify(rows.map((row) => keyColumns(target, row))) ?? '[]'}::json) n
          join ${target.into} t on ${same('t', 'n', target.facts.key)}) m group by 1`,
    Matched,
  );
  return {
    differences: found.flatMap(({ kind, ...row }) => (kind === 'omitted' ? [] : [{ kind, ...row }])),
    omissions: found.filter(({ kind }) => kind === 'omitted'),
    matched: new Map(matched.map(({ second, ...sum }) => [second, sum])),
  };
}

/**
 * The seconds in which the rows of a staging table differ from the stored ones: a value differs, or a row exists only
 * on one side. The staging table has all rows of the source. A value that the source has gained since does not count.
 */
export async function differingSeconds(
  session: Session,
  target: Target,
  within: Omit<ReadRange, 'isAll'>,
): Promise<Range[]> {
  const rows = await session.rows(
    sql`
      with n as (select * from ${target.staging.name}),
      differing as (
        select ${secondOf('n')}::text as second from n left join ${target.into} t on ${same('t', 'n', target.facts.key)}
        where t.utime is null or cardinality(${differingColumns(target, 'stored')}) > 0
        union
        select second from (${beyond(target, within)}) b (kind, key, columns, second))
      select second from differing`,
    z.object({ second: Row.shape.second }),
  );
  return rows.map(({ second }) => second);
}

function beyond(target: Target, { span, scope }: Omit<ReadRange, 'isAll'>): SQL {
  return sql`
    select 'not_in_source', ${keyText(target, 't')}, '{}'::text[], ${secondOf('t')}::text from ${target.into} t
    where ${during('t', span)} ${ofScope(scope)}
      and not exists (select 1 from n where ${same('t', 'n', target.facts.key)})`;
}

/** The columns by which a row is found: some tables have a hundred others. */
function keyColumns({ facts }: Target, row: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(facts.key.map((name): [string, unknown] => [name, Reflect.get(row, name)]));
}

/** The second in which a row itself lies; undefined if it has no time. */
export function ownSecondOf(row: object): number | undefined {
  return 'utime' in row && typeof row.utime === 'string' ? secondOfTime(row.utime) : undefined;
}

/** The key of a row within its second, equal to `keyText` in SQL. */
export function keyOf(table: Table, row: object): string {
  const values = new Map<string, unknown>(Object.entries(row));
  const names = targetOf(table).facts.key.filter((name) => name !== 'utime');
  return names.map((name) => String(values.get(name))).join(' ');
}

export function keyText({ facts }: Target, alias: string): SQL {
  const names = facts.key.filter((name) => name !== 'utime');
  return sql`concat_ws(' ', ${sql.join(
    names.map((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`),
    sql`, `,
  )})`;
}

/** The columns in which two copies differ, except values that the `incomplete` copy may lack and does. */
function differingColumns(target: Target, incomplete: 'read' | 'stored'): SQL {
  const { facts, columns } = target;
  const tests = columns
    .filter((name) => !facts.key.includes(name))
    .map((name) => {
      const [stored, read] = [sql`t.${sql.identifier(name)}`, sql`n.${sql.identifier(name)}`];
      const lacking = mayLack(target.facts, name)
        ? sql`${incomplete === 'read' ? read : stored} is null`
        : sql`false`;
      return sql`case when ${stored} is distinct from ${read} and not ${lacking} then ${name}::text end`;
    });
  return namesOf(tests);
}

/** The names of the columns in which a stored row has a value and no copy has one, if copies may lack them. */
function omittedColumns(target: Target): SQL {
  const tests = target.columns
    .filter((name) => !target.facts.key.includes(name) && mayLack(target.facts, name))
    .map((name) => {
      const [stored, read] = [sql`t.${sql.identifier(name)}`, sql`n.${sql.identifier(name)}`];
      return sql`case when count(${read}) = 0 and bool_or(${stored} is not null) then ${name}::text end`;
    });
  return namesOf(tests);
}

function namesOf(tests: SQL[]): SQL {
  if (tests.length === 0) return sql`array[]::text[]`;
  return sql`array_remove(array[${sql.join(tests, sql`, `)}], null)`;
}
