import type { Database } from '../postgres/database.ts';
import { coveredBy, gradeOf } from '../read/grade-of.ts';
import { isSameState, stateOf } from '../read/table-rows.ts';
import type { ExportedTable } from '../export/tables-of.ts';
import { GRADES } from '../dataset/job.ts';
import { lengthOf, type Range } from '../range.ts';
import type { Part } from './part.ts';

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
