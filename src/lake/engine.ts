import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBInstance, Json } from '@duckdb/node-api';
import { hasEnded } from '../db/coordination/worker-name.ts';
import type { TextResult } from '../db/connection/as-text.ts';
import { literal } from '../db/migrate/literal.ts';
import type { ColumnDescription } from '../db/read/table-description.ts';
import { messageOf, NoScratchError, UsageError } from '../errors.ts';
import type { Range } from '../range.ts';
import { columnType } from './column-type.ts';

type Columns = readonly Pick<ColumnDescription, 'name' | 'type'>[];

/** Which rows, and what of them. */
interface WantedRows {
  /** Names, in their order. */
  readonly columns: readonly string[];
  readonly seconds: readonly Range[];
}

/** Reads and writes Parquet, by DuckDB, and has a folder for files of the moment. */
export interface Engine {
  /** A path of the folder, for a file of the moment. */
  scratch(name: string): string;
  /** Rows of a CSV file without a header become a Parquet file, in their order. */
  toParquet(csv: string, columns: Columns, parquet: string): Promise<void>;
  /** Rows of some seconds of Parquet files become a CSV file without a header; a column that no file has is null. */
  toCsv(parquets: readonly string[], wanted: WantedRows, csv: string): Promise<void>;
  /** The rows of files, one after another, become one file. */
  merge(parquets: readonly string[], parquet: string): Promise<void>;
  /** Hands over the values of an expression in all rows of a file, in batches. */
  texts(parquet: string, expression: string, onTexts: (texts: readonly string[]) => void): Promise<void>;
  /** Runs statements; of the last one every value as text, as Postgres prints it. */
  ask(statements: string): Promise<TextResult>;
  close(): Promise<void>;
}

/** Compressed by zstd, values dictionary-encoded where they repeat, and statistics for each group of rows. */
const PARQUET = 'format parquet, compression zstd, row_group_size 122880';

/** Bodies of messages are long. */
const LONGEST_LINE = 256 * 2 ** 20;

const named = (name: string) => `"${name.replaceAll('"', '""')}"`;
const files = (paths: readonly string[]) =>
  `read_parquet([${paths.map(literal).join(', ')}], union_by_name = true, hive_partitioning = false)`;

/** @throws UsageError where DuckDB has no binary for this machine, NoScratchError where its files find no place */
export async function openEngine(place = tmpdir()): Promise<Engine> {
  const folder = await openFolder(place);
  const instance = await openDuck(folder);
  const duck = await instance.connect();
  await duck.run(`set TimeZone = 'UTC'`);
  return {
    scratch: (name) => join(folder, name),
    toParquet: (csv, columns, parquet) =>
      fitting(inOrder(duck, `copy (${rowsOf(csv, columns)}) to ${literal(parquet)} (${PARQUET})`)),
    async toCsv(parquets, { columns, seconds }, csv) {
      const reader = await duck.runAndReadAll(`select * from ${files(parquets)} limit 0`);
      const types = new Map(reader.columnNames().map((name, at) => [name, reader.columnType(at).toString()]));
      const values = columns.map((name) => `${valueOf(name, types.get(name))} as ${named(name)}`);
      const within = seconds.map(
        ({ from, to }) => `utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
      );
      const rows = `select ${values.join(', ')} from ${files(parquets)} where ${within.join(' or ')}`;
      await inOrder(duck, `copy (${rows}) to ${literal(csv)} (format csv, header false, nullstr '')`);
    },
    async merge(parquets, parquet) {
      await duck.run(`copy (select * from ${files(parquets)}) to ${literal(parquet)} (${PARQUET})`);
    },
    texts: (parquet, expression, onTexts) =>
      eachText(duck, `select ${expression} from ${files([parquet])}`, onTexts),
    ask: async (statements) => textOf(await duck.runAndReadAll(statements)),
    async close() {
      duck.closeSync();
      instance.closeSync();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Runs a statement that writes rows in their order. Several threads would wait busily for each other, at up to twice the
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
 * A folder named for this process; those of processes that were killed go, but not where they are another user's.
 * @throws NoScratchError where none can be made
 */
async function openFolder(place: string): Promise<string> {
  const ignore = () => undefined;
  for (const name of await readdir(place).catch(() => [])) {
    const [, host, pid] = /^toncenter-etl-lake-(.+)-(\d+)-\w{6}$/.exec(name) ?? [];
    if (host !== undefined && hasEnded(`${host}/${pid ?? ''}`))
      await rm(join(place, name), { recursive: true, force: true }).catch(ignore);
  }
  const path = join(place, `toncenter-etl-lake-${hostname()}-${process.pid}-`);
  return mkdtemp(path).catch((cause: unknown) => {
    throw new NoScratchError(`no directory can be created in ${place}: ${messageOf(cause)}`, {
      cause,
      hint: 'Files of the moment lie there while a lake is open. Set TMPDIR to a directory that can be written to.',
    });
  });
}

/** Times without DuckDB's calendars, which take longer than all the rest of a row. */
function valueOf(name: string, type: string | undefined): string {
  if (type === undefined) return 'null';
  return type === 'TIMESTAMP WITH TIME ZONE'
    ? `make_timestamp(epoch_us(${named(name)}))::varchar || '+00'`
    : named(name);
}

/** Loaded here alone: its library is of some 70 MB. */
async function openDuck(folder: string): Promise<DuckDBInstance> {
  const { DuckDBInstance } = await import('@duckdb/node-api').catch((cause: unknown) => {
    throw new UsageError('DuckDB, which reads and writes Parquet, is not installed for this machine', {
      cause,
      hint: 'Install without --omit=optional. --format csv needs no DuckDB.',
    });
  });
  return DuckDBInstance.create(':memory:', {
    temp_directory: join(folder, 'spill'),
    // It gives the old contents of a Parquet file that was written anew within some seconds.
    enable_external_file_cache: 'false',
  });
}

/** Amounts are read as text and become decimals by way of integers: DuckDB reads these many times faster. */
function rowsOf(csv: string, columns: Columns): string {
  const types = columns.map((column) => ({ name: column.name, type: columnType(column).duck }));
  const isAmount = (type: string) => type.startsWith('DECIMAL');
  const read = types.map(
    ({ name, type }) => `${literal(name)}: ${literal(isAmount(type) ? 'VARCHAR' : type)}`,
  );
  const values = types.map(({ name, type }) =>
    isAmount(type) ? `${named(name)}::hugeint::${type} as ${named(name)}` : named(name),
  );
  return `select ${values.join(', ')} from read_csv(${literal(csv)}, auto_detect = false, header = false, delim = ',',
    quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, parallel = false,
    max_line_size = ${LONGEST_LINE}, columns = {${read.join(', ')}})`;
}

function textOf(reader: Awaited<ReturnType<DuckDBConnection['runAndReadAll']>>): TextResult {
  const rows = reader.getRowsJson().map((row) => row.map(printed));
  return { columns: reader.columnNames(), rows, command: `SELECT ${rows.length}` };
}

function printed(value: Json): string | null {
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (value === null || typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

async function fitting(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    const [line = ''] = messageOf(cause).split('\n');
    if (!/convert|cast/i.test(line)) throw cause;
    throw new UsageError(`a value does not fit its type in Parquet: ${line}`, {
      cause,
      hint: 'Parquet has no whole numbers of more than 38 digits: export as csv, which holds every digit.',
    });
  }
}

async function eachText(
  duck: DuckDBConnection,
  query: string,
  onTexts: (texts: readonly string[]) => void,
): Promise<void> {
  const result = await duck.stream(query);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    onTexts(chunk.getColumnValues(0).map(String));
  }
}
