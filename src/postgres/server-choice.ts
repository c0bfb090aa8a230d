import pg from 'pg';
import * as z from 'zod';
import { codeOf, DatabaseUnavailableError, toError, WrongDatabaseError } from '../errors.ts';
import { SQLSTATE, sqlstates } from '../sqlstate.ts';
import type { Connection, Server } from './servers.ts';
import { PINNED, lastRow } from './sql.ts';

/**
 * The server that a run writes to. A promoted standby may lack what its primary has acknowledged, so what a run
 * remembers may not be true there.
 */
export interface Identity {
  /** Columns of a select, for `check`. */
  readonly columns: () => string;
  /**
   * Called if the server does not answer the query: from then on nothing is compared. Returns false if that was known
   * already.
   */
  readonly giveUp: () => boolean;
  /**
   * Remembers the first server that answers, and compares every later answer with it.
   * @throws ServerChangedError if it is another one
   */
  readonly check: (row: unknown) => void;
}

/** Chooses one of several servers: the first that answers. If it fails later, the next one is tried. */
export interface ServerChoice {
  /** The index of the chosen server in the list. */
  readonly index: () => number;
  /** For the pool: a client that connects to the chosen server. */
  readonly Client: new () => pg.Client;
  /**
   * For the pool: rejects a server whose sessions do not match `target_session_attrs`, or that is not the server of before.
   */
  readonly verify: (client: pg.ClientBase, done: (error?: Error) => void) => void;
}

/** Errors that do not depend on TLS or on the host: trying another one would not help. */
const SAME_EVERYWHERE = sqlstates(
  SQLSTATE.invalidPassword,
  SQLSTATE.invalidCatalogName,
  SQLSTATE.insufficientPrivilege,
);
/** The server requires TLS, has none, or rejects this kind of session: the other kind may work. */
const isAboutTls = (code: string) =>
  code === SQLSTATE.invalidAuthorizationSpecification || /SSL|TLS/.test(code);

/** Missing privilege, function or feature: a server that is only similar to Postgres does not tell its identity. */
const UNIDENTIFIED = sqlstates(
  SQLSTATE.insufficientPrivilege,
  SQLSTATE.undefinedFunction,
  SQLSTATE.featureNotSupported,
);

/** The conditions of `target_session_attrs`. Any other value accepts all servers. */
const FIT: ReadonlyMap<string, string> = new Map([
  ['read-write', "current_setting('transaction_read_only') = 'off'"],
  ['read-only', "current_setting('transaction_read_only') = 'on'"],
  ['primary', 'not pg_is_in_recovery()'],
  ['standby', 'pg_is_in_recovery()'],
]);

/** Decides which server the next connection attempt goes to. */
function createTurns(servers: Connection['servers']) {
  let chosen = 0;
  const at = (index: number): Server => servers[index] ?? servers[0];
  const isSameHost = (one: number, other: number) =>
    at(one).host === at(other).host && at(one).port === at(other).port;
  // If several connections fail at once, only the first one moves on.
  const turn = (from: number, to: number) => {
    if (chosen === from) chosen = to;
  };
  return {
    index: () => chosen,
    at,
    /** Moves to the next host, round robin. If there is only one, it keeps the kind of TLS that worked. */
    leaveHost(from: number): void {
      for (let step = 1; step < servers.length; step += 1) {
        const next = (from + step) % servers.length;
        if (isSameHost(from, next)) continue;
        turn(from, next);
        return;
      }
    },
    /** Moves to the other kind of TLS on the same host. Returns false if that was tried already. */
    leaveTls(from: number): boolean {
      const next = from + 1;
      if (next >= servers.length || !isSameHost(from, next)) return false;
      turn(from, next);
      return true;
    },
  };
}

const Answer = z.looseObject({ fit: z.boolean() });

