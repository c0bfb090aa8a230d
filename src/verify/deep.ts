import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/owners.ts';
import type { RowSum } from '../write/compare-rows.ts';
import { readVerified, setVerified } from '../write/verifications.ts';
import { common, isInside, spanOfSecond, stretchesOf, union, without, type Range } from '../range.ts';
import { worthKeeping } from './derive.ts';
import { rememberedFindings } from './remember.ts';
import { type CompareContext, addRows, isSameSum } from './compare-span.ts';
import { certifiedOf, rowsReadBy, toChecked, type Verified } from './verify.ts';
import { compareSpans, type ComparedSpans } from './compare-spans.ts';
import { SECOND_READING } from './checks/second-reading.ts';
import { drawSlices, rowsBySecond, secondsOfEach } from './sample.ts';
import { spansOf } from './checks/finding.ts';
import { scopeOf } from '../dataset/job.ts';

/** How much of a table was compared with the source, row by row. */
export interface ComparedTable {
  readonly table: string;
  readonly compared: number;
  readonly stored: number;
}

export interface DeepOptions {
  /** Datasets that are compared: not those that were verified only because a check of these needs them. */
  readonly datasets: readonly Dataset[];
  /** Share of the stored rows, from 0 to 1. */
  readonly share: number;
  readonly random: () => number;
}

export interface DeepResult {
  readonly reports: readonly Verified[];
  readonly tables: readonly ComparedTable[];
}

/**
 * Reads a share of the stored rows again and compares each of them with the source. A dataset whose pages contain
 * another one's rows is read first. Of the other one, only those seconds are read that the first one left out, or in
 * which it had less than is stored.
 */
export async function checkDeep(
  context: CompareContext,
  reports: readonly Verified[],
  draw: DeepOptions,
): Promise<DeepResult> {
  const comparedRows = new Map<string, Map<number, RowSum>>();
  const comparedBy = new Map<Verified, ComparedSpans>();
  const tables: ComparedTable[] = [];
  const omitted = new Map<string, readonly Range[]>();
  const names = new Set(draw.datasets.map(({ name }) => name));
  const chosen = reports.filter(({ dataset }) => names.has(dataset.name));
  const width = ({ dataset }: Verified) => Object.keys(dataset.job.tables).length;
  for (const report of chosen.toSorted((a, b) => width(b) - width(a))) {
    const [own = ''] = Object.keys(report.dataset.job.tables);
    const known = (draw.share >= 1 ? comparedRows.get(own) : undefined) ?? new Map<number, RowSum>();
    const open = Object.keys(report.dataset.job.tables).flatMap((table) => omitted.get(table) ?? []);
    const done = await comparedAlready(context, report, known, union(open));
    const wanted = without(await drawSlices(context.database, report, draw), done);
    const compared = await compareSpans(context, report, wanted, (table, second, sum) => {
      addRows(comparedRows, table, [[second, sum]]);
    });
    for (const [table, spans] of compared.omitted) omitted.set(table, union(omitted.get(table) ?? [], spans));
    comparedBy.set(report, compared);
    tables.push(...(await countTables(context, report, union(done, compared.completed))));
  }
  const checked: Verified[] = [];
  for (const report of reports) checked.push(await withComparison(context, report, comparedBy.get(report)));
  return { reports: checked, tables: sumUp(tables) };
}

/** One entry for each table, however many streams fill it. */
function sumUp(counted: readonly ComparedTable[]): ComparedTable[] {
  const sums = new Map<string, ComparedTable>();
  for (const { table, compared, stored } of counted) {
    const before = sums.get(table) ?? { compared: 0, stored: 0 };
    sums.set(table, { table, compared: before.compared + compared, stored: before.stored + stored });
  }
  return [...sums.values()];
}

/** Seconds of which every stored row was compared already, because another dataset's pages contained all of them. */
async function comparedAlready(
  { database }: CompareContext,
  { dataset, stream, covered }: Verified,
  comparedRows: ReadonlyMap<number, RowSum>,
  omitted: readonly Range[],
): Promise<Range[]> {
  const [table] = Object.values(dataset.job.tables);
  // The compared rows belong to other pools.
  if (table === undefined || comparedRows.size === 0 || stream.scope !== '') return [];
  const done: Range[] = [];
  const [whole = { from: 0, to: 0 }] = stretchesOf(covered, Infinity);
  const all = await rowsBySecond(database, table, whole);
  for (const [range, stored] of secondsOfEach(all, covered)) {
    const left = [...stored].filter(([second, sum]) => !isSameSum(comparedRows.get(second), sum));
    const open = union(
      omitted,
      left.map(([second]) => spanOfSecond(second)),
    );
    const compared = without([range], open);
    const stretches = compared.map((span) => ({ span, rows: rowsWithin(stored, span) }));
    done.push(...worthKeeping(range, stretches, dataset.job.paginator.maxSize));
  }
  return done;
}

function rowsWithin(seconds: ReadonlyMap<number, RowSum>, span: Range): number {
  let sum = 0;
  for (const [second, { rows }] of seconds) if (isInside(second, span)) sum += rows;
  return sum;
}

/** Counts the rows of the dataset's own tables: those compared, and all that are stored. */
async function countTables(
  { database, jobs }: CompareContext,
  { dataset, stream, covered }: Verified,
  compared: readonly Range[],
): Promise<ComparedTable[]> {
  const counted: ComparedTable[] = [];
  for (const [name, table] of ownTablesOf(dataset, jobs)) {
    const count = async (spans: readonly Range[]) => {
      let sum = 0;
      for (const span of stretchesOf(spans, Infinity))
        for (const { rows } of (
          await rowsBySecond(database, table, span, scopeOf(dataset.job, stream))
        ).values())
          sum += rows;
      return sum;
    };
    counted.push({
      table: name,
      compared: await count(common(compared, covered)),
      stored: await count(covered),
    });
  }
  return counted;
}

/** Adds the result of a stream's comparison. A second reading that it confirmed is no longer open. */
async function withComparison(
  { database, jobs }: CompareContext,
  report: Verified,
  compared: ComparedSpans | undefined,
): Promise<Verified> {
  const { dataset, stream, covered, lastWrite } = report;
  const { checks, confirmed } = compared ?? { checks: [], confirmed: [] };
  const own = report.checks
    .flatMap(({ findings }) => findings)
    .map((finding) =>
      finding.check === SECOND_READING ? { ...finding, spans: without(finding.spans, confirmed) } : finding,
    )
    .filter(({ check, spans }) => check !== SECOND_READING || spans.length > 0);
  // What another dataset's pages have shown to be wrong is wrong here, too.
  const findings = [...own, ...(await rememberedFindings(database, stream, covered, report))];
  const good = without(covered, spansOf(findings));
  const verdict = { good, bad: [], lastWrite, readRows: rowsReadBy(report.checks) };
  const unread =
    confirmed.length === 0 ? [] : await setVerified(database, certifiedOf(dataset, stream, jobs), verdict);
  const short = unread.map((lack) => toChecked(stream, lack));
  const verified = common(good, await readVerified(database, stream));
  return {
    ...report,
    checks: [...report.checks, ...checks, ...short],
    findings: [...findings, ...short.flatMap((check) => check.findings)],
    verified,
  };
}
