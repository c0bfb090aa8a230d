import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/describe.ts';
import type { RowSum } from '../write/compare-rows.ts';
import { readVerified, setVerified } from '../write/certificates.ts';
import { common, isInside, spanOfSecond, stretchesOf, union, without, type Range } from '../range.ts';
import { worthKeeping } from './derive.ts';
import { readKeptFindings } from './keep-findings.ts';
import {
  type CompareContext,
  addRows,
  isSameSum,
  compareSpans,
  type ComparedSpans,
  rowsBySecond,
  secondsOfEach,
} from './compare-span.ts';
import { certifiedOf, rowsReadBy, toChecked, type Verified, verifyRange } from './verify.ts';
import { SECOND_READING } from './checks/every-check.ts';
import { spansOf } from './checks/check.ts';
import { scopeOf } from '../dataset/job.ts';
import { type Database, oneValue, type Session, writeTransaction } from '../postgres/database.ts';
import { bare, setExcluded } from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { closedDays } from '../tables/etl/verification.ts';
import { DEEP } from '../ledger/stored-findings.ts';
import { repairRange, withVerified, type RepairContext } from './repair.ts';

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

interface ProveOptions extends DeepOptions {
  readonly range: Range;
  readonly repair: boolean;
}

export interface Proof {
  readonly reports: readonly Verified[];
  /** How much of each table was compared with the source; empty without a deep comparison. */
  readonly compared: readonly ComparedTable[];
  /** True if fewer rows were compared than requested. */
  readonly isShort: boolean;
}

/** Verifies a range, compares a share of it and repairs it, as requested. Then it closes days that are complete. */
export async function proveRange(context: RepairContext, options: ProveOptions): Promise<Proof> {
  const { datasets, range, share, repair, random } = options;
  const first = await verifyRange(context, datasets, range);
  let reports: readonly Verified[] = first;
  let compared: readonly ComparedTable[] = [];
  if (share > 0) {
    ({ reports, tables: compared } = await checkDeep(context, reports, { datasets, share, random }));
    reports = await withVerified(context, reports);
  }
  // A finding of an earlier comparison may be resolved now: then the checks prove these seconds, and those that depend
  // on them.
  if (share > 0 && first.some(({ findings }) => findings.some(({ check }) => check === DEEP)))
    reports = withDeep(await verifyRange(context, datasets, range), reports);
  if (repair) ({ reports } = await repairRange(context, datasets, range, reports));
  await closeDays(context.database, range);
  const isShort = compared.some((table) => table.compared < Math.floor(share * table.stored));
  return { reports, compared, isShort };
}

/** Reports with the results of an earlier comparison added. */
function withDeep(reports: readonly Verified[], compared: readonly Verified[]): Verified[] {
  return reports.map((report) => {
    const { dataset, scope } = report.stream;
    const before = compared.find(({ stream }) => stream.dataset === dataset && stream.scope === scope);
    const deep = before?.checks.filter(({ check }) => check === DEEP) ?? [];
    return { ...report, checks: [...report.checks, ...deep] };
  });
}

/**
 * Reads a share of the stored rows again and compares each of them with the source. A dataset whose pages contain
 * another one's rows is read first. Of the other one, only those seconds are read that the first one left out, or in
 * which it had less than is stored.
 */
