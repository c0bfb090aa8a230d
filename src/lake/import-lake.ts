import { closeSync, openSync, readSync } from 'node:fs';
import { splitKinds, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { claimNetwork } from '../db/connection/network.ts';
import type { Database } from '../db/connection/database.ts';
import { coveredBy } from '../db/read/grade-of.ts';
import { columnsToImport, commitImport } from '../db/write/commit-import.ts';
import type { Partitions } from '../db/write/partitions.ts';
import { LakeError } from '../errors.ts';
import { tablesOf, type ExportedTable } from '../export/tables-of.ts';
import { common, lengthOf, union, without, type Range } from '../range.ts';
import type { Stop } from '../stop.ts';
import { daysOf } from './days-of.ts';
import { readLog, type TableLog } from './delta/table-log.ts';
import { digestOf, missing, withFiles, type Lake } from './lake.ts';
import { dayOf, type Part } from './part.ts';

/** Rows that one transaction brings: what the driver has in memory at most. */
const ROWS_AT_ONCE = 100_000;

/** Bytes of a file that are sent at once. */
const PIECE = 65_536;

interface ImportOptions {
  readonly lake: Lake;
  readonly database: Database;
  readonly partitions: Partitions;
  readonly datasets: readonly Dataset<AnyJob>[];
  readonly range: Range;
  readonly stop: Stop;
  /** Called for each commit, with the number of rows that were new. */
  readonly onCommit: (span: Range, rows: number) => void;
}

/** What of a dataset comes from the lake, and what the lake has not. */
export interface Imported {
  readonly dataset: string;
  readonly spans: readonly Range[];
  readonly lacking: readonly Range[];
}

/**
 * Brings what the database does not cover of a range from a lake: rows, their receipts and coverage, oldest first.
 * Nothing of it is verified, whatever the lake says. Stopped before the end, it keeps what it has brought.
 */
export async function importLake(options: ImportOptions): Promise<Imported[]> {
  const { lake, database, stop } = options;
  // What is read by pool or account is covered by pool or account, which no part tells apart.
  const datasets = splitKinds(options.datasets).streams.filter(({ job }) => job.scopes === undefined);
  const tables = tablesOf(datasets).filter(({ facts }) => facts.partitioned);
  const logs = new Map<string, TableLog>();
  for (const { facts } of tables) logs.set(facts.name, await readLog(lake.store, facts.name));
  for (const { network } of logs.values()) if (network !== undefined) await claimNetwork(database, network);
  const imported: Imported[] = [];
  for (const dataset of datasets) imported.push(await wantedOf(options, dataset, logs));
  for (const day of daysOf(union(...imported.map(({ spans }) => spans)))) {
    if (stop.finishing.aborted) break;
    await importDay(options, { day, imported, sources: sourcesOf(tables, logs, dayOf(day[0]?.from ?? 0)) });
  }
  return imported;
}

async function wantedOf(
  { database, range }: ImportOptions,
  { name, job }: Dataset,
  logs: ReadonlyMap<string, TableLog>,
): Promise<Imported> {
  const own = Object.keys(job.tables).flatMap((table) => logs.get(table) ?? []);
  const spansIn = ({ parts }: TableLog) =>
    parts.filter(({ grades }) => (grades[name] ?? 'incomplete') !== 'incomplete').map(({ span }) => span);
  const there = own.map(spansIn).reduce((all, spans) => common(all, spans), [range]);
  const lacks = without([range], await coveredBy(database, name, range));
  return { dataset: name, spans: common(lacks, there), lacking: without(lacks, there) };
}

/** A table, and its parts of one day. */
interface LakeTable extends ExportedTable {
  readonly parts: readonly Part[];
}

function sourcesOf(
  tables: readonly ExportedTable[],
  logs: ReadonlyMap<string, TableLog>,
  day: string,
): LakeTable[] {
  const partsOf = (name: string) => logs.get(name)?.parts.filter((part) => part.day === day) ?? [];
  return tables.map((table) => ({ ...table, parts: partsOf(table.facts.name) }));
}

interface Day {
  readonly day: readonly Range[];
  readonly imported: readonly Imported[];
  readonly sources: readonly LakeTable[];
}

async function importDay(options: ImportOptions, { day, imported, sources }: Day): Promise<void> {
  const named = sources.flatMap((source) => source.parts.map((part) => ({ source, part })));
  const names = named.map(({ source, part }) => `${source.facts.name}/${part.path}`);
  await withFiles(options.lake, names, async (fetched) => {
    const files = new Map<Part, string>();
    for (const [at, { part }] of named.entries()) files.set(part, await intact(part, fetched[at]));
    for (const piece of cut(day, sources)) {
      if (options.stop.finishing.aborted) return;
      const covered = imported.flatMap(({ dataset, spans }) =>
        common(spans, [piece]).map((span) => ({ dataset, span })),
      );
      await importPiece(options, { covered, sources, files, piece });
    }
  });
}

/** @throws LakeError where a file is not the one that its commit named */
async function intact(part: Part, path: string | undefined): Promise<string> {
  if (path === undefined) return missing(part.path);
  if ((await digestOf(path)) === part.sha256) return path;
  throw new LakeError(`${part.path} has been altered: its SHA-256 is another than its commit named`, {
    hint: '`toncenter-etl verify --lake` says what else is wrong. Get the lake again.',
  });
}

/** Ranges of a day in pieces of so many rows as a transaction may bring. */
function cut(day: readonly Range[], sources: readonly LakeTable[]): Range[] {
  const parts = sources.flatMap((source) => source.parts);
  const perSecond = sources.reduce((sum, source) => {
    const seconds = lengthOf(source.parts.map(({ span }) => span));
    return sum + source.parts.reduce((rows, part) => rows + part.rows, 0) / Math.max(1, seconds);
  }, 0);
  const length =
    parts.length === 0 ? Infinity : Math.max(1, Math.floor(ROWS_AT_ONCE / Math.max(perSecond, 1)));
  return day.flatMap(({ from, to }) =>
    Array.from({ length: Math.ceil((to - from) / length) }, (_, at) => ({
      from: from + at * length,
      to: Math.min(to, from + (at + 1) * length),
    })),
  );
}

interface Piece extends Pick<Day, 'sources'> {
  readonly covered: readonly { readonly dataset: string; readonly span: Range }[];
  readonly files: ReadonlyMap<Part, string>;
  readonly piece: Range;
}

async function importPiece(
  { lake: { engine }, database, partitions, onCommit }: ImportOptions,
  { covered, sources, files, piece }: Piece,
): Promise<void> {
  const rows: Parameters<typeof commitImport>[2]['rows'][number][] = [];
  for (const { table, facts, datasets, parts } of sources) {
    const seconds = union(
      covered.filter(({ dataset }) => datasets.includes(dataset)).map(({ span }) => span),
    );
    const within = parts.filter(({ span, rows: count }) => count > 0 && common([span], seconds).length > 0);
    if (within.length === 0) continue;
    const csv = engine.scratch(`${facts.name}.csv`);
    const paths = within.map((part) => files.get(part) ?? missing(part.path));
    await engine.toCsv(paths, { columns: columnsToImport(table), seconds }, csv);
    rows.push({ table, pieces: () => piecesOf(csv) });
  }
  onCommit(piece, await commitImport(database, partitions, { rows, covered }));
}

function* piecesOf(path: string): Generator<Buffer, void> {
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE);
      const size = readSync(file, piece);
      if (size === 0) return;
      yield piece.subarray(0, size);
    }
  } finally {
    closeSync(file);
  }
}
