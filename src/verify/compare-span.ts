import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { type Priority, allInFlight } from '../budget/request-budget.ts';
import { askPage } from '../crawl/streams/page.ts';
import type { Dataset } from '../dataset/dataset.ts';
import {
  type AcceptedRecord,
  type RecordsReading,
  type Rejected,
  scopeOf,
  type Scope,
} from '../dataset/job.ts';
import { ownersOf } from '../tables/describe.ts';
import { quarantinedAmong } from '../read/quarantined.ts';
import {
  compareRows,
  keyOf,
  ownSecondOf,
  type Difference,
  type RowSum,
  type Omission,
} from '../write/compare-rows.ts';
import { type Stream, readCoverage } from '../ledger/stored-coverage.ts';
import { columnsWithFindings, type RightRow, DEEP, differsText, SEAL } from '../ledger/stored-findings.ts';
import { isInside, spanOfSecond, union, type Range, without, common, type Stretch } from '../range.ts';
import { type Finding, type NamedRow, type Checked, spansOf, type VerifyContext } from './checks/check.ts';
import type { FillContext } from '../crawl/streams/read-leases.ts';
import { confirmDue, readLastWrite } from '../write/certificates.ts';
import { logChecks, type Verified } from './verify.ts';
import { keepFindings } from './keep-findings.ts';
import { databaseTime, writeTransaction, type Session } from '../postgres/database.ts';
import { storedRows, unseal } from '../write/seals.ts';
import { targetOf } from '../write/target.ts';
import { CONFLICT, retry } from '../clock.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** What a comparison needs: the API, what was learned about its pages, and the database. */
export type CompareContext = VerifyContext & FillContext;

/** A stream with its dataset. */
interface StreamOf {
  readonly dataset: Dataset;
  readonly stream: Stream;
}

const PRIORITY: Priority = 'repair';

/** Reads a span of a stream again, page by page, and compares every row with the stored one. */
async function compareSpan(
  context: CompareContext,
  { dataset, stream }: StreamOf,
  span: Range,
): Promise<Tally> {
  const { crawl, stop } = context;
  const { paginator } = dataset.job;
  const { limits } = crawl.tuning(dataset);
  const size = limits.limit(paginator.maxSize);
  const trust = limits.openSpan(span);
  const tally = new Tally();
  let held: Uncompared = { accepted: [], rejected: [] };
  let cursor: unknown = paginator.start(span);
  while (cursor !== undefined && !stop.finishing.aborted) {
    const flight = crawl.api.inFlight.open(PRIORITY);
    try {
      const paging = { dataset, stream, cursor, size, trust };
      const { value } = await askPage(crawl, { ...paging, priority: PRIORITY, flight, signal: stop.leaving });
      tally.requests += 1;
      const { accepted, rejected } = value.reading;
      held = { accepted: [...held.accepted, ...accepted], rejected: [...held.rejected, ...rejected] };
      const { completed } = value.step;
      if (completed !== undefined)
        held = await compareHeld(context, { dataset, stream }, { held, completed, tally });
      cursor = value.step.cursor;
    } finally {
      flight.end();
    }
  }
  return tally;
}

/** Records that were read but not compared yet, because their second is not complete. */
type Uncompared = Pick<RecordsReading, 'accepted' | 'rejected'>;

/** Compares what is complete. Returns the rest. */
async function compareHeld(
  context: CompareContext,
  target: StreamOf,
  { held, completed, tally }: { readonly held: Uncompared; readonly completed: Range; readonly tally: Tally },
): Promise<Uncompared> {
  const isComplete = ({ position }: Pick<Rejected, 'position'>) => isInside(position.utime, completed);
  const isLater = ({ position }: Pick<Rejected, 'position'>) => position.utime >= completed.to;
  const records = held.accepted.filter(isComplete);
  await compareRecords(context, target, { records, completed, tally });
  tally.findings.push(...(await toMisfits(context, target.stream, held.rejected.filter(isComplete))));
  tally.completed.push(completed);
  return { accepted: held.accepted.filter(isLater), rejected: held.rejected.filter(isLater) };
}

