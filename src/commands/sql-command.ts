import { resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Command } from 'commander';
import { isBucket } from '../settings/config.ts';
import { warnOfHiddenRows } from '../app/open-store.ts';
import type { Database } from '../postgres/database.ts';
import { openRestricted } from '../migrate/reader.ts';
import { runSql, streamSql } from '../read/free-sql.ts';
import { DatabaseUnavailableError, EXIT, type ExitCode, UsageError, DatabaseError } from '../errors.ts';
import { commandLine } from '../terminal/program-name.ts';
import { stdoutGone, writeOut } from '../terminal/terminal.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStore, withStoreOnce } from './run-command.ts';
import { runPrompt, hasText, splitSql } from './prompt.ts';
import { BYTE_ORDER_MARK, type ColumnKind, csvLine, forSpreadsheets } from '../csv.ts';
import type { RowTaker, TextResult, TextRow } from '../postgres/sql.ts';
import { fitsTerminal, fitTable, formatTable } from './table.ts';

export function defineSql(command: Command): void {
  command
    .argument('[statement]', 'default: stdin; on a terminal, a prompt')
    .option('--write', 'allow statements that change rows')
    .option(
      '--url',
      'print the connection string, with its password, for psql and other programs; runs nothing',
    )
    .option('--csv', 'comma-separated values with a header')
    .option('--spreadsheet', 'with --csv: as Excel and LibreOffice read it, without formulas and lost digits')
    .option('--json', 'an array of objects, values as strings')
    .option('--lake <location>', 'query the lake that `export` wrote instead, in the SQL of DuckDB')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl sql "select * from transactions order by utime desc limit 5"',
        'toncenter-etl sql --csv < report.sql > report.csv',
        'toncenter-etl sql --json "select * from dex_volume limit 100"',
        'toncenter-etl sql --lake ./lake "select * from daily_activity"',
        'toncenter-etl sql    # a prompt; \\? tells more',
        'psql "$(toncenter-etl sql --url)"    # while sync runs',
      ),
    )
    .action((statement: string | undefined, { lake, ...flags }: SqlFlags & { readonly lake?: string }) =>
      runCommand(async (invocation) =>
        lake === undefined ? sql(invocation, statement, flags) : sqlOfLake(lake, statement, flags),
      ),
    );
}

/** The connection's name in pg_stat_activity. */
const APPLICATION = 'toncenter-etl sql';

const FROM_SETTING =
  'It comes from DATABASE_URL or PGHOST and the like, with the password if they contain one.';

const FROM_EMBEDDED =
  'It contains a password. The embedded server runs only while a command such as sync runs.';

/**
 * `sql [STATEMENT]`: runs the user's statements, each in a transaction of its own, as a role that can only read, or
 * with `--write` change rows. Results go to stdout, everything else to stderr.
 */
async function sql(invocation: Invocation, given: string | undefined, flags: SqlFlags): Promise<ExitCode> {
  const wanted = await parseSql(given, flags);
  if (wanted.kind === 'url') return printUrl(invocation);
  return withStoreOnce(invocation, APPLICATION, async (store) => {
    const write = flags.write === true;
    const right = write ? 'write' : 'read';
    const database = await openRestricted({ ...store, applicationName: APPLICATION, right });
    const run = openRunner(async (statement, shape, signal) => {
      if (wanted.format === 'table')
        showResult(await runSql(database, statement, { write, signal }), 'table', shape);
      else await printRows(database, statement, { write, format: wanted.format, signal });
    });
    const names = async () =>
      (await runSql(database, NAMES, { write: false })).rows.flatMap(([name]) => name ?? []);
    try {
      // A superuser sees all rows, but the role that is used instead may not.
      if (database !== store.database) await warnOfHiddenRows(database, invocation.logger);
      if (wanted.kind === 'prompt') await runPrompt(database.label, run, names);
      else
        for (const statement of wanted.statements) {
          if (stdoutGone.aborted && !write) break;
          await run(statement);
        }
    } finally {
      if (database !== store.database) await database.close();
    }
    return EXIT.done;
  });
}

interface RowPrinting {
  readonly write: boolean;
  readonly format: RowFormatName;
  /** Cancels the statement. */
  readonly signal: AbortSignal | undefined;
}

/** Prints rows while they are received: only a part of the result is in memory. */
async function printRows(
  database: Database,
  statement: string,
  { write, format, signal: stopped }: RowPrinting,
): Promise<void> {
  const writer = createRowPrinter(format);
  // A statement that writes runs to its end, even if its output is not read.
  const signal = AbortSignal.any([...(stopped ? [stopped] : []), ...(write ? [] : [stdoutGone])]);
  try {
    const tag = await streamSql(database, statement, writer, { write, signal });
    console.error(summarize(writer.end(), tag));
  } catch (error) {
    // The reader closed stdout, which has ended the connection.
    if (!stdoutGone.aborted || write || !(error instanceof DatabaseUnavailableError)) throw error;
  }
}

