import type { Database } from '../postgres/database.ts';
import { coveredBy, gradeOf } from '../read/grade-of.ts';
import { isSameState, stateOf } from '../read/table-rows.ts';
import type { ExportedTable } from '../export/tables-of.ts';
import { GRADES } from '../dataset/grade.ts';
import { lengthOf, type Range } from '../range.ts';
import type { Part } from './part.ts';

const RANKS: readonly string[] = ['incomplete', ...GRADES];

/** The grade that says less; one that is unknown says nothing. */
export function lowerOf(a: string, b: string): string {
  return RANKS[Math.max(0, Math.min(RANKS.indexOf(a), RANKS.indexOf(b)))] ?? '';
}

/** How far the dataset that a table is for is to be trusted in these seconds. */
export async function gradesOf(
  session: Parameters<typeof gradeOf>[0],
  { dataset, facts }: ExportedTable,
  span: Range,
): Promise<Part['grades']> {
  return { [dataset]: facts.partitioned ? await gradeOf(session, dataset, span) : 'as read' };
}

/** The database still has every row that the part was written from: it may have dropped old ones since. */
export async function isCovered(database: Database, { grades, span }: Part): Promise<boolean> {
  for (const dataset of Object.keys(grades)) {
    if (grades[dataset] === 'incomplete') continue;
    if (lengthOf(await coveredBy(database, dataset, span)) < lengthOf([span])) return false;
  }
  return true;
}

/**
 * The grades of a part that cannot be written anew. Where the database has some of its seconds and others are holes, or has
 * other rows by now, a row of it may be known to be wrong. Of seconds that it has not at all nothing is known.
 */
export async function doubtedGrades(
  database: Database,
  { table }: ExportedTable,
  { span, grades, ...state }: Part,
): Promise<Part['grades']> {
  const covered = new Map<string, number>();
  for (const dataset of Object.keys(grades))
    covered.set(dataset, lengthOf(await coveredBy(database, dataset, span)));
  // Days that the database has dropped come at every export: of these nothing is counted.
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

/** A grade that a part has and that its rows have lost since; undefined where there is none. */
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
