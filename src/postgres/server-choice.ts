import pg from 'pg';
import * as z from 'zod';
import { codeOf, DatabaseUnavailableError, toError } from '../errors.ts';
import { SQLSTATE, sqlstates } from '../sqlstate.ts';
import type { Identity } from './identity.ts';
import { lastRow, PINNED } from './pinned.ts';
import type { Connection, Server } from './servers.ts';

/** Which of several servers is connected to: the first that answers, until it fails; then the next. */
export interface ServerChoice {
  /** The place of the chosen one in the list. */
  readonly index: () => number;
  /** For the pool: its clients connect to the chosen server. */
  readonly Client: new () => pg.Client;
  /** For the pool: refuses a server whose sessions are not what `target_session_attrs` wants, or that is another one. */
  readonly verify: (client: pg.ClientBase, done: (error?: Error) => void) => void;
}

/** Answers that the same server gives with and without TLS, and the next one as well. */
const SAME_EVERYWHERE = sqlstates(
  SQLSTATE.invalidPassword,
  SQLSTATE.invalidCatalogName,
  SQLSTATE.insufficientPrivilege,
);
/** The server wants TLS, or has none, or wants no sessions like this one: the other kind may do. */
const isAboutTls = (code: string) =>
  code === SQLSTATE.invalidAuthorizationSpecification || /SSL|TLS/.test(code);

/** No right, no such function, no such feature: a server that is not quite Postgres does not tell who it is. */
const NOT_SAID = sqlstates(
  SQLSTATE.insufficientPrivilege,
  SQLSTATE.undefinedFunction,
  SQLSTATE.featureNotSupported,
);

/** What sessions must be, by the words of `target_session_attrs`; any other word takes all. */
const FIT: ReadonlyMap<string, string> = new Map([
  ['read-write', "current_setting('transaction_read_only') = 'off'"],
  ['read-only', "current_setting('transaction_read_only') = 'on'"],
  ['primary', 'not pg_is_in_recovery()'],
  ['standby', 'pg_is_in_recovery()'],
]);

/** Where the next attempt to connect goes, of servers that are tried in turn. */
function createTurns(servers: Connection['servers']) {
  let chosen = 0;
  const at = (index: number): Server => servers[index] ?? servers[0];
  const isSameHost = (one: number, other: number) =>
    at(one).host === at(other).host && at(one).port === at(other).port;
  // Of several connections that fail at once, one turns to the next server.
  const turn = (from: number, to: number) => {
    if (chosen === from) chosen = to;
  };
  return {
    index: () => chosen,
    at,
    /** To the next host, in a circle; where there is only one it stays, for it was reached as it wants to be. */
    leaveHost(from: number): void {
      for (let step = 1; step < servers.length; step += 1) {
        const next = (from + step) % servers.length;
        if (isSameHost(from, next)) continue;
        turn(from, next);
        return;
      }
    },
    /** To the same host with or without TLS; false where that was tried. */
    leaveTls(from: number): boolean {
      const next = from + 1;
      if (next >= servers.length || !isSameHost(from, next)) return false;
      turn(from, next);
      return true;
    },
  };
}

const Answer = z.looseObject({ fit: z.boolean() });

/** Whether a server is fit, and who it is. */
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
    const isUnsaid = error instanceof Error && NOT_SAID.test(codeOf(error) ?? '') && identity.giveUp();
    if (!isUnsaid) throw error;
    return ask(client, condition, identity);
  }
}

export function chooseServer({ servers, wants }: Connection, identity: Identity): ServerChoice {
  const turns = createTurns(servers);
  /** What a failed attempt is to those who wait for it. */
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
      // The driver gives null where there is no error.
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

/** The next attempt goes to the same host, with TLS instead of without, or the other way round. */
function refusedKind({ host, port, ssl }: Server, cause: Error): DatabaseUnavailableError {
  const kind = ssl === false ? 'without TLS' : 'with TLS';
  return new DatabaseUnavailableError(`${host}:${port} refused the connection ${kind}: ${cause.message}`, {
    cause,
    hint: 'The other way is tried next. Set sslmode (or PGSSLMODE) to allow only one of them.',
  });
}

function unfit({ host, port }: Server, wants: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`the server at ${host}:${port} is not ${wants}`, {
    hint: 'Wait for the failover, or change target_session_attrs.',
  });
}
