import { once } from 'node:events';
import type { Writable, Readable } from 'node:stream';
import { fillPlaceholders, getTableColumns, sql, type SQL, type SQLWrapper } from 'drizzle-orm';
import { PgDialect, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import pg from 'pg';
import {
  parseRangeText,
  toMultirangeText,
  toRangeText,
  type Range,
  partsOf,
  type Stretch,
} from '../range.ts';
import { type ColumnKind, columnKindOf } from '../csv.ts';
import { toError } from '../errors.ts';

/**
 * Settings that fix what this program's statements mean, whatever default a role, a database or a connection string
 * sets. All of its objects are named with their schema. So no object that another role creates in `public` or in its
 * own schema is called instead of Postgres' functions, operators and types (CVE-2018-1058).
 */
const SETTINGS = {
  search_path: 'pg_catalog, pg_temp',
  timezone: "'UTC'",
  datestyle: 'iso, mdy',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  default_table_access_method: 'heap',
  // If there are many partitions, compiling a query takes far longer than running it.
  jit: 'off',
};

/**
 * Begins every transaction of this program, including those of a single statement. It is sent in each transaction and
 * not once a session, because behind PgBouncer in transaction mode a session's settings do not last.
 */
export const PINNED = Object.entries(SETTINGS)
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ');

/** The driver's result for several statements, though its types do not say so. */
const Results = z.array(z.object({ rows: z.array(z.unknown()) }));

/** Runs statements without parameters, and returns the first row of the last one. */
export async function lastRow(client: Pick<pg.ClientBase, 'query'>, text: string): Promise<unknown> {
  const results: unknown = await client.query(text);
  return Results.parse(results).at(-1)?.rows[0];
}

const dialect = new PgDialect();

/** The text of a statement without parameters. */
export function textOf(statement: SQL): string {
  return dialect.sqlToQuery(statement).sql;
}

/**
 * A statement whose text is built once, because building it for many columns takes longer than sending it.
 * `sql.placeholder` marks the values that change.
 */
export function statementTemplate(statement: SQL): (values: Readonly<Record<string, unknown>>) => SQL {
  const { sql: text, params } = dialect.sqlToQuery(statement);
  const [first = '', ...rest] = text.split(/\$\d+/);
  return (values) => {
    const filled = fillPlaceholders(params, values);
    return rest.reduce(
      (query, piece, index) => query.append(sql`${filled[index]}${rendered(piece)}`),
      sql`${rendered(first)}`,
    );
  };
}

/** The same for a statement without parameters. */
export function prerendered(statement: SQL): SQL {
  return rendered(textOf(statement));
}

/** Text that Drizzle built from a statement. It contains no values. */
function rendered(text: string): SQL {
  return sql.raw(text);
}

/** A range as a parameter of a statement. */
export function rangeParam(range: Range): SQL {
  return sql`${toRangeText(range)}::int8range`;
}

/** Ranges as a parameter of a statement. */
export function multirangeParam(ranges: readonly Range[]): SQL {
  return sql`${toMultirangeText(ranges)}::int8multirange`;
}

/** Parses the text of a range column. */
export const spanOfRow = z.string().transform((text) => parseRangeText(text)[0] ?? { from: 0, to: 0 });

/** Parses the text of a multirange column, oldest first. */
export const spansOfRow = z.string().transform(parseRangeText);

/** Expressions, separated by commas. */
export function list(expressions: readonly SQLWrapper[]): SQL {
  return sql.join([...expressions], sql`, `);
}

/** Quoted names, separated by commas. */
export function identifiers(names: readonly string[]): SQL {
  return list(names.map((name) => sql`${sql.identifier(name)}`));
}

/** Column names without their table, separated by commas, as column lists, `set` and `excluded` need them. */
export function bare(...columns: readonly PgColumn[]): SQL {
  return identifiers(columns.map(({ name }) => name));
}

/** The value that an insert has for a column, if the row exists already. */
export function excluded(column: PgColumn): SQL {
  return sql`excluded.${bare(column)}`;
}

/** Assigns to each column the value of the insert. */
export function setExcluded(...columns: readonly PgColumn[]): SQL {
  return list(columns.map((column) => sql`${bare(column)} = ${excluded(column)}`));
}

/** A subquery of texts as one parameter, for `in (…)`. */
export function texts(values: readonly string[]): SQL {
  return sql`select json_array_elements_text(${JSON.stringify(values)}::json)`;
}

/** A value as a parameter of type jsonb. */
export function jsonParam(value: unknown): SQL {
  return sql`${JSON.stringify(value)}::jsonb`;
}

/** Values of a row by column. Plain values become parameters. */
type RowValues<T extends PgTable> = {
  readonly [Column in keyof T['$inferInsert']]: T['$inferInsert'][Column] | SQL;
};

/** Inserts one row. A column without a value gets its default. */
export function insertInto<T extends PgTable>(table: T, values: RowValues<T>): SQL {
  const byColumn = new Map<string, unknown>(Object.entries(values));
  const named = Object.entries(getTableColumns(table)).filter(([key]) => byColumn.get(key) !== undefined);
  const row = list(named.map(([key]) => sql`${byColumn.get(key)}`));
  return sql`insert into ${table} (${bare(...named.map(([, column]) => column))}) values (${row})`;
}

/**
 * Waits for the answers to statements that were sent to one transaction without waiting for each other. The server
 * runs them in the order in which they were sent. If one fails, the others are still waited for, so that none runs
 * after its transaction has ended.
 * @throws the error of the first statement that failed, in the given order
 */
export async function answersOf<T extends readonly Promise<unknown>[]>(
  sent: readonly [...T],
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(sent);
  for (const answer of sent) await answer;
  return Promise.all(sent);
}

/** A condition on `utime` of a table alias: within the stretch. */
export function during(alias: string, stretch: Stretch): SQL {
  const column = sql`${sql.identifier(alias)}.utime`;
  const within = sql`${column} >= to_timestamp(${stretch.from}::float8) and ${column} < to_timestamp(${stretch.to}::float8)`;
  const parts = partsOf(stretch);
  if (parts.length < 2) return within;
  return sql`${within} and ${multirangeParam(parts)} @> extract(epoch from ${column})::int8`;
}

/** The number of the stretch's part that contains a row. */
export function partOf(alias: string, stretch: Stretch): SQL {
  const parts = partsOf(stretch);
  if (parts.length < 2) return sql`1`;
  const starts = sql.param(parts.map(({ from }) => from));
  return sql`width_bucket(extract(epoch from ${sql.identifier(alias)}.utime)::int8, ${starts}::int8[])`;
}

/** The second of a row as a range. */
export function secondOf(alias: string): SQL {
  return secondAt(sql`${sql.identifier(alias)}.utime`);
}

/** A time, rounded down to its second, as a range. */
export function secondAt(time: SQL): SQL {
  return sql`int8range(extract(epoch from ${time})::int8, extract(epoch from ${time})::int8 + 1)`;
}

declare module 'pg' {
  /** Methods of the driver's connection that its types lack. */
  interface Connection {
    sendCopyFromChunk(chunk: Buffer): void;
    endCopyFrom(): void;
    sendCopyFail(reason: string): void;
  }
}

/** Data of a COPY: either all in memory, or produced while the server takes it. */
export type CopyPieces = Iterable<string | Buffer> | AsyncIterable<Buffer>;

/**
 * A query that sends the data of a COPY. Data in memory is sent directly after the statement, and further statements
 * directly after it, so the server need not wait for this process, which may be parsing a page. If the statement
 * fails, the server drops the data (Postgres, "Message Flow", "COPY Operations").
 */
class CopyIn extends pg.Query {
  private readonly pieces: CopyPieces;
  private ended: AbortController | undefined;
  private failure: unknown;

  constructor(text: string, pieces: CopyPieces, done: (error: unknown, rows: number) => void) {
    // If there are several statements, the driver returns an array of results, though its types do not say so.
    super(text, undefined, (error, results: unknown) => {
      this.ended?.abort();
      done(this.failure ?? error, error == null ? rowsOf([results].flat().at(-1)) : 0);
    });
    this.pieces = pieces;
    if (Symbol.asyncIterator in pieces) return;
    const submit = this.submit.bind(this);
    this.submit = (connection) => {
      // Many pieces are written with one system call.
      connection.stream.cork();
      submit(connection);
      this.send(connection, pieces);
      connection.stream.uncork();
    };
  }

  /** Called by the driver. Its own queries reject a COPY. */
  handleCopyInResponse(connection: pg.Connection): void {
    if (Symbol.asyncIterator in this.pieces) void this.sendAsMade(connection, this.pieces);
  }

  private send(connection: pg.Connection, pieces: Iterable<string | Buffer>): void {
    try {
      for (const piece of pieces)
        sendPiece(connection.stream, typeof piece === 'string' ? Buffer.from(piece) : piece);
      connection.endCopyFrom();
    } catch (error) {
      this.fail(connection, error);
    }
  }

  /** Applies backpressure: waits when the socket's buffer is full. */
  private async sendAsMade(connection: pg.Connection, pieces: AsyncIterable<Buffer>): Promise<void> {
    const { signal } = (this.ended = new AbortController());
    try {
      for await (const piece of pieces) {
        if (signal.aborted) return;
        connection.sendCopyFromChunk(piece);
        if (connection.stream.writableNeedDrain) await once(connection.stream, 'drain', { signal });
      }
      if (!signal.aborted) connection.endCopyFrom();
    } catch (error) {
      if (!signal.aborted) this.fail(connection, error);
    }
  }

  private fail(connection: pg.Connection, error: unknown): void {
    this.failure = error;
    connection.sendCopyFail(String(error));
  }
}

/** The number of rows that a statement wrote. */
function rowsOf(result: unknown): number {
  return Number(
    (typeof result === 'object' && result !== null && 'rowCount' in result && result.rowCount) || 0,
  );
}

/** A CopyData message begins with `d` and its length, which includes these four bytes. */
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;

/** Sends a piece without copying it. The driver's own method would concatenate header and data first. */
function sendPiece(stream: Writable, piece: Buffer): void {
  if (!stream.writable) return;
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  head.write('d');
  head.writeUInt32BE(LENGTH_BYTES + piece.length, 1);
  stream.write(head);
  stream.write(piece);
}

/**
 * Runs statements without parameters. The last one is a `copy … from stdin` that takes the pieces.
 *
 * pg-copy-streams is not used: it relies on the same internal call of the driver, and was measured to be no cheaper. A
 * page's rows arrive about a sixth sooner, for about a sixth more CPU time of this process.
 * @returns the number of rows that were stored, without those that a trigger dropped
 */
export function copyIn(client: pg.ClientBase, statements: string, pieces: CopyPieces): Promise<number> {
  return outcomeOf<number>((done) => client.query(new CopyIn(statements, pieces, done)));
}

/** The outcome of a query that is not one of the driver's own. */
function outcomeOf<T>(start: (done: (error: unknown, result: T) => void) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, result) => {
      if (error == null) resolve(result);
      else reject(toError(error));
    });
  });
}

