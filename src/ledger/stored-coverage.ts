import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { DAY, type Range } from '../range.ts';
import { oneRow, type Session } from '../postgres/database.ts';
import { bare, excluded, insertInto, multirangeParam, rangeParam, spansOfRow } from '../postgres/sql.ts';
import { coverage, leases, refused } from '../tables/etl/coverage.ts';
import { pages } from '../tables/etl/pages.ts';

/** A dataset, as a whole (empty scope) or for one pool or account, read first (pass 0) or a second time (pass 1). */
export interface Stream {
  readonly dataset: string;
  readonly scope: string;
  readonly pass: number;
}

const Spans = z.object({ spans: spansOfRow });

/**
 * Adds what a page completed, in SQL, so that two writers cannot undo each other. It is the last statement of a commit.
 */
export async function addCoverage(session: Session, stream: Stream, range: Range): Promise<void> {
  const { dataset, scope, pass, covered, updated_at } = coverage;
  await session.run(sql`
    ${insertInto(coverage, { ...stream, covered: sql`int8multirange(${rangeParam(range)})` })}
    on conflict (${bare(dataset, scope, pass)}) do update
      set ${bare(covered)} = ${covered} + ${excluded(covered)}, ${bare(updated_at)} = default`);
}

/** Removes ranges from a stream's coverage, so that they are read again, and deletes the leases that overlap them. */
export function subtractCoverage(session: Session, stream: Stream, holes: readonly Range[]): Promise<void> {
  const { dataset, scope, pass } = stream;
  return takeOutOfCoverage(session, multirangeParam(holes), {
    leases: sql`${leases.dataset} = ${dataset} and ${leases.scope} = ${scope} and ${leases.pass} = ${pass}`,
    coverage: ofStream(coverage, stream),
  });
}

/**
 * Removes ranges from the coverage rows that a condition selects. Overlapping leases are deleted first, which waits for
 * commits in progress: no page that was requested before can cover the ranges again.
 */
export async function takeOutOfCoverage(
  session: Session,
  ranges: SQL,
  where: { readonly leases: SQL; readonly coverage: SQL },
): Promise<void> {
  const { covered, verified, updated_at } = coverage;
  await session.run(sql`delete from ${leases} where ${where.leases} and ${leases.span} && ${ranges}`);
  await session.run(sql`
    update ${coverage} set ${bare(covered)} = ${covered} - ${ranges}, ${bare(verified)} = ${verified} - ${ranges},
      ${bare(updated_at)} = default
    where ${where.coverage} and ${covered} && ${ranges}`);
}

/** The covered ranges, oldest first. */
export async function readCoverage(session: Session, stream: Stream): Promise<Range[]> {
  const [row] = await session.rows(
    sql`select ${coverage.covered}::text as spans from ${coverage} where ${ofStream(coverage, stream)}`,
    Spans,
  );
  return row?.spans ?? [];
}

/** The part of `wanted` that is not covered, oldest first. It includes leased and refused ranges. */
export async function readMissing(
  session: Session,
  stream: Stream,
  wanted: readonly Range[],
): Promise<Range[]> {
  const row = await oneRow(
    session,
    sql`select (${multirangeParam(wanted)} - ${coveredOf(stream)})::text as spans`,
    Spans,
  );
  return row.spans;
}

/** The covered ranges of a stream, as a scalar within a statement. */
export function coveredOf(stream: StreamColumns): SQL {
  return sql`coalesce((select ${coverage.covered} from ${coverage} where ${ofStream(coverage, stream)}), '{}')`;
}

/**
 * The seconds of some ranges that were ever covered, as a scalar within a statement: those that are covered now, and
 * those that a page completed. A page's rows lie within a day of the range that it completes.
 */
export function everReadOf(stream: StreamColumns, ranges: readonly Range[]): SQL {
  const hull = { from: (ranges[0]?.from ?? 0) - DAY, to: (ranges.at(-1)?.to ?? 0) + DAY };
  const all = multirangeParam(ranges);
  const completed = sql`select range_agg(${pages.completed}) from ${pages} where ${ofStream(pages, stream)}
    and ${pages.span} && ${rangeParam(hull)} and ${pages.completed} && ${all}`;
  // Pages are not searched if everything is covered, which is the usual case.
  return sql`(case when ${all} <@ ${coveredOf(stream)} then ${all}
    else ${all} * (${coveredOf(stream)} + coalesce((${completed}), '{}')) end)`;
}

