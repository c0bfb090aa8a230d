import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance, DuckDBResultReader, Json } from '@duckdb/node-api';
import { hasEnded } from '../ledger/workers.ts';
import type { TextResult } from '../postgres/sql.ts';
import { literal } from '../tables/describe.ts';
import { LakeError, messageOf, NoScratchError, UsageError, DatabaseError } from '../errors.ts';
import type { Range } from '../range.ts';
import { COPY_TEXT, printedValue, rowsOf, type CopiedColumns } from './copied-rows.ts';

interface WantedRows {
  /** Column names, in order. */
  readonly columns: readonly string[];
  /** If undefined, the rows of all seconds. */
  readonly seconds?: readonly Range[];
}

export type Engine = Awaited<ReturnType<typeof openEngine>>;

/** Compressed with zstd, dictionary-encoded if values repeat, with statistics for each group of rows. */
const PARQUET = 'format parquet, compression zstd, row_group_size 122880';

const files = (paths: readonly string[]) =>
  `read_parquet([${paths.map(literal).join(', ')}], union_by_name = true, hive_partitioning = false)`;

/**
 * Reads and writes Parquet with DuckDB, and has a folder for temporary files.
 * @throws UsageError if DuckDB has no binary for this machine, NoScratchError if it has no directory for temporary
 * files
 */
