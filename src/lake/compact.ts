import { lengthOf, type Range } from '../range.ts';
import { commit, type TableLog } from './delta-log.ts';
import { lowerOf } from './grades.ts';
import { missing, withFiles, type Lake } from './lake.ts';
import type { Part } from './part.ts';
import { periodOf } from '../write/partitions.ts';
import { putPart } from './write-part.ts';

/**
 * If a stretch of seconds has more parts than this, the younger ones are merged. A daemon adds one every two minutes.
 */
const MOST_PARTS = 6;

/**
 * Merges adjacent parts of a day. If the lake has the whole day, or if `isOver` says that no more parts are expected,
 * it merges all of them. Otherwise it merges those that are small compared with the later ones. So each row is written
 * a few times, and a day has about a dozen parts. Each merge is one commit, after which the old files are removed.
 */
export async function compact(lake: Lake, log: TableLog, day: string, isOver: boolean): Promise<TableLog> {
  let compacted = log;
  for (const stretch of stretchesOf(log.parts.filter((part) => part.day === day))) {
    const parts = isOver || isWhole(stretch) ? stretch : smallOnes(stretch);
    const [first, last] = [parts[0], parts.at(-1)];
    if (first === undefined || last === undefined || parts.length < 2) continue;
    compacted = await merge(lake, compacted, parts, { from: first.span.from, to: last.span.to });
  }
  return compacted;
}

/** Parts without a hole between them. Incomplete ones stay separate: a merged part gets the lowest grade. */
function stretchesOf(parts: readonly Part[]): Part[][] {
  const stretches: Part[][] = [];
  for (const part of parts) {
    const stretch = stretches.at(-1);
    const before = stretch?.at(-1);
    if (before?.span.to === part.span.from && isIncomplete(before) === isIncomplete(part))
      stretch?.push(part);
    else stretches.push([part]);
  }
  return stretches;
}

const isIncomplete = ({ grades }: Part) => Object.values(grades).includes('incomplete');

const secondsOf = (parts: readonly Part[]) => lengthOf(parts.map(({ span }) => span));

function isWhole(parts: readonly Part[]): boolean {
  const [first] = parts;
  return first !== undefined && secondsOf(parts) === lengthOf([periodOf(first.span.from, 'day')]);
}

/** The last parts, starting with the first one that is no longer than all later ones together. */
function smallOnes(parts: readonly Part[]): readonly Part[] {
  if (parts.length <= MOST_PARTS) return [];
  const from = parts.findIndex((part, at) => secondsOf([part]) <= secondsOf(parts.slice(at + 1)));
  return from < 0 ? [] : parts.slice(from);
}

async function merge(lake: Lake, log: TableLog, parts: readonly Part[], span: Range): Promise<TableLog> {
  const file = lake.engine.scratch('merged.parquet');
  await withFiles(
    lake,
    parts.map(({ path }) => `${log.table}/${path}`),
    (paths) =>
      lake.engine.merge(
        paths.map((path, at) => path ?? missing(parts[at]?.path ?? '')),
        file,
      ),
  );
  const merged = await putPart(lake, log.table, file, together(parts, span));
  const compacted = await commit(lake, log, { add: [merged], remove: parts, isNew: false });
  await removeParts(lake, log.table, parts);
  return compacted;
}

/** Removes files that no commit names any more. */
export async function removeParts(lake: Lake, table: string, parts: readonly Part[]): Promise<void> {
  for (const { path } of parts) await lake.store.remove(`${table}/${path}`);
}

function together(parts: readonly Part[], span: Part['span']): Parameters<typeof putPart>[3] {
  const changes = parts.flatMap(({ changedAt }) => changedAt ?? []);
  const datasets = new Set(parts.flatMap(({ grades }) => Object.keys(grades)));
  const lowest = (dataset: string) => parts.map(({ grades }) => grades[dataset] ?? '').reduce(lowerOf);
  return {
    span,
    rows: parts.reduce((sum, { rows }) => sum + rows, 0),
    keys: sumOf(parts.map(({ keys }) => keys)),
    changedAt: changes.toSorted().at(-1) ?? null,
    loaded: parts.some(({ loaded }) => loaded === null) ? null : sumOf(parts.map(({ loaded }) => loaded)),
    grades: Object.fromEntries([...datasets].map((dataset) => [dataset, lowest(dataset)])),
  };
}

function sumOf(numbers: readonly (string | null)[]): string {
  return String(numbers.reduce((sum, number) => sum + BigInt(number ?? 0), 0n));
}
