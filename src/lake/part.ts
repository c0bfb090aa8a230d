import { formatTime, type Range, intersect, lengthOf } from '../range.ts';
import { periodOf } from '../write/target.ts';
import type { Database } from '../postgres/database.ts';
import { coveredBy, gradeOf } from '../read/grade-of.ts';
import { isSameState, stateOf } from '../read/table-rows.ts';
import type { ExportedTable } from '../export/write-rows.ts';
import { GRADES } from '../dataset/job.ts';

/** A file of a lake: rows of one table and one day, and facts about them from the program that wrote it. */
export interface Part {
  /** Path below the table's folder. */
  readonly path: string;
  /** `2026-01-01`, UTC: the day of the rows' block time; for a snapshot, the day when it was taken. */
  readonly day: string;
  /** The seconds of block time of which the part holds every row; for a snapshot, the second when it was taken. */
  readonly span: Range;
  readonly rows: number;
  /** The sum of the hashes of the rows' keys, as in the seals of the database; null for a snapshot. */
  readonly keys: string | null;
  readonly bytes: number;
  readonly sha256: string;
  /** The newest `loaded_at` of the rows when they were read. */
  readonly changedAt: string | null;
  /** The sum of the times at which the rows were written, in microseconds; null if an older version omitted it. */
  readonly loaded: string | null;
  /** The grade of the rows, for each dataset that fills the table. */
  readonly grades: Readonly<Record<string, string>>;
  /** Version of the program that wrote the part, and of its schema. */
  readonly program: string;
  readonly schema: string;
}

export function dayOf(second: number): string {
  return formatTime(second).slice(0, 10);
}

/** Parts with different contents have different names, so that none is overwritten. */
export function pathOf({ from, to }: Range, sha256: string): string {
  const compact = (second: number) => formatTime(second).replace(/[-:]/g, '');
  return `day=${dayOf(from)}/part-${compact(from)}-${compact(to)}-${sha256.slice(0, 12)}.parquet`;
}

/** Cuts ranges into days, and groups the pieces by day. */
export function daysOf(ranges: readonly Range[]): Range[][] {
  const days = new Map<string, Range[]>();
  for (const { from, to } of ranges) {
    for (let at = from; at < to; at = periodOf(at, 'day').to) {
      const piece = intersect({ from: at, to }, periodOf(at, 'day'));
      if (piece !== undefined) days.set(dayOf(at), [...(days.get(dayOf(at)) ?? []), piece]);
    }
  }
  return [...days.values()];
}

/** The grade of seconds that are not covered as a whole. */
export const LOWEST = 'incomplete';
const RANKS: readonly string[] = [LOWEST, ...GRADES];

/** The lower one of two grades; an unknown grade is the lowest. */
export function lowerOf(a: string, b: string): string {
  return RANKS[Math.max(0, Math.min(RANKS.indexOf(a), RANKS.indexOf(b)))] ?? LOWEST;
}

/** The grade of these seconds in the dataset that the table belongs to. */
export async function gradesOf(
  session: Parameters<typeof gradeOf>[0],
  { dataset, facts }: ExportedTable,
  span: Range,
): Promise<Part['grades']> {
  return { [dataset]: facts.partitioned ? await gradeOf(session, dataset, span) : 'as read' };
}

/** True if the database still has every row that the part was written from: it may have dropped old rows since. */
export async function isCovered(database: Database, { grades, span }: Part): Promise<boolean> {
  for (const dataset of Object.keys(grades)) {
    if (grades[dataset] === LOWEST) continue;
    if (lengthOf(await coveredBy(database, dataset, span)) < lengthOf([span])) return false;
  }
  return true;
}

/**
 * The grades of a part that cannot be rewritten. If some of its seconds are holes in the database, or if the database
 * has other rows by now, a row of the part may be known to be wrong. Nothing is known about seconds that the database
 * does not have at all.
 */
export async function doubtedGrades(
  database: Database,
  { table }: ExportedTable,
  { span, grades, ...state }: Part,
): Promise<Part['grades']> {
  const covered = new Map<string, number>();
  for (const dataset of Object.keys(grades))
    covered.set(dataset, lengthOf(await coveredBy(database, dataset, span)));
  // Days that the database has dropped are part of every export, so their rows are not counted.
  if ([...covered.values()].every((seconds) => seconds === 0)) return grades;
  const isSame = isSameState(await stateOf(database, { table, span }), state);
  const doubted: [string, string][] = [];
  for (const [dataset, grade] of Object.entries(grades)) {
    const seconds = covered.get(dataset) ?? 0;
    const isWhole = isSame && seconds === lengthOf([span]);
    const now = isWhole ? await gradeOf(database, dataset, span) : 'covered';
    doubted.push([dataset, seconds > 0 ? lowerOf(grade, now) : grade]);
  }
  return Object.fromEntries(doubted);
}

/** A grade of the part that its rows have lost since; undefined if there is none. */
export async function lostGrade(
  database: Database,
  source: ExportedTable,
  part: Part,
): Promise<string | undefined> {
  const now = (await isCovered(database, part))
    ? await gradesOf(database, source, part.span)
    : await doubtedGrades(database, source, part);
  return Object.entries(part.grades)
    .filter(([dataset, grade]) => lowerOf(grade, now[dataset] ?? grade) !== grade)
    .map(([dataset, grade]) => `${dataset} ${grade}`)[0];
}
