import type { Readable } from 'node:stream';
import pg from 'pg';
import { toError } from '../errors.ts';
import { PINNED } from './sql.ts';

/** A row of values as Postgres prints them. */
export type TextRow = readonly (string | null)[];

export interface TextResult {
  readonly columns: readonly string[];
  readonly rows: readonly TextRow[];
  readonly command: string;
}

/** Takes a result row by row. */
export interface RowTaker {
  /** Called once, before any row, if the statement returns rows. `truths` says which columns are booleans (t or f). */
  columns(names: readonly string[], truths?: readonly boolean[]): void;
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

/** The OID of the type boolean. */
const BOOLEAN = 16;

/** A query that hands over each row when it arrives. The driver's own queries keep all rows in memory. */
class RowQuery extends pg.Query {
  private readonly taker: RowTaker;
  private readonly done: (error: Error | null | undefined, tag: string) => void;
  private source: Readable | undefined;
  private failure: Error | undefined;

  constructor(text: string, taker: RowTaker, done: RowQuery['done']) {
    // The extended protocol takes one statement. With the simple one, a `commit` could end the read-only transaction
    // and be followed by another statement.
    const config = { text, queryMode: 'extended' };
    super(config, undefined, (error, result) => {
      this.done(error, error ? '' : tagOf(result));
    });
    this.taker = taker;
    this.done = (error, tag) => done(this.failure ?? error, tag);
    const { submit } = this;
    this.submit = (connection) => {
      this.source = connection.stream;
      submit.call(this, connection);
    };
  }

  /** Called by the driver. */
  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    const truths = fields.map(({ dataTypeID }) => dataTypeID === BOOLEAN);
    this.attempt(() =>
      this.taker.columns(
        fields.map(({ name }) => name),
        truths,
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
  return new Promise((resolve, reject) => {
    const query = new RowQuery(text, taker, (error, tag) => {
      signal?.removeEventListener('abort', abandon);
      if (error === undefined || error === null) resolve(tag);
      else reject(error);
    });
    const abandon = () => query.abandon();
    signal?.addEventListener('abort', abandon);
    client.query(query);
    if (signal?.aborted === true) query.abandon();
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