/** A query that hands over the data of a `copy … to stdout`. */
class CopyOut extends pg.Query {
  private readonly onData: (data: Buffer) => void;
  private failure: Error | undefined;

  constructor(text: string, onData: (data: Buffer) => void, done: (error: unknown) => void) {
    super(text, undefined, (error) => done(error ?? this.failure));
    this.onData = onData;
  }

  /** Called by the driver. Its own queries drop the data. An error that is thrown here would end the process. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.failure !== undefined) return;
    try {
      this.onData(chunk);
    } catch (error) {
      this.failure = toError(error);
    }
  }
}

/** Runs a `copy … to stdout`. The data is the driver's own buffer: the caller must copy what it keeps. */
export function copyOut(
  client: pg.ClientBase,
  statement: string,
  onData: (data: Buffer) => void,
): Promise<void> {
  return outcomeOf<undefined>((done) =>
    client.query(new CopyOut(statement, onData, (error) => done(error, undefined))),
  );
}

/** A row of values as Postgres prints them. */
export type TextRow = readonly (string | null)[];

export interface TextResult {
  readonly columns: readonly string[];
  readonly rows: readonly TextRow[];
  readonly command: string;
}

/** Takes a result row by row. */
export interface RowTaker {
  /** Called once, before any row, if the statement returns rows. `kinds` says how spreadsheets take them. */
  columns(names: readonly string[], kinds?: readonly (ColumnKind | undefined)[]): void;
  /** Backpressure: the next row is received when the returned promise resolves. A result need not fit into memory. */
  row(values: TextRow): Promise<void> | undefined;
}

export interface TextOptions {
  readonly readOnly: boolean;
  /** Settings for this statement alone. */
  readonly settings: Readonly<Record<string, string>>;
  readonly taker: RowTaker;
  /** If it is aborted, the connection is closed, which ends the statement. */
  readonly signal?: AbortSignal | undefined;
}

/** The types whose columns spreadsheets take in a special way, by OID. */
const NAMES_OF_TYPES: ReadonlyMap<number, string> = new Map([
  [16, 'boolean'],
  [20, 'bigint'],
  [21, 'smallint'],
  [23, 'integer'],
  [25, 'text'],
  [700, 'real'],
  [701, 'double precision'],
  [1700, 'numeric'],
]);

/** A query that hands over each row when it arrives. The driver's own queries keep all rows in memory. */
class RowQuery extends pg.Query {
  private readonly taker: RowTaker;
  private source: Readable | undefined;
  private failure: Error | undefined;

