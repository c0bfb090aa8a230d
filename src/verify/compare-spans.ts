import { allInFlight } from '../budget/in-flight.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { confirmDue } from '../write/confirm.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import { readLastWrite } from '../write/writes.ts';
import type { RowSum } from '../write/compare-rows.ts';
import { spanOfSecond, union, without, type Range } from '../range.ts';
import { addRows } from './added-rows.ts';
import { DEEP } from '../ledger/found-row.ts';
import { type Checked, spansOf } from './checks/finding.ts';
import { logChecks } from './log-checks.ts';
import { rememberFindings } from './remember.ts';
import { compareSpan, type CompareContext } from './compare-span.ts';
import { databaseTime } from '../postgres/server-clock.ts';

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
  await rememberFindings(context.database, { jobs: context.jobs, dataset, stream, began }, checks, right);
  await logChecks(context.database, checks);
  const wrong = spansOf(checks.flatMap((check) => check.findings));
  const { maturitySeconds: ageSeconds } = dataset.job;
  const reading = { first: stream, ranges: without(union(completed), wrong), tables, lastWrite };
  const confirmed =
    ageSeconds === undefined ? [] : await confirmDue(context.database, { ...reading, ageSeconds });
  return { checks, completed: union(completed), confirmed, omitted, sourceRows };
}
