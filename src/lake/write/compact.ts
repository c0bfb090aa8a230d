import { lengthOf, union } from '../../range.ts';
import { commit, type TableLog } from '../delta/table-log.ts';
import { lowerOf } from '../grades.ts';
import { missing, withFiles, type Lake } from '../lake.ts';
import type { Part } from '../part.ts';
import { periodOf } from '../../db/write/partitions.ts';
import { putPart } from './write-part.ts';

/** Makes one part of those of a day of which the lake has every second; in one step, after which the old ones go. */
export async function compact(lake: Lake, log: TableLog, day: string): Promise<TableLog> {
  const parts = log.parts.filter((part) => part.day === day);
  const spans = union(parts.map(({ span }) => span));
  const [first, last] = [parts[0], spans[0]];
  if (first === undefined || last === undefined || parts.length < 2) return log;
  const whole = periodOf(first.span.from, 'day');
  if (spans.length > 1 || lengthOf(spans) < lengthOf([whole])) return log;
  const file = lake.engine.scratch('day.parquet');
  await withFiles(
    lake,
    parts.map(({ path }) => `${log.table}/${path}`),
    (paths) =>
      lake.engine.merge(
        paths.map((path, at) => path ?? missing(parts[at]?.path ?? '')),
        file,
      ),
  );
  const merged = await putPart(lake, log.table, file, together(parts, whole));
  const compacted = await commit(lake, log, { add: [merged], remove: parts, isNew: false });
  await removeParts(lake, log.table, parts);
  return compacted;
}

/** Removes files that no commit names any longer. */
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