  constructor(text: string, taker: RowTaker, done: (error: unknown, tag: string) => void) {
    // The extended protocol takes one statement. With the simple one, a `commit` could end the read-only transaction
    // and be followed by another statement.
    const config = { text, queryMode: 'extended' };
    super(config, undefined, (error, result) => {
      done(this.failure ?? error, error ? '' : tagOf(result));
    });
    this.taker = taker;
    const { submit } = this;
    this.submit = (connection) => {
      this.source = connection.stream;
      submit.call(this, connection);
    };
  }

  /** Called by the driver. */
  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    const kinds = fields.map(({ dataTypeID }) => columnKindOf(NAMES_OF_TYPES.get(dataTypeID) ?? ''));
    this.attempt(() =>
      this.taker.columns(
        fields.map(({ name }) => name),
        kinds,
      ),
    );
  }

  /** Called by the driver, also for rows that were received before the connection was paused. */
  handleDataRow({ fields }: { readonly fields: TextRow }): void {
    const taken = this.attempt(() => this.taker.row(fields));
    if (taken === undefined || this.source?.isPaused() === true) return;
    this.source?.pause();
    void taken.catch((error: unknown) => this.fail(error)).finally(() => this.source?.resume());
  }

  /** Closes the connection. The server checks its client each second (NOTICE_END), and then ends the statement. */
  abandon(): void {
    this.source?.destroy();
  }