/** The seconds of some ranges that were ever covered, oldest first. */
export async function readEverRead(
  session: Session,
  stream: Stream,
  ranges: readonly Range[],
): Promise<Range[]> {
  const [row] = await session.rows(sql`select ${everReadOf(stream, ranges)}::text as spans`, Spans);
  return row?.spans ?? [];
}

/** The ranges of a stream that must not be read yet, as a scalar within a statement. */
export function refusedOf(stream: StreamColumns): SQL {
  return sql`coalesce((select range_agg(${refused.span}) from ${refused}
    where ${ofStream(refused, stream)} and ${refused.reason} <> 'disputed' and ${refused.retry_at} > clock_timestamp()), '{}')`;
}

/**
 * For each first reading, the part of `range` that was covered at least `ageSeconds` ago and not confirmed by a second
 * reading. Two readings at shorter intervals could be answered from the same copy, and prove nothing. A second reading
 * that differed counts as a first one. It is one statement for all, because there are many pools.
 */
export async function readDue(
  session: Session,
  firsts: readonly Stream[],
  range: Range,
  ageSeconds: number,
): Promise<[Stream, Range[]][]> {
  if (firsts.length === 0) return [];
  const first = { dataset: sql`f.dataset`, scope: sql`f.scope`, pass: 0 };
  const again = { ...first, pass: 1 };
  const rows = await session.rows(
    sql`
      with f as (
        select ordinality as position, j->>'dataset' as dataset, j->>'scope' as scope
        from json_array_elements(${JSON.stringify(firsts)}::json) with ordinality as a (j, ordinality))
      select (${coveredOf(first)} * ${multirangeParam([range])} - ${coveredOf(again)} - ${refusedOf(again)}
        - coalesce((select range_agg(${pages.completed}) from ${pages}
            where ${ofStream(pages, first)} and ${pages.completed} is not null
              and ${pages.committed_at} > clock_timestamp() - make_interval(secs => ${ageSeconds})), '{}'))::text as spans
      from f order by position`,
    Spans,
  );
  return firsts.map((stream, index) => [stream, rows[index]?.spans ?? []]);
}

/** When a second reading of ranges can follow the first one, in unix seconds; undefined if no page was logged. */
export async function dueAt(
  session: Session,
  first: Stream,
  ranges: readonly Range[],
  ageSeconds: number,
): Promise<number | undefined> {
  const [row] = await session.rows(
    sql`select ceil(extract(epoch from max(${pages.committed_at})))::int8 + ${ageSeconds}::int8 as at from ${pages}
        where ${ofStream(pages, first)} and ${pages.completed} && ${multirangeParam(ranges)}`,
    z.object({ at: z.coerce.number().nullable() }),
  );
  return row?.at ?? undefined;
}

/** Removes from the coverage of all datasets what pages of the last `ageSeconds` completed above a second. */
export async function withdrawReadSince(session: Session, from: number, ageSeconds: number): Promise<void> {
  const { spans } = await oneRow(
    session,
    sql`select (coalesce(range_agg(${pages.completed}), '{}') * int8multirange(int8range(${from}::int8, null)))::text as spans
        from ${pages} where ${pages.completed} is not null
          and ${pages.committed_at} > clock_timestamp() - make_interval(secs => ${ageSeconds})`,
    Spans,
  );
  if (spans.length === 0) return;
  await takeOutOfCoverage(session, multirangeParam(spans), { leases: sql`true`, coverage: sql`true` });
}

/** The columns that identify a stream within a statement; plain values become parameters. */
export interface StreamColumns {
  readonly dataset: string | SQL;
  readonly scope: string | SQL;
  readonly pass: number | SQL;
}

/** True of the rows of a table that belong to a stream. */
export function ofStream(
  table: { readonly dataset: PgColumn; readonly scope: PgColumn; readonly pass: PgColumn },
  { dataset, scope, pass }: StreamColumns,
): SQL {
  return sql`${table.dataset} = ${dataset} and ${table.scope} = ${scope} and ${table.pass} = ${pass}`;
}
