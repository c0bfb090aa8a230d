import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import { type Session, oneValue } from '../postgres/database.ts';
import { rangeParam, spansOfRow } from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { quarantine } from '../tables/etl/quarantine.ts';
import { grades } from '../tables/etl/verification.ts';

/** A dataset's coverage by first readings, for all of its pools or accounts. */
const isOf = (dataset: string) => sql`${coverage.dataset} = ${dataset} and ${coverage.pass} = 0`;

/** The seconds of a range that a dataset covers, for all of its pools or accounts; oldest first. */
export async function coveredBy(session: Session, dataset: string, range: Range): Promise<Range[]> {
  return oneValue(
    session,
    sql`select coalesce(range_intersect_agg(${coverage.covered} * int8multirange(${rangeParam(range)})), '{}')::text
        from ${coverage} where ${isOf(dataset)}`,
    spansOfRow,
  );
}

/**
 * True if the table's own dataset is a list or look-up that has begun to be read, and the role sees all rows. Only then
 * does a missing row mean anything. Not every seen subject need be known: in a large network it seldom is.
 */
export async function isRead(session: Session, table: string): Promise<boolean> {
  return oneValue(
    session,
    sql`
      select coalesce(bool_and(
        etl.begun(d.dataset) and not exists (select from etl.hidden_from(current_user, d.tables))), false)
      from etl.feeds f join etl.datasets d on d.dataset = f.dataset where f.relation = ${table}`,
    z.boolean(),
  );
}

/**
 * How far to trust the rows of a range: `proved` or `cross-checked` if all of it was verified, `covered` if
 * all of it was read, else `incomplete`. It is also `incomplete` if a record of it is in quarantine.
 */
export async function gradeOf(session: Session, dataset: string, span: Range): Promise<string> {
  return oneValue(
    session,
    sql`
      select case
        when count(*) = 0 or not bool_and(${coverage.covered} @> ${rangeParam(span)}) or exists (
          select from ${quarantine} where ${quarantine.dataset} = ${dataset}
            and ${quarantine.span} && ${rangeParam(span)})
          then 'incomplete'
        when bool_and(${coverage.verified} @> ${rangeParam(span)}) then coalesce(max(${grades.grade}), 'covered')
        else 'covered' end
      from ${coverage} left join ${grades} on ${grades.dataset} = ${coverage.dataset}
      where ${isOf(dataset)}`,
    z.string(),
  );
}
