import { readCoverage, type Stream } from '../ledger/stored-coverage.ts';
import type { RowSum } from '../write/compare-rows.ts';
import { unseal } from '../write/seals.ts';
import { targetOf } from '../write/target.ts';
import { common, type Range, without } from '../range.ts';
import { CONFLICT, retry } from '../retry.ts';
import { addRows, isSameSum } from './added-rows.ts';
import type { CompareContext } from './compare-span.ts';
import { compareSpans } from './compare-spans.ts';
import { DEEP, SEAL } from '../ledger/found-row.ts';
import { rowsBySecond, secondsWithin } from './sample.ts';
import type { Verified } from './verify.ts';
import { spansOf, type Finding } from './checks/finding.ts';
import { writeTransaction } from '../ledger/write-transaction.ts';

/** The rows of a dataset in the source, over all of its streams that were compared. */
interface SourceRows {
  /** Stored rows that the source has, by table and second. */
  readonly sourceRows: Map<string, Map<number, RowSum>>;
  readonly covered: Range[];
  /** Covered seconds that were not compared, or that differ. */
  readonly doubtful: Range[];
}

/**
 * Compares seconds that were read again with the source once more, if a deep comparison found them, or if rows were
 * stored that the seal does not count. If every stored row is the source's, the seal is broken.
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