/** Asks a server whether it matches, and for its identity. */
async function ask(
  client: pg.ClientBase,
  condition: string,
  identity: Identity,
): Promise<z.infer<typeof Answer>> {
  try {
    return Answer.parse(
      await lastRow(client, `${PINNED}; select ${condition} as fit, ${identity.columns()}`),
    );
  } catch (error) {
    const isUnidentified =
      error instanceof Error && UNIDENTIFIED.test(codeOf(error) ?? '') && identity.giveUp();
    if (!isUnidentified) throw error;
    return ask(client, condition, identity);
  }
}

export function chooseServer({ servers, wants }: Connection, identity: Identity): ServerChoice {
  const turns = createTurns(servers);
  /** Moves on after a failed attempt, and returns the error to report. */
  const react = (error: Error, from: number): Error => {
    const code = codeOf(error) ?? error.message;
    if (SAME_EVERYWHERE.test(code)) return error;
    if (!isAboutTls(code) || !turns.leaveTls(from)) {
      turns.leaveHost(from);
      return error;
    }
    return refusedKind(turns.at(from), error);
  };

  class ChosenClient extends pg.Client {
    readonly index = turns.index();

    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...turns.at(turns.index()) });
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (callback === undefined) return super.connect();
      // The driver passes null if there is no error.
      super.connect((error: Error) => callback(error instanceof Error ? react(error, this.index) : error));
      return undefined;
    }
  }

  return {
    index: turns.index,
    Client: ChosenClient,
    verify(client, done) {
      const from = turns.index();
      ask(client, FIT.get(wants) ?? 'true', identity)
        .then((answer) => {
          if (!answer.fit) throw unfit(turns.at(from), wants);
          identity.check(answer);
        })
        .then(
          () => done(),
          (thrown: unknown) => {
            if (thrown instanceof DatabaseUnavailableError) turns.leaveHost(from);
            done(toError(thrown));
          },
        );
    },
  };
}

/** The error for a rejected kind of TLS. The next attempt uses the other kind on the same host. */
function refusedKind({ host, port, ssl }: Server, cause: Error): DatabaseUnavailableError {
  const kind = ssl === false ? 'without TLS' : 'with TLS';
  return new DatabaseUnavailableError(`${host}:${port} refused the connection ${kind}: ${cause.message}`, {
    cause,
    hint: 'The other kind is tried next. Set sslmode (or PGSSLMODE) to allow only one.',
  });
}

function unfit({ host, port }: Server, wants: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`the server at ${host}:${port} is not ${wants}`, {
    hint: 'Wait for the failover, or change target_session_attrs.',
  });
}

/** Coverage uses multiranges, which exist since Postgres 14. */
const OLDEST_SERVER = 140_000;

const Compatibility = z.object({ version: z.coerce.number(), encoding: z.string(), name: z.string() });

/** The version of the first server that answers; tries each of them once. */
export async function firstAnswer(pool: pg.Pool, choice: ServerChoice): Promise<number> {
  const tried = choice.index();
  try {
    return await serverVersion(pool);
  } catch (error) {
    if (choice.index() <= tried) throw error;
    return firstAnswer(pool, choice);
  }
}

/** Checks the server's version and encoding before anything else runs on it, and returns its version. */
async function serverVersion(pool: pg.Pool): Promise<number> {
  const row = await lastRow(
    pool,
    `${PINNED}; select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      quote_ident(current_database()) as name`,
  );
  const { version, encoding, name } = Compatibility.parse(row);
  if (!(version >= OLDEST_SERVER)) {
    throw new WrongDatabaseError(
      `the server is Postgres ${Math.floor(version / 10_000)}, which has no multiranges`,
      {
        hint: 'Use Postgres 14 or newer, or leave DATABASE_URL unset to run the embedded server.',
      },
    );
  }
  if (encoding !== 'UTF8') {
    throw new WrongDatabaseError(
      `the database ${name} uses the encoding ${encoding}, which cannot hold every character`,
      {
        hint: `Create one with UTF8: create database ${name} encoding 'UTF8' locale 'C' template template0, under another name or in place of this one.`,
      },
    );
  }
  return version;
}
