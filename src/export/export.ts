import { mkdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Database } from '../db/connection/database.ts';
import type { TableDescription } from '../db/read/table-description.ts';
import { gradeOf, partsOf, readPart, stateOf, type TablePart } from '../db/read/table-parts.ts';
import { formatTime, type Range } from '../range.ts';
import type { Stop } from '../stop.ts';
import { readManifest, writeManifest, type ManifestEntry } from './manifest.ts';
import type { FileFormat } from './row-file.ts';

/** A table, and the dataset that says how far to trust it. */
export interface ExportedTable {
  readonly dataset: string;
  readonly table: TableDescription;
  /** True for a list or look-up: it is written as it is now, and left out where nothing of it has been read. */
  readonly isSnapshot: boolean;
}

interface ExportOptions {
  readonly database: Database;
  readonly tables: readonly ExportedTable[];
  readonly range: Range;
  readonly format: FileFormat;
  readonly directory: string;
  readonly stop: Stop;
  /** Unix seconds. */
  readonly now: number;
  /** Called for each file: written anew, or left as it is because nothing of it has changed. */
  readonly onFile: (entry: ManifestEntry, written: boolean) => void;
}

/**
 * Writes a file for each partition of each table, `table/partition.format`, and the manifest after each of them. What the
 * manifest of an earlier run in the directory knows and has not changed since is left as it is. False where it was
 * stop before the end.
 */
export async function exportTables(options: ExportOptions): Promise<boolean> {
  const { database, tables, range, format, directory, stop, onFile } = options;
  await mkdir(directory, { recursive: true });
  const manifest = await readManifest(directory, format.name);
  const entries = new Map(manifest.files.map((entry) => [entry.file, entry]));
  for (const exported of tables) {
    const { table, isSnapshot } = exported;
    for (const part of await partsOf(database, table, range)) {
      if (stop.finishing.aborted) return false;
      if (isSnapshot && (await stateOf(database, part)).rows === 0) continue;
      const file = `${table.name}/${part.name}.${format.name}`;
      const known = entries.get(file);
      const facts = await factsOf(options, file, exported, part);
      const unchanged = known !== undefined && (await isUnchanged(options, part, known, facts));
      const entry = unchanged
        ? { ...known, grade: facts.grade, taken_at: facts.taken_at }
        : { ...facts, ...(await writePart(options, part, join(directory, file))) };
      entries.set(file, entry);
      await writeManifest(directory, { ...manifest, files: [...entries.values()] });
      onFile(entry, !unchanged);
    }
  }
  return true;
}

type Facts = Omit<ManifestEntry, 'rows' | 'bytes' | 'changed_at'>;

async function factsOf(
  { database, now }: ExportOptions,
  file: string,
  { dataset, isSnapshot }: ExportedTable,
  part: TablePart,
): Promise<Facts> {
  const { table, span } = part;
  return {
    file,
    table: table.name,
    dataset,
    from: span === undefined ? null : formatTime(span.from),
    to: span === undefined ? null : formatTime(span.to),
    taken_at: isSnapshot ? formatTime(Math.floor(now)) : null,
    grade: isSnapshot ? 'as read' : await gradeOf(database, dataset, span),
    columns: table.columns.map(({ name, type }) => ({ name, type })),
  };
}

/** The file is there, was made for the same seconds and columns, and the rows are as they were. */
async function isUnchanged(
  { database, directory }: ExportOptions,
  part: TablePart,
  known: ManifestEntry,
  facts: Facts,
): Promise<boolean> {
  if (known.from !== facts.from || known.to !== facts.to) return false;
  if (JSON.stringify(known.columns) !== JSON.stringify(facts.columns)) return false;
  if ((await sizeOf(join(directory, known.file))) !== known.bytes) return false;
  const { rows, changedAt } = await stateOf(database, part);
  return rows === known.rows && changedAt === known.changed_at;
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}

/** Rows and their newest `loaded_at` are counted as they are written: the manifest tells of the file, not of the table. */
async function writePart(
  { database, format }: ExportOptions,
  part: TablePart,
  path: string,
): Promise<Pick<ManifestEntry, 'rows' | 'bytes' | 'changed_at'>> {
  await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.partial`;
  const file = await format.open(partial, part.table);
  const loadedAt = part.table.columns.findIndex(({ name }) => name === 'loaded_at');
  let rows = 0;
  let changed_at: string | null = null;
  await readPart(database, part, async (batch) => {
    rows += batch.length;
    for (const row of batch) {
      const time = row[loadedAt]?.replace('+00', '') ?? null;
      // As Postgres prints them: `…:05.1` is later than `…:05`, letter by letter too.
      if (time !== null && (changed_at === null || time > changed_at)) changed_at = time;
    }
    await file.write(batch);
  });
  await file.end();
  await rename(partial, path);
  return { rows, bytes: (await sizeOf(path)) ?? 0, changed_at };
}