/** The outcome of a comparison. */
class Tally {
  /** Seconds that were read to their end. */
  readonly completed: Range[] = [];
  readonly findings: Finding[] = [];
  /** Stored rows of each table that were compared with the source, by second. */
  readonly matched = new Map<string, Map<number, RowSum>>();
  /**
   * The part of `matched` in seconds that were read to their end. Rows that are also on other pages count once.
   */
  readonly sourceRows = new Map<string, Map<number, RowSum>>();
  /** Seconds of another dataset's rows in which more is stored than these pages have: that dataset decides. */
  readonly omitted = new Map<string, Set<number>>();
  /** Rows that a previous comparison found wrong, and that are the same in the source. */
  readonly right: RightRow[] = [];
  requests = 0;

  count(table: string, matched: ReadonlyMap<number, RowSum>, completed: Range): void {
    const own = [...matched].filter(([second]) => isInside(second, completed));
    addRows(this.matched, table, matched);
    addRows(this.sourceRows, table, own);
  }

  leaveOpen(table: string, rows: readonly Omission[]): void {
    const seconds = this.omitted.get(table) ?? new Set<number>();
    for (const { second } of rows) seconds.add(second.from);
    this.omitted.set(table, seconds);
  }
}

interface Batch {
  readonly records: readonly AcceptedRecord[];
  readonly completed: Range;
  readonly tally: Tally;
}

async function compareRecords(
  { database, jobs }: CompareContext,
  { dataset, stream }: StreamOf,
  { records, completed, tally }: Batch,
): Promise<void> {
  const whole = wholeTables(dataset, jobs);
  const scope = scopeOf(dataset.job, stream);
  for (const [name, table] of Object.entries(dataset.job.tables)) {
    const isAll = whole.has(name);
    const sent = records.flatMap(({ rows, position }) =>
      (rows[name] ?? []).map((row) => ({ row, second: position.utime })),
    );
    if (sent.length === 0 && !isAll) continue;
    const rows = sent.map(({ row }) => row);
    const found = await compareRows(database, table, rows, { span: completed, scope, isAll });
    tally.count(name, found.matched, completed);
    const isOwn = ownersOf(name, jobs)[0]?.name === dataset.name;
    // A message's receiver does not know its sender. So a value that is missing on its pages counts only for the
    // dataset whose pages have all copies.
    const omissions = isOwn ? found.omissions.filter(({ second }) => isInside(second.from, completed)) : [];
    if (!isOwn) tally.leaveOpen(name, found.omissions);
    const differences = withOmissions(found.differences, omissions);
    const seconds = new Map(sent.map(({ row, second }) => [keyOf(table, row), second]));
    tally.findings.push(...toFindings(stream, name, differences, seconds));
    const known = await columnsWithFindings(database, DEEP, name);
    const wrong = new Set([...found.differences, ...found.omissions].map(({ key }) => key));
    const right = rows
      .map((row) => ({ row, key: keyOf(table, row), second: ownSecondOf(row) }))
      .filter(({ row, key }) => !wrong.has(key) && says(row, known.get(key)))
      .flatMap(({ key, second }) => (second === undefined ? [] : [{ table: name, key, second }]));
    tally.right.push(...right);
  }
}

/**
 * True if a copy has a value in each of these columns. Without a value it cannot resolve a finding about the column.
 */
function says(row: object, columns: readonly string[] | undefined): boolean {
  const values = new Map<string, unknown>(Object.entries(row));
  return columns?.every((column) => values.get(column) != null) ?? false;
}

