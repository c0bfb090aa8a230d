import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { allInFlight } from '../budget/in-flight.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { confirmDue, readLastWrite } from '../write/certificates.ts';
import { type Stream, readCoverage } from '../ledger/stored-coverage.ts';
import type { RowSum } from '../write/compare-rows.ts';
import { spanOfSecond, union, without, type Range, common, isInside, type Stretch } from '../range.ts';
import { addRows, isSameSum, compareSpan, type CompareContext } from './compare-span.ts';
import { DEEP, SEAL } from '../ledger/stored-findings.ts';
import { type Checked, spansOf, type Finding } from './checks/finding.ts';
import { logChecks, type Verified } from './verify.ts';
import { keepFindings } from './keep-findings.ts';
import { databaseTime } from '../postgres/server-facts.ts';
import { unseal, keyHash } from '../write/seals.ts';
import { targetOf } from '../write/target.ts';
import { CONFLICT, retry } from '../retry.ts';
import { writeTransaction, type Session } from '../postgres/database.ts';
import { during } from '../postgres/sql.ts';
import type { Scope } from '../dataset/job.ts';

export interface ComparedSpans {
  readonly checks: readonly Checked[];
  /** Seconds that were read to their end. */
  readonly completed: readonly Range[];
  /** Seconds for which this was the second reading, and it agreed. */
  readonly confirmed: readonly Range[];
  /** Seconds of other datasets' rows in which more is stored than these pages have. */
  readonly omitted: ReadonlyMap<string, readonly Range[]>;
  /** Stored rows of each table that the source has, by second, in seconds that were read to their end. */
  readonly sourceRows: ReadonlyMap<string, ReadonlyMap<number, RowSum>>;
}

/**
 * Compares spans of one stream with the source, and stores the differences as findings. Every row is compared, so this
 * also serves as a second reading that is due.
 */
export async function compareSpans(
  context: CompareContext,
  target: { readonly dataset: Dataset; readonly stream: Stream },
  spans: readonly Range[],
  onMatched: (table: string, second: number, sum: RowSum) => void = () => undefined,
): Promise<ComparedSpans> {
  const { dataset, stream } = target;
  const tables = Object.values(dataset.job.tables);
  const lastWrite = await readLastWrite(context.database, tables);
  const began = await databaseTime(context.database);
  const checks: Checked[] = [];
  const completed: Range[] = [];
  const omitted = new Map<string, Range[]>();
  const sourceRows = new Map<string, Map<number, RowSum>>();
  const compared = await allInFlight(context.crawl.api.inFlight, spans, async (span) => {
    const start = context.clock.monotonic();
    const result = await compareSpan(context, target, span);
    return { result, ms: context.clock.monotonic() - start };
  });
  for (const { result, ms } of compared) {
    completed.push(...result.completed);
    let rows = 0;
    for (const [table, seconds] of result.matched) {
      for (const [second, sum] of seconds) {
        onMatched(table, second, sum);
        rows += sum.rows;
      }
    }
    for (const [table, seconds] of result.sourceRows) addRows(sourceRows, table, seconds);
    for (const [table, seconds] of result.omitted) {
      const more = [...seconds].map(spanOfSecond);
      omitted.set(table, union(omitted.get(table) ?? [], more));
    }
    const { findings, requests } = result;
    const facts = {
      check: DEEP,
      dataset: dataset.name,
      scope: stream.scope,
      findings,
      rows,
      readRows: [],
      requests,
      ms,
    };
    for (const part of union(result.completed)) checks.push({ ...facts, span: part });
  }
  const right = compared.flatMap(({ result }) => result.right);
  await keepFindings(context.database, { jobs: context.jobs, dataset, stream, began }, checks, right);
  await logChecks(context.database, checks);
  const wrong = spansOf(checks.flatMap((check) => check.findings));
  const { maturitySeconds: ageSeconds } = dataset.job;
  const reading = { first: stream, ranges: without(union(completed), wrong), tables, lastWrite };
  const confirmed =
    ageSeconds === undefined ? [] : await confirmDue(context.database, { ...reading, ageSeconds });
  return { checks, completed: union(completed), confirmed, omitted, sourceRows };
}

/** The rows of a dataset in the source, over all of its streams that were compared. */
interface SourceRows {
  /** Stored rows that the source has, by table and second. */
  readonly sourceRows: Map<string, Map<number, RowSum>>;
  readonly covered: Range[];
  /** Covered seconds that were not compared, or that differ. */
  readonly doubtful: Range[];
}

/**
 * Compares reread seconds with the source once more, if a deep comparison found them, or if rows were stored that the
 * seal does not count. If every stored row is the source's, the seal is broken, so that these rows count.
 */