  /** An error that is thrown within the driver's callback would end the process. */
  private attempt<T>(work: () => T): T | undefined {
    if (this.failure !== undefined) return undefined;
    try {
      return work();
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  private fail(error: unknown): void {
    this.failure ??= toError(error);
    this.abandon();
  }
}

/**
 * Without this setting, the server runs a statement to its end even if the client is gone (Ctrl-C, a signal, a lost
 * network). Servers on systems that cannot detect a closed socket refuse the setting.
 */
const NOTICE_END = `do $$ begin
  perform pg_catalog.set_config('client_connection_check_interval', '1s', true);
exception when others then null;
end $$`;

function tagOf({ command, rowCount }: Pick<pg.QueryResult, 'command' | 'rowCount'>): string {
  return [command, rowCount].filter((part) => part !== null).join(' ');
}

function runByRow(
  client: pg.PoolClient,
  text: string,
  { taker, signal }: Pick<TextOptions, 'taker' | 'signal'>,
): Promise<string> {
  return outcomeOf((done) => {
    const query = new RowQuery(text, taker, (error, tag) => {
      signal?.removeEventListener('abort', abandon);
      done(error, tag);
    });
    const abandon = () => query.abandon();
    signal?.addEventListener('abort', abandon);
    client.query(query);
    if (signal?.aborted === true) abandon();
  });
}

/**
 * Runs one statement, and hands over its rows. Values stay text, so that no number loses digits and no time its zone.
 * @returns the command tag: `SELECT 3`, `DELETE 3`
 */
export async function streamAsText(
  client: pg.PoolClient,
  text: string,
  { readOnly, settings, signal, taker }: TextOptions,
): Promise<string> {
  await client.query(`begin ${readOnly ? 'read only' : 'read write'}; ${PINNED}`);
  try {
    await client.query(NOTICE_END);
    for (const [name, value] of Object.entries(settings))
      await client.query('select set_config($1, $2, true)', [name, value]);
    const tag = await runByRow(client, text, { taker, signal });
    await client.query('commit');
    return tag;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