/** Records that do not fit cannot be compared. Those in quarantine are already known to be missing. */
async function toMisfits(
  { database }: CompareContext,
  stream: Stream,
  rejected: readonly Rejected[],
): Promise<Finding[]> {
  const positions = rejected.map(({ position }) => position);
  const known = await quarantinedAmong(database, stream, positions);
  const rows = rejected
    .filter(({ position }) => !known.has(position.id))
    .map(({ position: { id, utime }, path, reason }): NamedRow => {
      const span = spanOfSecond(utime);
      return { key: id, span, differs: `does_not_fit: ${path} ${reason}` };
    });
  const [first] = rows;
  if (first === undefined) return [];
  const { dataset, scope } = stream;
  const spans = union(rows.map(({ span }) => span));
  const facts = { check: DEEP, dataset, scope, kind: 'does_not_fit', count: rows.length, spans, rows };
  return [{ ...facts, example: `${first.key} ${first.differs ?? ''}`, outcome: 'doubt' }];
}

/** A value that the source lacks is a difference like any other. It is joined with the other differences of its row. */
function withOmissions(differences: readonly Difference[], omissions: readonly Omission[]): Difference[] {
  const left = new Map(omissions.map((row) => [`${row.key} ${row.second.from}`, row]));
  const joined = differences.map((difference) => {
    const id = `${difference.key} ${difference.second.from}`;
    const { columns = [] } = left.get(id) ?? {};
    left.delete(id);
    return { ...difference, columns: [...difference.columns, ...columns] };
  });
  return [...joined, ...[...left.values()].map((row) => ({ ...row, kind: 'differing' as const }))];
}

/** Tables that hold, for a completed second, only rows from the dataset's own pages. */
export function wholeTables(dataset: Dataset, jobs: readonly Dataset[]): Set<string> {
  const { tables, replacesRows } = dataset.job;
  const names = Object.keys(tables);
  return new Set(
    names.filter((name, index) => index === 0 || replacesRows || ownersOf(name, jobs).length === 1),
  );
}

/** `seconds`: the second of the record that has the row with this key. */
function toFindings(
  { dataset, scope }: Stream,
  table: string,
  differences: readonly Difference[],
  seconds: ReadonlyMap<string, number>,
): Finding[] {
  const kinds = new Set(differences.map(({ kind }) => kind));
  return [...kinds].map((kind): Finding => {
    const same = differences.filter((difference) => difference.kind === kind);
    const rows = same.map(({ key, second, columns }): NamedRow => {
      // A surplus row keeps its own second, even if the source has a row with its key in another one.
      const at = kind === 'not_in_source' ? undefined : seconds.get(key);
      const span = at === undefined ? second : spanOfSecond(at);
      return { table, key, span, own: second, differs: differsText(`${kind}_in_${table}`, columns) };
    });
    return {
      check: DEEP,
      dataset,
      scope,
      kind: `${kind}_in_${table}`,
      count: same.length,
      spans: union(rows.map(({ span }) => span)),
      example: `${same[0]?.key ?? ''} ${same[0]?.columns.join(', ') ?? ''}`.trim(),
      outcome: kind === 'missing' ? 'hole' : 'doubt',
      rows,
    };
  });
}

/** Adds rows by second to the sums of a table. */
export function addRows(
  sums: Map<string, Map<number, RowSum>>,
  table: string,
  seconds: Iterable<readonly [second: number, added: RowSum]>,
): void {
  const sum = sums.get(table) ?? new Map<number, RowSum>();
  for (const [second, { rows, keys }] of seconds) {
    const before = sum.get(second);
    sum.set(second, { rows: (before?.rows ?? 0) + rows, keys: (before?.keys ?? 0n) + keys });
  }
  sums.set(table, sum);
}

/** True if both sums are of the same rows. A row that is counted twice does not make up for a missing one. */
export function isSameSum(a: RowSum | undefined, b: RowSum): boolean {
  return a?.rows === b.rows && a.keys === b.keys;
}

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
  target: StreamOf,
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
    const facts = { check: DEEP, dataset: dataset.name, scope: stream.scope, findings, rows, requests, ms };
    for (const part of union(result.completed)) checks.push({ ...facts, readRows: [], span: part });
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
  table: Table,
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
  table: Table,
  span: Stretch,
  scope?: Scope,
): Promise<Map<number, RowSum>> {
  const found = await session.rows(sql`${storedRows(targetOf(table), span, scope)} order by 1`, Second);
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