export async function compareAgain(context: CompareContext, reports: readonly Verified[]): Promise<void> {
  const sources = new Map<string, SourceRows>();
  for (const report of reports) {
    const { stream, findings } = report;
    const source = sources.get(stream.dataset) ?? { sourceRows: new Map(), covered: [], doubtful: [] };
    sources.set(stream.dataset, source);
    const chosen = findings.filter((finding) => finding.check === DEEP || finding.check === SEAL);
    await compareStream(context, report, spansOf(chosen), source);
  }
  for (const { stream, findings } of reports) {
    const source = sources.get(stream.dataset);
    for (const { table, spans } of findings.filter(isUncounted)) {
      if (table === undefined || source === undefined) continue;
      for (const span of spans) await unsealIfSame(context, table, span, source);
    }
  }
}

/** True if rows are stored that the seal does not count, or were stored until they were removed. */
function isUncounted({ check, outcome }: Finding): boolean {
  return check === SEAL && outcome === 'doubt';
}

async function compareStream(
  context: CompareContext,
  { dataset, stream }: Pick<Verified, 'dataset'> & { readonly stream: Stream },
  spans: readonly Range[],
  source: SourceRows,
): Promise<void> {
  const coverage = await readCoverage(context.database, stream);
  source.covered.push(...coverage);
  const chosen = common(spans, coverage);
  if (chosen.length === 0) {
    source.doubtful.push(...coverage);
    return;
  }
  const { checks, completed, sourceRows } = await compareSpans(context, { dataset, stream }, chosen);
  for (const [table, seconds] of sourceRows) addRows(source.sourceRows, table, seconds);
  const wrong = spansOf(checks.flatMap((check) => check.findings));
  source.doubtful.push(...wrong, ...without(coverage, completed));
}

/** Breaks the seal of a range if every covered second holds exactly the source's rows. */
async function unsealIfSame(
  { crawl, database }: CompareContext,
  table: object,
  range: Range,
  { sourceRows, covered, doubtful }: SourceRows,
): Promise<void> {
  if (common([range], doubtful).length > 0) return;
  const had = sourceRows.get(targetOf(table).name);
  const seconds = common([range], covered);
  // One snapshot: the counted rows are those that count from now on.
  await retry({ ...crawl, ...CONFLICT }, () =>
    writeTransaction(
      database,
      async (session) => {
        for (const span of seconds) {
          const stored = await rowsBySecond(session, table, span);
          // Includes seconds that hold no row any more: they may have been emptied since the comparison.
          if (!isSameBySecond(stored, secondsWithin(had ?? new Map<number, RowSum>(), span))) return;
        }
        await unseal(session, table, range);
      },
      { isSnapshot: true },
    ),
  );
}

function isSameBySecond(a: ReadonlyMap<number, RowSum>, b: ReadonlyMap<number, RowSum>): boolean {
  return a.size === b.size && [...a].every(([second, sum]) => isSameSum(b.get(second), sum));
}

const Second = z.object({ second: z.coerce.number(), rows: z.coerce.number(), keys: z.coerce.bigint() });

/** The number and the keys of a table's rows in each second, in order. Seconds without rows are left out. */
export async function rowsBySecond(
  session: Session,
  table: object,
  span: Stretch,
  scope?: Scope,
): Promise<Map<number, RowSum>> {
  const target = targetOf(table);
  const found = await session.rows(
    sql`select extract(epoch from t.utime)::int8 as second, count(*) as rows, sum(${keyHash(target, sql`t`)}) as keys
        from ${target.into} t
        where ${during('t', span)} ${scope && sql`and t.${sql.identifier(scope.column)} = ${scope.value}`} group by 1 order by 1`,
    Second,
  );
  return new Map(found.map(({ second, ...sum }) => [second, sum]));
}

/** The sums of the seconds that lie in a range. */
function secondsWithin<T>(sums: ReadonlyMap<number, T>, range: Range): Map<number, T> {
  return new Map([...sums].filter(([second]) => isInside(second, range)));
}

/** The same for each of several ranges, in one pass: ranges and seconds ascend. */
export function secondsOfEach<T>(
  sums: ReadonlyMap<number, T>,
  ranges: readonly Range[],
): (readonly [Range, Map<number, T>])[] {
  const parts = ranges.map((range) => [range, new Map<number, T>()] as const);
  let index = 0;
  for (const [second, sum] of sums) {
    while (second >= (parts[index]?.[0].to ?? Infinity)) index += 1;
    const [range, seconds] = parts[index] ?? [];
    if (range !== undefined && isInside(second, range)) seconds?.set(second, sum);
  }
  return parts;
}
