import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Clock } from '../../clock.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Job } from '../../dataset/job.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import { type Database, type Session, type TransactionHow, oneValue } from '../../postgres/database.ts';
import { partsOf, type Range, type Stretch, HOUR, common, union } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import { countReadRows, type ReadRows } from '../../write/seals.ts';
import type { BlocksOfSource } from './block-source.ts';
import type { Table } from '../../dataset/declaration/record.ts';
import { spanOfRow, spansOfRow } from '../../postgres/sql.ts';
import { MOST_NAMED } from '../../ledger/stored-findings.ts';

export interface VerifyContext {
  readonly database: Database;
  readonly source: BlocksOfSource;
  /** All datasets of the program, chosen or not: they share tables. */
  readonly jobs: readonly Dataset[];
  readonly clock: Clock;
  /** Once it finishes, no check begins, and the statements of the running one are cancelled. */
  readonly stop: Stop;
}

/** One stream of a dataset, and the seconds to check. */
export interface CheckInput {
  readonly dataset: Dataset;
  readonly stream: Stream;
  /** The seconds to check: those in which everything that the check needs is proved. */
  readonly covered: readonly Range[];
  /**
   * The same seconds, with neighbors joined to one stretch: a step for each would read the same rows again and again.
   */
  readonly stretches: readonly Stretch[];
  /** All covered seconds of the stream. */
  readonly coverage: readonly Range[];
}

/** The result of one check of one stretch: what it found, and how many rows it compared. */
export interface Result {
  readonly findings: readonly Finding[];
  readonly rows: number;
  /** The rows of the stretch that the check has read, for each table that it read completely. */
  readonly readRows?: readonly ReadRows[];
}

/**
 * Runs queries on one snapshot. A check calls it once. A check that asks the source does so before and after, because
 * the server would end a transaction that waits.
 */
export type CheckLook = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

/** A check of one stretch of seconds, of which it reads every row. Seconds that are in no step remain unchecked. */
export interface CheckStep {
  readonly check: string;
  /** Another check that runs together with this one. */
  readonly also?: string;
  readonly stretch: Stretch;
  readonly run: (look: CheckLook) => Promise<Result>;
}

/** One way to verify a dataset: a file in `checks/`, under the name that datasets declare. */
export interface Check {
  readonly name: string;
  /** Tables of a dataset of which it must read every row. A table that is in no result was not read. */
  readonly reads: (job: Job) => readonly Table[];
  /** If true, seconds in which the datasets that it needs were never read can have the grade without this check. */
  readonly isOptional?: true;
  steps(context: VerifyContext, input: CheckInput): readonly CheckStep[] | Promise<readonly CheckStep[]>;
  /** Splits a finding by the findings of the other checks: what follows from those says nothing new. */
  unexplained?(finding: Finding, others: readonly Finding[]): readonly Finding[];
}

/** The steps of a check that looks at each stretch by itself. */
export function eachStretch(
  check: string,
  work: (session: Session, stretch: Stretch, input: CheckInput) => Promise<Result>,
): Check['steps'] {
  return (_, input) =>
    input.stretches.map((stretch) => ({
      check,
      stretch,
      run: (look) => look((session) => work(session, stretch, input)),
    }));
}

/** The result of a check that has read these rows of a stretch: for each table, what follows `from` in its query. */
export async function resultOf(
  session: Session,
  stretch: Stretch,
  findings: readonly Finding[],
  read: readonly (readonly [table: Table, from: SQL])[],
): Promise<Result> {
  const readRows: ReadRows[] = [];
  for (const [table, from] of read)
    readRows.push(await countReadRows(session, table, { read: from, stretch }));
  return { findings, rows: readRows[0]?.rows ?? 0, readRows };
}

/** Seconds that a check can say nothing about, and the reason. */
export function openStep(
  check: string,
  { dataset, stream }: Pick<CheckInput, 'dataset' | 'stream'>,
  stretch: Stretch,
  { kind, sentence, outcome = 'open' }: Why,
): CheckStep {
  const finding: Finding = {
    ...{ check, kind, outcome, dataset: dataset.name, scope: stream.scope },
    ...{ spans: partsOf(stretch), count: 1, example: sentence, rows: [] },
  };
  return { check, stretch, run: () => Promise.resolve({ findings: [finding], rows: 0 }) };
}

export interface Why {
  readonly outcome?: Finding['outcome'];
  readonly kind: string;
  readonly sentence: string;
}

/**
 * How far before a stretch a check reads a table as a whole, to find what the stretch's rows follow from. Nearly every
 * message is received, every block followed and every trace over within minutes. Older rows are looked up one by one,
 * which takes longer if they are many.
 */
export const NEAR = HOUR;

/** Stretches this near to each other are checked together: what a check reads around each would overlap. */
export const JOINED = 2 * NEAR;

/**
 * Settings that make queries over a million rows several times as fast. They give memory to sort and hash, prefer hash
 * joins to sorting long texts, and disable JIT, because each query runs once. Warnings are always reported, whatever
 * the role's default is.
 */
const SETTINGS = sql`select set_config('work_mem', '64MB', true), set_config('enable_mergejoin', 'off', true),
  set_config('jit', 'off', true), set_config('client_min_messages', 'warning', true)`;

/** Prefers hash joins until the check ends: for rows after the last ANALYZE, Postgres would choose nested loops. */
export async function joinByHash(session: Session): Promise<void> {
  await session.run(sql`select set_config('enable_nestloop', 'off', true)`);
}

/** Runs the queries of a check on one snapshot, so that the counted rows are the checked rows. */
export function onFastSnapshot<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
  how: Omit<TransactionHow, 'isSnapshot'> = {},
): Promise<T> {
  return database.transaction(
    async (session) => {
      await session.run(sql`set transaction read only`);
      await session.run(SETTINGS);
      return work(session);
    },
    { ...how, isSnapshot: true },
  );
}

/**
 * Splits off what follows from another finding. It is not read again: it is resolved when the other finding is, and
 * nothing proves it until then. Each thing that the finding names lies in two seconds or more. It may follow if one of
 * `causes` lies between them.
 */
export function splitFollowing(finding: Finding, causes: readonly Range[]): readonly Finding[] {
  const byKey = new Map<string, NamedRow[]>();
  for (const row of finding.rows) byKey.set(row.key, [...(byKey.get(row.key) ?? []), row]);
  // Some of its rows are not named.
  if (byKey.size < finding.count || [...byKey.values()].some((rows) => rows.length < 2)) return [finding];
  const follows = (rows: readonly NamedRow[]) => common([hullOf(rows)], causes).length > 0;
  const part = (outcome: Finding['outcome'], keys: readonly (readonly NamedRow[])[]): Finding[] => {
    const rows = keys.flat();
    const spans = union(rows.map(({ span }) => span));
    return rows.length === 0 ? [] : [{ ...finding, outcome, rows, spans, count: keys.length }];
  };
  const things = [...byKey.values()];
  return [
    ...part(
      finding.outcome,
      things.filter((rows) => !follows(rows)),
    ),
    ...part('follows', things.filter(follows)),
  ];
}

function hullOf(rows: readonly NamedRow[]): Range {
  const spans = rows.map(({ span }) => span);
  return { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) };
}

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
  readonly table?: Table;
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
  readonly table?: Table;
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