/** `sql --url`: prints only the connection string to stdout, for `psql "$(…)"` and graphical programs. */
async function printUrl(invocation: Invocation): Promise<ExitCode> {
  const { databaseUrl } = invocation.config;
  if (databaseUrl !== undefined) {
    console.log(databaseUrl);
    console.error(FROM_SETTING);
    return EXIT.done;
  }
  const url = await withStore(invocation, undefined, (store) => Promise.resolve(store.embedded?.url));
  console.log(url ?? '');
  console.error(FROM_EMBEDDED);
  return EXIT.done;
}

/** `sql --lake LAKE [STATEMENT]`: queries a lake with DuckDB, with the tables, views and functions of a database. */
async function sqlOfLake(location: string, given: string | undefined, flags: SqlFlags): Promise<ExitCode> {
  const wanted = await parseSql(given, flags);
  if (wanted.kind === 'url' || flags.write === true)
    throw new UsageError('--lake reads a lake: it excludes --url and --write');
  const { withLake, openLakeReader } = await import('../lake/open-lake.ts');
  return withLake(location, async ({ engine, store }) => {
    const ask = await openLakeReader(engine, isBucket(location) ? location : resolve(location));
    const run = openRunner(async (statement, shape, signal) => {
      showResult(await ask(statement, signal), wanted.format, shape);
    });
    const names = async () => (await ask(NAMES_OF_LAKE)).rows.flatMap(([name]) => name ?? []);
    if (wanted.kind === 'prompt') await runPrompt(store.label, run, names);
    else for (const statement of wanted.statements) await run(statement);
    return EXIT.done;
  });
}

interface SqlFlags {
  readonly url?: boolean;
  readonly write?: boolean;
  readonly csv?: boolean;
  readonly spreadsheet?: boolean;
  readonly json?: boolean;
}

/** What `sql` should do: print the URL, run statements, or show a prompt. */
type SqlWanted =
  | { readonly kind: 'url' }
  | { readonly kind: 'prompt'; readonly format: SqlFormat }
  | { readonly kind: 'statements'; readonly format: SqlFormat; readonly statements: readonly string[] };

/**
 * Takes the statements of the argument or of stdin. On a terminal without either, it shows a prompt.
 * @throws UsageError if flags exclude each other, or there is no statement
 */
async function parseSql(given: string | undefined, flags: SqlFlags): Promise<SqlWanted> {
  const { url = false, ...others } = flags;
  if (url) {
    if (given === undefined && !Object.values(others).includes(true)) return { kind: 'url' };
    throw new UsageError('--url excludes other options: it prints where the database is, and runs nothing');
  }
  const format = formatOf(others);
  if (given === undefined && process.stdin.isTTY) return { kind: 'prompt', format };
  return { kind: 'statements', format, statements: readStatements(given ?? (await textOf(process.stdin))) };
}

function formatOf({ csv = false, json = false, spreadsheet = false }: SqlFlags): SqlFormat {
  if (spreadsheet && !csv) throw new UsageError('--spreadsheet needs --csv: give both');
  if (csv && json) throw new UsageError('--csv and --json exclude each other');
  return spreadsheet ? 'spreadsheet' : csv ? 'csv' : json ? 'json' : 'table';
}

function readStatements(text: string): string[] {
  const { statements, rest } = splitSql(text);
  const all = hasText(rest) ? [...statements, rest] : [...statements];
  const end = all.indexOf('\\q');
  if (end !== -1) all.length = end;
  if (all.length > 0) return all;
  throw new UsageError('there is no statement', {
    hint: `Give one as argument or on stdin: ${commandLine('sql "select count(*) from transactions"')}.`,
  });
}

/** The commands of the prompt. */
const COMMANDS_HELP = `\\d         tables, views and functions, with what they are
\\d NAME    columns of a table or view
\\dt        only tables and views; \\dv only views, \\df only functions
\\timing    turns the timing of statements on or off
\\x         turns records instead of tables on or off
\\?         shows this help
\\q         quits, like Ctrl-D; Ctrl-C cancels a statement, or discards what was typed; Tab completes
Everything else is SQL and ends with a semicolon.`;

const RELATIONS = `
  select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
    split_part(obj_description(c.oid, 'pg_class'), '. ', 1) as meaning
  from pg_catalog.pg_class c
  where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v')`;

