import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { MOST_HALVES, type Fresh } from '../../dataset/fresh.ts';
import { formatTime, type Range } from '../../range.ts';
import { during } from '../connection/seconds.ts';
import { identifiers, rangeParam, texts } from '../connection/sql.ts';
import type { Session } from '../connection/database.ts';
import { isLive } from '../coordination/leases.ts';
import { coverage, leases } from '../schema/etl/coverage.ts';
import { secondOfRow } from '../write/receipts.ts';
import { halfOf } from '../write/rows/newness.ts';
import { canBeNew, targetOf, type Target } from '../write/rows/target.ts';

interface Touchable {
  readonly dataset: string;
  /** The tables that the dataset fills, by name, its own first. */
  readonly tables: Readonly<Record<string, object>>;
  /** A range that is leased, in unix seconds. */
  readonly span: Range;
}

/** The bits of `tgtype` of a trigger that may change a row: for each row, before, at inserts. */
const BEFORE_EACH_INSERT = 1 + 2 + 4;

const Answer = z.object({ is_begun: z.boolean(), is_untouched: z.boolean() });

/**
 * Which records of a leased range are new, if any: the dataset's own table has no row of its seconds, but for the first one,
 * where an earlier page may have ended, and of no dataset that owns another of its tables is any of the range covered or
 * being read. A row can be stored even so, brought along from elsewhere. Then the table says so. Where a trigger changes rows
 * on their way, nobody knows what is stored of new ones.
 */
export async function freshOf(
  session: Session,
  { dataset, tables, span }: Touchable,
): Promise<Fresh | undefined> {
  const targets = Object.values(tables).map(targetOf);
  const [own] = targets;
  if (own === undefined || !own.facts.partitioned || !targets.some(canBeNew)) return undefined;
  const names = texts(targets.map(({ name }) => name));
  const [from, to] = [formatTime(span.from), formatTime(span.to)];
  const others = sql`(
    select d.dataset from etl.datasets d
    where d.dataset <> ${dataset} and d.tables && array(${names}))`;
  const [answer] = await session.rows(
    sql`
      select exists (select from ${own.into} t where t.utime = ${from}) as is_begun,
        not exists (select from ${own.into} t where t.utime > ${from} and t.utime < ${to})
        and not exists (
          select from ${coverage} where ${coverage.dataset} in ${others} and ${coverage.covered} && ${rangeParam(span)})
        and not exists (
          select from ${leases} where ${leases.dataset} in ${others} and ${leases.span} && ${rangeParam(span)}
            and ${isLive})
        and not exists (
          select from pg_trigger g
          where (g.tgtype & ${BEFORE_EACH_INSERT}) = ${BEFORE_EACH_INSERT} and g.tgenabled <> 'D'
            and pg_partition_root(g.tgrelid) in (select ('ton.' || name)::regclass from (${names}) t (name)))
        as is_untouched`,
    Answer,
  );
  if (!answer?.is_untouched) return undefined;
  const halves = await halvesIn(session, targets, span);
  return { after: answer.is_begun ? span.from : span.from - 1, but: new Map(), halves };
}

const Half = z.object({ second: z.coerce.number(), rest: z.string() });

/**
 * The rows of a range that other ranges have brought; undefined for too many. Nobody asks what they hold, so they are filled
 * in anew.
 */
async function halvesIn(session: Session, targets: readonly Target[], span: Range): Promise<Fresh['halves']> {
  const halves = new Map<string, number>();
  for (const target of targets.filter(({ facts }) => facts.shared !== undefined)) {
    const rest = target.facts.key.filter((name) => name !== 'utime');
    const rows = await session.rows(
      sql`
        select ${secondOfRow(sql`t`)} as second, concat_ws('|', ${identifiers(rest)}) as rest
        from ${target.into} t where ${during('t', span)} limit ${MOST_HALVES + 1}`,
      Half,
    );
    for (const row of rows) halves.set(halfOf(target, `${formatTime(row.second)}|${row.rest}`), 0);
  }
  return halves.size > MOST_HALVES ? undefined : halves;
}