export async function openEngine(directory = tmpdir()) {
  const folder = await openFolder(directory);
  const instance = await openDuck(folder);
  const duck = await instance.connect();
  // Otherwise DuckDB would take its proxy from the environment, and show the proxy's password to each statement.
  await duck.run(`set TimeZone = 'UTC'; set http_proxy = ''`);
  return {
    scratch: (name: string) => join(folder, name),
    /** Converts rows in the text format of COPY to a Parquet file, in their order. */
    toParquet: (rows: string, columns: CopiedColumns, parquet: string) =>
      asLakeError(inOrder(duck, `copy (${rowsOf(rows, columns)}) to ${literal(parquet)} (${PARQUET})`)),
    /** Converts rows of Parquet files to a file in the text format of COPY; a column that is in none of them is null. */
    fromParquet: (parquets: readonly string[], wanted: WantedRows, rows: string) =>
      asLakeError(writeRows(duck, parquets, wanted, rows)),
    /** Concatenates files into one. */
    merge: async (parquets: readonly string[], parquet: string) => {
      await asLakeError(
        duck.run(`copy (select * from ${files(parquets)}) to ${literal(parquet)} (${PARQUET})`),
      );
    },
    /** The values of an expression for all rows of a file. */
    texts: async (parquet: string, expression: string): Promise<readonly string[]> => {
      const query = `select ${expression} from ${files([parquet])}`;
      return textOf(await asLakeError(duck.runAndReadAll(query))).rows.map(([text]) => text ?? '');
    },
    /**
     * Runs statements of this program. Returns the rows of the last one, with every value as text, as Postgres prints it.
     */
    ask: async (statements: string) => textOf(await duck.runAndReadAll(statements)),
    /**
     * Restricts the engine to these files, without network access, and no setting can be changed. Only a new engine is
     * unrestricted again.
     */
    confine: async (paths: readonly string[]) => {
      await duck.run(`set allowed_paths = [${paths.map(literal).join(', ')}]`);
      await duck.run('set enable_external_access = false');
      await duck.run('set lock_configuration = true');
    },
    /** Runs a user's statement, which may only read, until the signal ends it. Call `confine` first. */
    read: async (statement: string, signal?: AbortSignal) => {
      const interrupt = () => duck.interrupt();
      signal?.addEventListener('abort', interrupt);
      try {
        return textOf(await runReading(duck, statement));
      } finally {
        signal?.removeEventListener('abort', interrupt);
      }
    },
    close: async () => {
      duck.closeSync();
      instance.closeSync();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @throws LakeError in one sentence: DuckDB's own message may be long, and quote rows */
async function asLakeError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const [line = ''] = messageOf(cause).split('\n');
    throw new LakeError(`DuckDB failed: ${line}`, { cause });
  }
}

async function writeRows(
  duck: DuckDBConnection,
  parquets: readonly string[],
  { columns, seconds }: WantedRows,
  rows: string,
): Promise<void> {
  const reader = await duck.runAndReadAll(`select * from ${files(parquets)} limit 0`);
  const types = new Map(reader.columnNames().map((name, at) => [name, reader.columnType(at).toString()]));
  const values = columns.map((name) => `${printedValue(name, types)} as "${name}"`);
  const within = seconds?.map(
    ({ from, to }) => `utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
  );
  const wanted = within === undefined ? '' : ` where ${within.join(' or ')}`;
  const query = `select ${values.join(', ')} from ${files(parquets)}${wanted}`;
  await inOrder(
    duck,
    `copy (${query}) to ${literal(rows)} (format csv, header false, ${COPY_TEXT.replaceAll(' =', '')})`,
  );
}

/**
 * Runs a statement that writes rows in their order. Several threads would busy-wait for each other, at up to twice the
 * cost, and one is faster than the database that sends or takes the rows.
 */
async function inOrder(duck: DuckDBConnection, statement: string): Promise<void> {
  await duck.run('set threads = 1');
  try {
    await duck.run(statement);
  } finally {
    await duck.run('reset threads');
  }
}

/**
 * A folder named after this process. Folders of killed processes are removed, unless they belong to another user.
 * @throws NoScratchError if no folder can be created
 */
async function openFolder(directory: string): Promise<string> {
  const ignore = () => undefined;
  for (const name of await readdir(directory).catch(() => [])) {
    const [, host, pid] = /^toncenter-etl-lake-(.+)-(\d+)-\w{6}$/.exec(name) ?? [];
    if (host !== undefined && hasEnded(`${host}/${pid ?? ''}`))
      await rm(join(directory, name), { recursive: true, force: true }).catch(ignore);
  }
  const path = join(directory, `toncenter-etl-lake-${hostname()}-${process.pid}-`);
  return mkdtemp(path).catch((cause: unknown) => {
    throw new NoScratchError(`no directory can be created in ${directory}: ${messageOf(cause)}`, {
      cause,
      hint: 'Temporary files are written there while a lake is open. Set TMPDIR to a writable directory.',
    });
  });
}

/** Imported only here, because the library has some 70 MB. */
async function openDuck(folder: string): Promise<DuckDBInstance> {
  const { DuckDBInstance } = await import('@duckdb/node-api').catch((cause: unknown) => {
    throw new UsageError('DuckDB, which reads and writes Parquet, is not installed for this machine', {
      cause,
      hint: 'Install without --omit=optional. --format csv needs no DuckDB.',
    });
  });
  return DuckDBInstance.create(':memory:', {
    temp_directory: join(folder, 'spill'),
    // Otherwise DuckDB returns old contents of a Parquet file that was rewritten within some seconds.
    enable_external_file_cache: 'false',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
}

function textOf(reader: DuckDBResultReader | undefined): TextResult {
  if (reader === undefined) return { columns: [], rows: [], command: '' };
  const rows = reader.getRowsJson().map((row) => row.map(printed));
  return { columns: reader.columnNames(), rows, command: `SELECT ${rows.length}` };
}

function printed(value: Json): string | null {
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (value === null || typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

/*
 * A DuckDB session that runs a user's statements. DuckDB restricts it to some files, and this program to statements
 * that read: DuckDB would also let it write to each of these files.
 */

/** Runs one or more statements. Returns the rows of the last one. */
async function runReading(
  duck: DuckDBConnection,
  statement: string,
): Promise<DuckDBResultReader | undefined> {
  const { StatementType } = await import('@duckdb/node-api');
  const found = await duck.extractStatements(statement);
  let rows: DuckDBResultReader | undefined;
  for (let at = 0; at < found.count; at += 1) {
    const prepared = await found.prepare(at);
    const type = prepared.statementType;
    const isReading =
      type === StatementType.SELECT ||
      // Creates tables, views and macros of the session. A secret could send the rows to another server.
      (type === StatementType.CREATE && !/secret/i.test(statement)) ||
      (type === StatementType.EXPLAIN && found.count === 1 && (await explainsReading(duck, statement)));
    if (!isReading) refuse(`${StatementType[type].toLowerCase()} statement`);
    if (switchesLogging(statement))
      refuse('call of enable_logging or the like, or of a function that runs a text');
    rows = await prepared.runAndReadAll();
  }
  return rows;
}

/**
 * True if a statement may switch DuckDB's log or its profiler on: they write files, and DuckDB ends the process if it
 * may not write one. `query`, `query_table` and `json_execute_serialized_sql` run a text that may be put together from
 * parts.
 */
function switchesLogging(statement: string): boolean {
  return (
    /enable_\w+|json_execute_serialized_sql/i.test(statement) ||
    /\bquery(?:_table)?"?\s*(?:\/\*[^]*?\*\/\s*|--.*\n\s*)*\(/i.test(statement)
  );
}

/** `explain analyze` runs the statement that follows. */
async function explainsReading(duck: DuckDBConnection, statement: string): Promise<boolean> {
  const { StatementType } = await import('@duckdb/node-api');
  const explained = statement.replace(/^\s*explain\s+(analyze\s+)?(\([^)]*\)\s*)?/i, '');
  const found = await duck.extractStatements(explained);
  return found.count === 1 && (await found.prepare(0)).statementType === StatementType.SELECT;
}

function refuse(what: string): never {
  throw new DatabaseError(`\`sql --lake\` only reads: it runs no ${what}`, {
    hint: 'It runs select, explain, describe and show, and creates tables, views and macros for the session.',
  });
}