const FUNCTIONS = `
  select p.proname || '(' || array_to_string(p.proargnames[:p.pronargs], ', ') || ')' as name, 'function' as kind,
    split_part(obj_description(p.oid, 'pg_proc'), '. ', 1) as meaning
  from pg_catalog.pg_proc p
  where p.pronamespace = 'ton'::regnamespace
    or p.pronamespace = 'etl'::regnamespace and p.proname in ('assert_complete', 'fed')`;

/** The names that Tab completes besides SQL's keywords. */
const NAMES = `
  select c.relname from pg_catalog.pg_class c
  where c.relnamespace in ('ton'::regnamespace, 'etl'::regnamespace) and c.relkind in ('r', 'p', 'v')
  union select a.attname from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
  union select p.proname from pg_catalog.pg_proc p where p.pronamespace = 'ton'::regnamespace
  union select nspname from pg_catalog.pg_namespace where nspname in ('ton', 'etl')`;

const NAMES_OF_LAKE = `
  select view_name from duckdb_views() where schema_name in ('ton', 'etl')
  union select column_name from duckdb_columns() where schema_name = 'ton'
  union select function_name from duckdb_functions() where schema_name = 'ton'`;

/** The order of kinds in a list. */
const IN_ORDER = `order by array_position(array['table', 'view', 'function'], kind), name`;

/** The statement for \\d, \\d NAME, \\dt, \\dv and \\df; undefined for any other line. */
function describeStatement(line: string): string | undefined {
  const only = /^\\d([tvf])\+?\s*;?$/.exec(line.trim())?.[1];
  if (only === 'f') return `${FUNCTIONS} order by 1`;
  const kinds = only === 'v' ? ['view'] : ['table', 'view', ...(only === 't' ? [] : ['function'])];
  const name = /^\\d[tv]?\+?(?![a-z])\s*([\w.]*)\s*;?$/.exec(line.trim())?.[1];
  if (name === undefined) return undefined;
  return name === ''
    ? `select * from (${RELATIONS} union all ${FUNCTIONS}) all_names where kind in ('${kinds.join("', '")}') ${IN_ORDER}`
    : columnsOf(name);
}

function columnsOf(name: string): string {
  return `
    select a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
      split_part(col_description(a.attrelid, a.attnum), '. ', 1) as meaning
    from pg_catalog.pg_attribute a
    where a.attrelid = '${name}'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`;
}

/** Runs a statement and shows its result, until the signal cancels it. */
type Show = (statement: string, shape: ResultShape, signal: AbortSignal | undefined) => Promise<void>;

/**
 * Creates a runner for statements and for lines that begin with a backslash. There is one for each prompt, because it
 * remembers \\x and \\timing.
 */
function openRunner(show: Show): (typed: string, signal?: AbortSignal) => Promise<void> {
  let asRecords = false;
  let isTimed = false;
  return async (typed, signal) => {
    if (!typed.startsWith('\\')) {
      const began = performance.now();
      await show(typed, asRecords ? 'records' : 'table', signal);
      if (isTimed) console.error(`Time: ${(performance.now() - began).toFixed(0)} ms`);
      return;
    }
    const statement = describeStatement(typed);
    if (statement !== undefined) return show(statement, 'lines', signal).catch(withoutStatement);
    if (typed === '\\x') {
      asRecords = !asRecords;
      console.error(asRecords ? 'records are on' : 'records are off');
    } else if (typed === '\\timing') {
      isTimed = !isTimed;
      console.error(isTimed ? 'timing is on' : 'timing is off');
    } else if (typed === '\\?') console.error(COMMANDS_HELP);
    else throw new UsageError(`unknown command ${typed}`, { hint: `Commands:\n${COMMANDS_HELP}` });
  };
}

/** Removes the position in a statement that the user has not typed. */
function withoutStatement(error: unknown): never {
  if (!(error instanceof DatabaseError)) throw error;
  const [message = ''] = error.message.split('\n');
  throw new DatabaseError(message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) });
}

/** How rows are shown: as a table if it fits, as records, or as a table whose last column is wrapped. */
type ResultShape = 'table' | 'records' | 'lines';

/**
 * Prints a result to stdout, and its summary to stderr. If a table is wider than the terminal, or if records are
 * asked for, each row becomes a record.
 */
function showResult(result: TextResult, format: SqlFormat, shape: ResultShape): void {
  const { columns, rows, command } = result;
  if (format !== 'table') {
    const writer = createRowPrinter(format);
    writer.columns(columns);
    // All of it is in memory: no backpressure is needed.
    for (const row of rows) void writer.row(row);
    console.error(summarize(writer.end(), command));
    return;
  }
  if (columns.length > 0) console.log(shaped(result, shape));
  console.error(summarize(columns.length > 0 ? rows.length : undefined, command));
}

