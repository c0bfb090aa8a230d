import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Dataset } from '../dataset/dataset.ts';
import type { Session } from '../postgres/database.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import type { RowSum } from '../write/compare-rows.ts';
import { keyHash } from '../write/seals.ts';
import { targetOf } from '../write/target.ts';
import { isInside, type Range, type Stretch, stretchesOf } from '../range.ts';
import { during } from '../postgres/seconds.ts';
import { scopeOf, type Scope } from '../dataset/job.ts';

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
export function secondsWithin<T>(sums: ReadonlyMap<number, T>, range: Range): Map<number, T> {
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

/** Pages in a slice if everything is read. Several slices are read at once, and each ends with a short page. */
const PAGES_OF_ALL = 16;

interface SampledStream {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly covered: readonly Range[];
}

/**
 * Slices of a range, each with about a page of stored rows, drawn at random until they hold the share of all rows. If
 * the share is everything, the slices are longer and cover the whole range.
 */
export async function drawSlices(
  session: Session,
  { dataset: { job }, stream, covered }: SampledStream,
  draw: { readonly share: number; readonly random: () => number },
): Promise<Range[]> {
  const { share, random } = draw;
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
