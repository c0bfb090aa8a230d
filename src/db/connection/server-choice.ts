import pg from 'pg';
import { DatabaseUnavailableError } from '../../errors.ts';
import type { Connection, Server } from './servers.ts';

/** Which of several servers is connected to: the first that answers, until it fails; then the next. */
export interface ServerChoice {
  /** The place of the chosen one in the list. */
  readonly index: () => number;
  /** For the pool: its clients connect to the chosen server. */
  readonly Client: new () => pg.Client;
  /** For the pool: refuses a server whose sessions are not what `target_session_attrs` wants. */
  readonly verify: (client: pg.ClientBase, done: (error?: Error) => void) => void;
}

/** Answers that the same server gives with and without TLS, and the next one as well. */
const SAME_EVERYWHERE = new Set(['28P01', '3D000', '42501']);
/** Nobody is at home: TLS or not makes no difference. */
const NO_HOST = /^(ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$|timeout/;

/** What sessions must be, by the words of `target_session_attrs`; any other word takes all. */
const FIT: ReadonlyMap<string, string> = new Map([
  ['read-write', "current_setting('transaction_read_only') = 'off'"],
  ['read-only', "current_setting('transaction_read_only') = 'on'"],
  ['primary', 'not pg_is_in_recovery()'],
  ['standby', 'pg_is_in_recovery()'],
]);

export function chooseServer({ servers, wants }: Connection): ServerChoice {
  let chosen = 0;
  const current = (): Server => servers[chosen] ?? servers[0];
  const turn = (from: number, toOtherHost: boolean) => {
    // Of several connections that fail at once, one turns to the next server.
    if (chosen !== from) return;
    const { host, port } = current();
    do chosen = (chosen + 1) % servers.length;
    while (toOtherHost && chosen !== 0 && current().host === host && current().port === port);
  };

  class ChosenClient extends pg.Client {
    readonly index = chosen;

    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...current() });
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (callback === undefined) return super.connect();
      super.connect((error: Error) => {
        const code = codeOf(error);
        if (code !== undefined && !SAME_EVERYWHERE.has(code)) turn(this.index, NO_HOST.test(code));
        callback(error);
      });
      return undefined;
    }
  }

  return {
    index: () => chosen,
    Client: ChosenClient,
    verify(client, done) {
      const condition = FIT.get(wants);
      if (condition === undefined) {
        done();
        return;
      }
      const from = chosen;
      client
        .query<{ fit: boolean }>(`select ${condition} as fit`)
        .then(({ rows }) => {
          if (rows[0]?.fit === true) return undefined;
          turn(from, true);
          return unfit(servers[from] ?? current(), wants);
        })
        .then(done, done);
    },
  };
}

function unfit({ host, port }: Server, wants: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`the server at ${host}:${port} is not ${wants}`, {
    hint: 'Wait for the failover, or change target_session_attrs.',
  });
}

/** The code or else the message of an error; undefined where there is none: drivers call back with null. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