function shaped(result: TextResult, shape: ResultShape): string {
  if (shape === 'records') return formatRecords(result);
  if (shape === 'lines') {
    const texts = result.rows.map((row) => row.map((cell) => cell ?? ''));
    return fitTable(result.columns, texts);
  }
  const table = formatResult(result, process.stdout.isTTY);
  return fitsTerminal(table) ? table : formatRecords(result);
}

type SqlFormat = 'table' | RowFormatName;

/** On a terminal, longer cells are truncated, so that rows stay on one line. */
const WIDEST = 60;

/** A result as a table of aligned columns: null as empty, line breaks as \n. On a terminal, long cells are truncated. */
function formatResult({ columns, rows }: TextResult, terminal: boolean): string {
  const cell = (value: string | null) => shorten(oneLine(value ?? ''), terminal);
  return formatTable(
    columns,
    rows.map((row) => row.map(cell)),
  );
}

/** Each row as a block with a line for each column, not truncated. */
function formatRecords({ columns, rows }: TextResult): string {
  const width = Math.max(...columns.map((column) => column.length));
  return rows
    .flatMap((row, number) => [
      `-- ${number + 1} ${'-'.repeat(width)}`,
      ...columns.map((column, index) => `${column.padEnd(width)}  ${oneLine(row[index] ?? '')}`.trimEnd()),
    ])
    .join('\n');
}

/** A summary for people: `(3 rows)`, or the command tag if the statement returns no rows: `DELETE 3`. */
function summarize(rows: number | undefined, command: string): string {
  return rows === undefined ? command : `(${rows} ${rows === 1 ? 'row' : 'rows'})`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\r?\n/g, '\\n').replaceAll('\t', '\\t');
}

function shorten(text: string, terminal: boolean): string {
  return terminal && text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}

/** Characters that are written with one system call. */
const PIECE = 2 ** 16;

/** Writes a result while it is received. */
interface RowPrinter extends RowTaker {
  /** Writes the rest. Returns the number of rows; undefined if the statement returns none. */
  end(): number | undefined;
}

/** The text before, between and after rows, and of a row. */
interface RowFormat {
  readonly head: (columns: readonly string[]) => string;
  readonly row: (columns: readonly string[], values: TextRow, isFirst: boolean) => string;
  readonly foot: (isEmpty: boolean) => string;
}

const CSV: RowFormat = {
  head: csvLine,
  row: (_, values) => csvLine(values),
  foot: () => '',
};

const SPREADSHEET: RowFormat = {
  ...CSV,
  head: (columns) => BYTE_ORDER_MARK + csvLine(forSpreadsheets(columns)),
};

/** An array of objects whose values are strings or null, so that no digit is lost. */
const JSON_ARRAY: RowFormat = {
  head(columns) {
    const twice = columns.find((name, index) => columns.indexOf(name) !== index);
    if (twice === undefined) return '[';
    throw new UsageError(`two columns are named "${twice}", and an object of JSON keeps only one of them`, {
      hint: 'Name one of them differently, with `as`, or use --csv.',
    });
  },
  row: (columns, values, isFirst) => `${isFirst ? '\n' : ',\n'}${objectOf(columns, values)}`,
  foot: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
};

const FORMATS = { csv: CSV, spreadsheet: SPREADSHEET, json: JSON_ARRAY };

type RowFormatName = keyof typeof FORMATS;

/** Writes rows to stdout as CSV or JSON, with backpressure. */
function createRowPrinter(format: RowFormatName): RowPrinter {
  const { head, row, foot } = FORMATS[format];
  let columns: readonly string[] | undefined;
  let kinds: readonly (ColumnKind | undefined)[] | undefined;
  let count = 0;
  let piece = '';
  const write = (): Promise<void> | undefined => {
    const text = piece;
    piece = '';
    return writeOut(text);
  };
  return {
    columns(names, given) {
      // `select from` returns rows without columns.
      if (names.length === 0) return;
      columns = names;
      kinds = given;
      piece = head(names);
    },
    row(values) {
      if (columns === undefined) return undefined;
      const cells = format === 'spreadsheet' ? forSpreadsheets(values, kinds) : values;
      piece += row(columns, cells, count === 0);
      count += 1;
      return piece.length < PIECE ? undefined : write();
    },
    end() {
      if (columns === undefined) return undefined;
      piece += foot(count === 0);
      void write();
      return count;
    },
  };
}

function objectOf(columns: readonly string[], values: TextRow): string {
  return JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null])));
}
