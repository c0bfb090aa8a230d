import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { parseRangeText, type Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { multirangeParam, rangeParam } from '../connection/sql.ts';

/** What is read: a dataset, for one pool or account or (empty) as a whole, the first time or again. */
export interface Stream {
  readonly dataset: string;
  readonly scope: string;
  readonly pass: number;
}

const Spans = z.object({ spans: z.string() });

/** Adds what a page completed. Done in SQL, so that two writers cannot undo each other; the last statement of a commit. */
export async function addCoverage(session: Session, stream: Stream, range: Range): Promise<void> {
  await session.run(sql`
    insert into etl.coverage as c (dataset, scope, pass, covered)
    values (${stream.dataset}, ${stream.scope}, ${stream.pass}, int8multirange(${rangeParam(range)}))
    on conflict (dataset, scope, pass) do update set covered = c.covered + excluded.covered, updated_at = default`);
}

/**
 * Takes ranges out of coverage, so that they are read again. The leases that overlap go first, which waits for commits
 * under way: no page asked for before can cover the hole again. Those of earlier passes too: what had matured when it was
 * read first is covered for both passes by one commit.
 */
export async function subtractCoverage(
  session: Session,
  stream: Stream,
  holes: readonly Range[],
): Promise<void> {
  const spans = multirangeParam(holes);
  await session.run(sql`
    delete from etl.leases
    where dataset = ${stream.dataset} and scope = ${stream.scope} and pass <= ${stream.pass} and span && ${spans}`);
  await session.run(sql`
    update etl.coverage set covered = covered - ${spans}, verified = verified - ${spans}, updated_at = default
    where dataset = ${stream.dataset} and scope = ${stream.scope} and pass = ${stream.pass}`);
}

/** The covered ranges, oldest first. */
export async function readCoverage(session: Session, stream: Stream): Promise<Range[]> {
  const [row] = await session.rows(
    sql`select covered::text as spans from etl.coverage
        where dataset = ${stream.dataset} and scope = ${stream.scope} and pass = ${stream.pass}`,
    Spans,
  );
  return parseRangeText(row?.spans ?? '{}');
}

/** What of `wanted` is not covered, oldest first, whether or not somebody is reading it or it was set aside. */
export async function readMissing(
  session: Session,
  stream: Stream,
  wanted: readonly Range[],
): Promise<Range[]> {
  const [row] = await session.rows(
    sql`select (${multirangeParam(wanted)} - ${coveredOf(stream)})::text as spans`,
    Spans,
  );
  return parseRangeText(row?.spans ?? '{}');
}

/** The covered ranges of a stream, as a scalar within a statement. */
export function coveredOf({ dataset, scope, pass }: Stream) {
  return sql`coalesce((select covered from etl.coverage
    where dataset = ${dataset} and scope = ${scope} and pass = ${pass}), '{}')`;
}

/** The ranges of a stream that must not be asked for yet, as a scalar within a statement. */
export function refusedOf({ dataset, scope, pass }: Stream) {
  return sql`coalesce((select range_agg(span) from etl.refused
    where dataset = ${dataset} and scope = ${scope} and pass = ${pass} and retry_at > clock_timestamp()), '{}')`;
}

/**
 * What of `range` was covered by a first reading at least `age` seconds ago and not by a second one: two readings that
 * lie closer together would be answered from the same copy and prove nothing.
 */
export async function readDue(session: Session, first: Stream, range: Range, age: number): Promise<Range[]> {
  const { dataset, scope } = first;
  const [row] = await session.rows(
    sql`select (${coveredOf(first)} * ${multirangeParam([range])} - ${coveredOf({ ...first, pass: 1 })}
          - coalesce((select range_agg(completed) from etl.pages
              where dataset = ${dataset} and scope = ${scope} and pass = 0 and completed is not null
                and committed_at > clock_timestamp() - make_interval(secs => ${age})), '{}'))::text as spans`,
    Spans,
  );
  return parseRangeText(row?.spans ?? '{}');
}