export async function checkDeep(
  context: CompareContext,
  reports: readonly Verified[],
  options: DeepOptions,
): Promise<{ readonly reports: readonly Verified[]; readonly tables: readonly ComparedTable[] }> {
  const comparedRows = new Map<string, Map<number, RowSum>>();
  const comparedBy = new Map<Verified, ComparedSpans>();
  const tables: ComparedTable[] = [];
  const omitted = new Map<string, readonly Range[]>();
  const names = new Set(options.datasets.map(({ name }) => name));
  const chosen = reports.filter(({ dataset }) => names.has(dataset.name));
  const width = ({ dataset }: Verified) => Object.keys(dataset.job.tables).length;
  for (const report of chosen.toSorted((a, b) => width(b) - width(a))) {
    const [own = ''] = Object.keys(report.dataset.job.tables);
    const known = (options.share >= 1 ? comparedRows.get(own) : undefined) ?? new Map<number, RowSum>();
    const open = Object.keys(report.dataset.job.tables).flatMap((table) => omitted.get(table) ?? []);
    const done = await comparedAlready(context, report, known, union(open));
    const wanted = without(await drawSlices(context.database, report, options), done);
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
  const findings = [...own, ...(await readKeptFindings(database, stream, covered, report))];
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

/** Pages in a slice if everything is read. Several slices are read at once, and each ends with a short page. */
const PAGES_OF_ALL = 16;

/**
 * Slices of a range, each with about a page of stored rows, drawn at random until they hold the share of all rows. If
 * the share is everything, the slices are longer and cover the whole range.
 */
async function drawSlices(
  session: Session,
  { dataset: { job }, stream, covered }: Pick<Verified, 'dataset' | 'stream' | 'covered'>,
  { share, random }: Pick<DeepOptions, 'share' | 'random'>,
): Promise<Range[]> {
  const [table] = Object.values(job.tables);
  if (table === undefined) return [];
  const slices: { span: Range; rows: number }[] = [];
  const most = job.paginator.maxSize * (share >= 1 ? PAGES_OF_ALL : 1);
  for (const stretch of stretchesOf(covered, Infinity)) {
    const stored = await rowsBySecond(session, table, stretch, scopeOf(job, stream));
    for (const [range, seconds] of secondsOfEach(stored, covered)) slices.push(...cut(range, seconds, most));
  }
  if (share >= 1) return slices.map(({ span }) => span);
  const wanted = share * slices.reduce((sum, { rows }) => sum + rows, 0);
  const drawn: Range[] = [];
  let rows = 0;
  for (const slice of slices.map((one) => ({ ...one, lot: random() })).sort((a, b) => a.lot - b.lot)) {
    if (drawn.length > 0 && rows >= wanted) break;
    drawn.push(slice.span);
    rows += slice.rows;
  }
  return drawn;
}

function cut(range: Range, seconds: ReadonlyMap<number, RowSum>, most: number) {
  const slices: { span: Range; rows: number }[] = [];
  let [from, held] = [range.from, 0];
  for (const [second, { rows }] of seconds) {
    if (held > 0 && held + rows > most) {
      slices.push({ span: { from, to: second }, rows: held });
      [from, held] = [second, 0];
    }
    held += rows;
  }
  return [...slices, { span: { from, to: range.to }, rows: held }];
}

const OpenDay = z.object({ relation: z.string(), day: z.string() });
type OpenDay = z.infer<typeof OpenDay>;

/** Open days of reports on which every dataset that feeds them has its highest grade. */
const CERTAIN = sql`
  from etl.open_days d join (
    select relation, array_agg(dataset) as streams from etl.feeds
    where relation in (select * from etl.reports_by_day()) group by relation) r using (relation)
  where etl.is_certain(r.streams, d.starts, d.ends)`;

/** Stores the sums of days that touch a range and are certain, for every report by day. Returns the number of days. */
export async function closeDays(database: Database, { from, to }: Range): Promise<number> {
  const days = await database.rows(
    sql`
      select d.relation, d.day::text as day ${CERTAIN} and d.ends > to_timestamp(${from}) and d.starts < to_timestamp(${to})
      order by d.day desc, d.relation`,
    OpenDay,
  );
  let closed = 0;
  for (const day of days) if (await closeDay(database, day)) closed += 1;
  return closed;
}

/** False if the day changed before or while it was summed up. */
async function closeDay(database: Database, { relation, day }: OpenDay): Promise<boolean> {
  const { relation: name, day: date, definition } = closedDays;
  const digest = sql`md5(pg_get_viewdef(${`etl.open_${relation}`}::regclass))`;
  const isBegun = await writeTransaction(database, async (session) => {
    // Waits for commits in progress, which do not see the new row. Later commits do.
    await session.run(sql`lock table ${coverage} in share mode`);
    return session.run(sql`
      insert into ${closedDays} (${bare(name, date, definition)})
      select d.relation, d.day, ${digest} ${CERTAIN} and d.relation = ${relation} and d.day = ${day}
      on conflict (${bare(name, date)}) do update set ${setExcluded(definition)}`);
  });
  if (isBegun === 0) return false;
  return (
    (await oneValue(database, sql`select etl.keep_day(${relation}, ${day})`, z.boolean().nullable())) === true
  );
}
