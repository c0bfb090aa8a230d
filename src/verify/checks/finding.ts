import * as z from 'zod';
import { type SQL, sql } from 'drizzle-orm';
import { type Session, oneValue } from '../../postgres/database.ts';
import { type Range, type Stretch, union } from '../../range.ts';
import { spanOfRow, spansOfRow } from '../../postgres/sql.ts';
import { MOST_NAMED } from '../../ledger/stored-findings.ts';
import type { ReadRows } from '../../write/seals.ts';

/** What a check found, all of one kind, with the seconds of a dataset that it makes doubtful. */
export interface Finding {
  readonly check: string;
  /** The dataset whose rows are missing or wrong, and that would have to be read again. */
  readonly dataset: string;
  /** The pool or account whose rows are missing or wrong; empty if the dataset is read as a whole. */
  readonly scope: string;
  readonly kind: string;
  /** Half-open ranges of unix seconds to be read again. */
  readonly spans: readonly Range[];
  readonly count: number;
  /** One of them, in a form that can be looked up. */
  readonly example: string;
  /**
   * What happens to the seconds. `hole`: rows are missing, so the seconds are not covered. `surplus`: rows are stored
   * that the source does not have; they are removed before the seconds are read again. `doubt`: rows do not agree, but
   * none is known to be missing; if the source confirms them, they stay. `known`: the missing rows are in quarantine,
   * so reading again would not help. `follows`: possibly wrong only because of another finding, and unproved until that
   * one is resolved. `open`: nothing is wrong, but nothing proves it either. `expired`: like `open`, because retention
   * has dropped the evidence; an earlier certificate stays valid.
   */
  readonly outcome: 'hole' | 'surplus' | 'doubt' | 'known' | 'follows' | 'open' | 'expired';
  /** The table whose rows are surplus, or do not match the seal. */
  readonly table?: object;
  /** The rows, as far as they are named one by one. */
  readonly rows: readonly NamedRow[];
}

/** A row of a finding: its key and its seconds. */
export interface NamedRow {
  readonly key: string;
  /** Seconds in which the checked dataset holds the row. */
  readonly span: Range;
  /** The table that holds the row, if it is not the finding's or the dataset's first one. */
  readonly table?: string;
  /** The seconds in which the row itself lies, if these are others. */
  readonly own?: Range;
  /** What differs, if that says more than the kind of the finding. */
  readonly differs?: string;
}

/** The outcome of a check, and its cost. */
export interface Checked {
  readonly check: string;
  readonly dataset: string;
  readonly scope: string;
  readonly span: Stretch;
  readonly findings: readonly Finding[];
  /** How many rows, or links between rows, were compared. */
  readonly rows: number;
  readonly readRows: readonly ReadRows[];
  readonly requests: number;
  readonly ms: number;
}

/** `3 missing_transactions, e.g. 0:8000000000000000:17 has 3 of 4` */
export function describeFinding({ count, kind, example }: Finding): string {
  return `${count} ${kind}, e.g. ${example}`;
}

/** The seconds of all findings together. */
export function spansOf(findings: readonly Pick<Finding, 'spans'>[]): Range[] {
  return union(...findings.map(({ spans }) => spans));
}

/** True if rows are missing or surplus: then the seconds are not covered. */
export function isLost({ outcome }: Finding): boolean {
  return outcome === 'hole' || outcome === 'surplus';
}

const Row = z.object({
  check: z.string(),
  kind: z.string(),
  outcome: z.enum(['hole', 'surplus', 'doubt', 'known', 'follows', 'open', 'expired']),
  count: z.coerce.number(),
  spans: spansOfRow,
  example: z.string(),
  rows: z.array(z.object({ key: z.string(), span: spanOfRow })),
});

interface Doubts {
  readonly check: string;
  readonly dataset: string;
  readonly scope?: string;
  readonly table?: object;
  /**
   * A query with one row for each doubt and second. Its columns are kind, outcome, id (a text that names the thing) and
   * span (int8range), and check if the query makes several checks at once.
   */
  readonly query: SQL;
}

/** Runs a check's query and sums up its rows by kind. */
export async function findingsOf(
  session: Session,
  { check, dataset, scope = '', table, query }: Doubts,
): Promise<Finding[]> {
  const rows = await session.rows(
    sql`
      with doubts as (
        select coalesce(to_jsonb(d) ->> 'check', ${check}) as "check", kind, outcome, id, span from (${query}) d),
      ranked as (
        select *, row_number() over (partition by "check", kind, outcome order by span, id) as rank from doubts)
      select "check", kind, outcome, count(distinct id) as count, range_agg(span)::text as spans, min(id) as example,
        jsonb_agg(jsonb_build_object('key', id, 'span', span::text)) filter (where rank <= ${MOST_NAMED}) as rows
      from ranked group by 1, kind, outcome order by 1, kind, outcome`,
    Row,
  );
  const facts = { dataset, scope, ...(table !== undefined && { table }) };
  return rows.map((row) => ({ ...facts, ...row }));
}

/** The number that a query counts. */
export function countOf(session: Session, query: SQL): Promise<number> {
  return oneValue(session, query, z.coerce.number());
}
