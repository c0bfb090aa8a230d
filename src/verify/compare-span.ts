import type { Priority } from '../budget/priority.ts';
import { askPage } from '../crawl/streams/page.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { type AcceptedRecord, type RecordsReading, type Rejected, scopeOf } from '../dataset/job.ts';
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
import type { Stream } from '../ledger/stored-coverage.ts';
import { columnsWithFindings, type RightRow, DEEP, differsText } from '../ledger/stored-findings.ts';
import { isInside, spanOfSecond, union, type Range } from '../range.ts';
import type { Finding, NamedRow } from './checks/finding.ts';
import type { VerifyContext } from './checks/check.ts';
import type { FillContext } from '../crawl/streams/read-leases.ts';

/** What a comparison needs: the API, what was learned about its pages, and the database. */
export type CompareContext = VerifyContext & FillContext;

const PRIORITY: Priority = 'repair';

export interface ComparedSpan {
  /** Seconds that were read to their end. */
  readonly completed: readonly Range[];
  readonly findings: readonly Finding[];
  readonly requests: number;
  /** Stored rows of each table that were compared with the source, by second. */
  readonly matched: ReadonlyMap<string, ReadonlyMap<number, RowSum>>;
  /**
   * The part of `matched` in seconds that were read to their end. Rows that are also on other pages count once.
   */
  readonly sourceRows: ReadonlyMap<string, ReadonlyMap<number, RowSum>>;
  /** Seconds of another dataset's rows in which more is stored than these pages have: that dataset decides. */
  readonly omitted: ReadonlyMap<string, ReadonlySet<number>>;
  /** Rows that a previous comparison found wrong, and that are the same in the source. */
  readonly right: readonly RightRow[];
}

/** Reads a span of a stream again, page by page, and compares every row with the stored one. */
export async function compareSpan(
  context: CompareContext,
  { dataset, stream }: { readonly dataset: Dataset; readonly stream: Stream },
  span: Range,
): Promise<ComparedSpan> {
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
      const asked = {
        dataset,
        stream,
        cursor,
        size,
        trust,
        priority: PRIORITY,
        flight,
        signal: stop.leaving,
      };
      const { value } = await askPage(crawl, asked);
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
  target: { readonly dataset: Dataset; readonly stream: Stream },
  { held, completed, tally }: { readonly held: Uncompared; readonly completed: Range; readonly tally: Tally },
): Promise<Uncompared> {
  const isComplete = ({ position }: { readonly position: { readonly utime: number } }) =>
    isInside(position.utime, completed);
  const isLater = ({ position }: { readonly position: { readonly utime: number } }) =>
    position.utime >= completed.to;
  const records = held.accepted.filter(isComplete);
  await compareRecords(context, target, { records, completed, tally });
  tally.findings.push(...(await toMisfits(context, target.stream, held.rejected.filter(isComplete))));
  tally.completed.push(completed);
  return { accepted: held.accepted.filter(isLater), rejected: held.rejected.filter(isLater) };
}

class Tally implements ComparedSpan {
  readonly completed: Range[] = [];
  readonly findings: Finding[] = [];
  readonly matched = new Map<string, Map<number, RowSum>>();
  readonly sourceRows = new Map<string, Map<number, RowSum>>();
  readonly omitted = new Map<string, Set<number>>();
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
  { dataset, stream }: { readonly dataset: Dataset; readonly stream: Stream },
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
