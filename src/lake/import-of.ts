import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { columnsToImport, type Import } from '../db/write/commit-import.ts';
import { LakeError } from '../errors.ts';
import type { ExportedTable } from '../export/tables-of.ts';
import { common, lengthOf, union, type Range } from '../range.ts';
import type { TableLog } from './delta/table-log.ts';
import { digestOf, missing, withFiles, type Lake } from './lake.ts';
import type { Part } from './part.ts';

/** Bytes of a file that are sent at once. */
const PIECE = 262_144;

/** A part, and its name below the lake. */
interface NamedPart extends Part {
  readonly name: string;
}

/** A table, and its parts. */
export interface ImportedTable extends ExportedTable {
  readonly parts: readonly NamedPart[];
}

/** What is to come, and from where. */
export interface WantedImport {
  readonly lake: Lake;
  readonly imported: readonly { readonly dataset: string; readonly spans: readonly Range[] }[];
  readonly sources: readonly ImportedTable[];
  readonly log: Import['log'];
}

export function sourcesOf(
  tables: readonly ExportedTable[],
  logs: ReadonlyMap<string, TableLog>,
): ImportedTable[] {
  return tables.map((table) => {
    const { parts = [] } = logs.get(table.facts.name) ?? {};
    return { ...table, parts: parts.map((part) => ({ ...part, name: `${table.facts.name}/${part.path}` })) };
  });
}

/** Works with the files of parts. */
type WithPaths = (
  parts: readonly NamedPart[],
  work: (paths: readonly string[]) => Promise<void>,
) => Promise<void>;

/** What of some seconds comes. The rows of a table are read while the database takes those of the table before. */
export function importOf(wanted: WantedImport, ranges: readonly Range[], withPaths: WithPaths): Import {
  const { lake, imported, sources, log } = wanted;
  const covered = imported.flatMap(({ dataset, spans }) =>
    common(spans, ranges).map((span) => ({ dataset, span, rows: rowsIn(sources, dataset, span) })),
  );
  const there = sources.flatMap((source) => {
    const seconds = union(
      covered.filter(({ dataset }) => source.dataset === dataset).map(({ span }) => span),
    );
    const parts = source.parts.filter((part) => part.rows > 0 && common([part.span], seconds).length > 0);
    return parts.length === 0 ? [] : [{ source, seconds, parts }];
  });
  const files = ahead(
    there.map(({ source: { table }, seconds, parts }) => async () => {
      const rows = lake.engine.scratch(randomUUID());
      const columns = columnsToImport(table);
      await withPaths(parts, (paths) => lake.engine.fromParquet(paths, { columns, seconds }, rows));
      return rows;
    }),
  );
  const rows = there.map(({ source: { table } }, at) => ({ table, pieces: () => piecesOf(() => files(at)) }));
  return { rows, covered, log };
}

/** Makes the next file of a list as soon as one is there. */
function ahead(makes: readonly (() => Promise<string>)[]): (at: number) => Promise<string> {
  const begun: Promise<string>[] = [];
  const begin = (at: number) => (begun[at] ??= makes[at]?.() ?? Promise.resolve(''));
  return async (at) => {
    const path = await begin(at);
    // Whoever asks for it learns what went wrong.
    begin(at + 1).catch(() => undefined);
    return path;
  };
}

/** Rows of a dataset's own table, as far as its parts tell. */
function rowsIn(sources: readonly ImportedTable[], dataset: string, span: Range): number {
  const own = sources.find((source) => source.dataset === dataset);
  const shares = (own?.parts ?? []).map(
    (part) => (part.rows * lengthOf(common([part.span], [span]))) / lengthOf([part.span]),
  );
  return Math.round(shares.reduce((sum, share) => sum + share, 0));
}

async function* piecesOf(make: () => Promise<string>): AsyncGenerator<Buffer, void> {
  const path = await make();
  const file = await open(path);
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE);
      const { bytesRead } = await file.read(piece);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
    await rm(path);
  }
}

/**
 * Works with the files of parts, which are here for as long as that takes.
 * @throws LakeError where one is not the one that its commit named
 */
export async function withParts(
  lake: Lake,
  parts: readonly NamedPart[],
  work: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  const names = parts.map(({ name }) => name);
  await withFiles(lake, names, async (fetched) => {
    const paths: string[] = [];
    for (const [at, part] of parts.entries()) paths.push(await intact(part, fetched[at]));
    await work(paths);
  });
}

async function intact({ name, sha256 }: NamedPart, path: string | undefined): Promise<string> {
  if (path === undefined) return missing(name);
  if ((await digestOf(path)) === sha256) return path;
  throw new LakeError(`${name} has been altered: its SHA-256 differs from the one in its commit`, {
    hint: '`toncenter-etl verify --lake` says what else is wrong. Get the lake again.',
  });
}
