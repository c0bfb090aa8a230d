import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type ConnectionOptions, type SecureContextOptions, createSecureContext } from 'node:tls';
import pg from 'pg';
import pgpass from 'pgpass';
import * as z from 'zod';
import {
  UsageError,
  codeOf,
  DatabaseUnavailableError,
  messageOf,
  toError,
  WrongDatabaseError,
} from '../errors.ts';
import {
  examineParameters,
  parsePostgres,
  sslmodeOf,
  type PostgresParameters,
} from '../settings/postgres-url.ts';
import { homeDirectory } from '../settings/read-values.ts';
import { SQLSTATE, sqlstates } from '../sqlstate.ts';
import { PINNED, lastRow } from './sql.ts';

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
function createTurns(servers: PostgresConnection['servers']) {
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

/** The identity of the server that earlier connections reached. A new connection is compared with it. */
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

type ServerChoice = ReturnType<typeof chooseServer>;

/** Chooses one of several servers: the first that answers. If it fails later, the next one is tried. */
export function chooseServer({ servers, wants }: PostgresConnection, identity: Identity) {
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

  const Client: new () => pg.Client = ChosenClient;
  return {
    /** The index of the chosen server in the list. */
    index: turns.index,
    /** For the pool: a client that connects to the chosen server. */
    Client,
    /**
     * For the pool: rejects a server whose sessions do not match `target_session_attrs`, or that is not the server of before.
     */
    verify: (client: pg.ClientBase, done: (error?: Error) => void) => {
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

type Tls = ConnectionOptions | false;

interface ServerAddress {
  /** A host name, an IP address or the directory of a socket. */
  readonly host: string;
  readonly port: number;
  /** The name that the certificate must have, if `host` is only its address (`hostaddr`). */
  readonly name?: string | undefined;
}

/** One way to connect: a host, with or without TLS. */
export interface Server extends ServerAddress {
  readonly ssl: Tls;
  /** `direct`: TLS begins with the first byte. */
  readonly sslnegotiation: 'postgres' | 'direct';
  readonly password: () => Promise<string>;
}

export interface PostgresConnection {
  /** In the order in which they are tried. */
  readonly servers: readonly [Server, ...Server[]];
  /** Options that are the same for each server. */
  readonly login: Pick<pg.ClientConfig, 'user' | 'database' | 'options'>;
  /** The value of `target_session_attrs`. */
  readonly wants: string;
  /** Milliseconds after which a connection attempt fails. */
  readonly connectTimeoutMs: number;
  /** Hosts, ports and database name. Never contains the password. */
  readonly label: string;
}

const PORT = 5432;
const CONNECT_TIMEOUT_MS = 10_000;
/** The directories in which Postgres' packages create the socket. */
const SOCKET_DIRECTORIES = ['/var/run/postgresql', '/tmp'];

// pgpass ignores a file that others can read. Its warning becomes a warning of the process.
pgpass.warnTo(
  new Writable({
    write(text: Buffer, _encoding, done) {
      process.emitWarning(text.toString().trim());
      done();
    },
  }),
);

/**
 * Reads a connection string as libpq does: its hosts in order, each with the kinds of TLS that `sslmode` tries. If it
 * has no password, `~/.pgpass` may have one. The defaults are the system's user and the local socket.
 * @throws UsageError if the string or a file that it names cannot be read, or if a parameter cannot be obeyed
 */
export function connectionOf(url: string): PostgresConnection {
  const parameters = parsePostgres(url);
  for (const warning of examineParameters(parameters)) process.emitWarning(warning);
  const get = (name: string) => parameters.get(name);
  const user = get('user') ?? systemUser();
  const database = get('dbname') ?? user;
  const hosts = hostsOf(parameters);
  const [first, ...more] = hosts.flatMap((host) => {
    const password = passwordOf(parameters, { ...host, user, database });
    return tlsOf(parameters, host).map((ssl): Server => ({
      ...host,
      ...negotiationOf(parameters, ssl),
      ssl,
      password,
    }));
  });
  if (first === undefined) throw new UsageError('the connection string names no host');
  const options = get('options');
  return {
    servers: [first, ...more],
    login: { user, database, ...(options !== undefined && { options }) },
    wants: get('target_session_attrs') ?? 'any',
    connectTimeoutMs: timeoutOf(get('connect_timeout')),
    label: `${hosts.map(({ host, port, name = host }) => `${name}:${port}`).join(',')}/${database}`,
  };
}

/** @throws UsageError if the system has no name for the user of this process, as in many containers */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    throw new UsageError(
      'the connection names no user, and the system has no name for the user of this process',
      {
        hint: 'Name the user in DATABASE_URL or PGUSER.',
      },
    );
  }
}

/** As in libpq, one second is too short for any attempt, and 0 or less means the default. */
function timeoutOf(seconds = '0'): number {
  return Number(seconds) > 0 ? Math.max(Number(seconds), 2) * 1000 : CONNECT_TIMEOUT_MS;
}

function negotiationOf(parameters: PostgresParameters, ssl: Tls): Pick<Server, 'sslnegotiation'> {
  const isDirect = parameters.get('sslnegotiation') === 'direct' && ssl !== false;
  return { sslnegotiation: isDirect ? 'direct' : 'postgres' };
}

function hostsOf(parameters: PostgresParameters): ServerAddress[] {
  const ports = (parameters.get('port') ?? '').split(',').map((port) => (port === '' ? PORT : Number(port)));
  const names = (parameters.get('host') ?? '').split(',');
  const addresses = parameters.get('hostaddr')?.split(',') ?? [];
  return (addresses.length > names.length ? addresses : names).map((_, index) => {
    const port = ports[index] ?? ports[0] ?? PORT;
    const [name = '', address = ''] = [names[index], addresses[index]];
    if (address !== '') return { host: address, port, ...(name !== '' && { name }) };
    return { host: name === '' ? defaultHost(port) : name, port };
  });
}

function defaultHost(port: number): string {
  const hasSocket = (directory: string) => existsSync(join(directory, `.s.PGSQL.${port}`));
  return SOCKET_DIRECTORIES.find(hasSocket) ?? 'localhost';
}

/** The given password, or else the one that `~/.pgpass` has for this host. */
function passwordOf(
  parameters: PostgresParameters,
  login: ServerAddress & { readonly user: string; readonly database: string },
): Server['password'] {
  const given = parameters.get('password');
  if (given !== undefined) return () => Promise.resolve(given);
  const host = login.host.startsWith('/') ? 'localhost' : (login.name ?? login.host);
  return () => new Promise((resolve) => pgpass({ ...login, host }, (password) => resolve(password ?? '')));
}

/** The kinds of TLS to try, in this order, for an `sslmode` of libpq. */
function tlsOf(parameters: PostgresParameters, { host, name }: ServerAddress): readonly Tls[] {
  const mode = sslmodeOf(parameters);
  if (host.startsWith('/') || mode === 'disable') return [false];
  const files = {
    ...fileOf(parameters, 'sslcert', 'cert'),
    ...fileOf(parameters, 'sslkey', 'key'),
    ...fileOf(parameters, 'sslcrl', 'crl'),
    ...(parameters.has('sslpassword') && { passphrase: parameters.get('sslpassword') }),
    ...(parameters.has('ssl_min_protocol_version') && {
      minVersion: versionOf(parameters, 'ssl_min_protocol_version'),
    }),
    ...(parameters.has('ssl_max_protocol_version') && {
      maxVersion: versionOf(parameters, 'ssl_max_protocol_version'),
    }),
    ...(name !== undefined && { servername: name }),
  };
  const ca = rootCertificate(parameters, ['require', 'verify-ca', 'verify-full'].includes(mode));
  const unproved: Tls = { ...files, rejectUnauthorized: false };
  const proved = { ...files, ...(ca !== undefined && { ca }) };
  if (Object.keys(proved).length > 0) requireUsable({ ca: [], ...proved });
  const ofAnyName: Tls = { ...proved, checkServerIdentity: () => undefined };
  const kinds: ReadonlyMap<string, readonly Tls[]> = new Map([
    ['prefer', [unproved, false]],
    ['allow', [false, unproved]],
    ['require', [ca === undefined ? unproved : ofAnyName]],
    ['no-verify', [unproved]],
    ['verify-ca', [ofAnyName]],
    ['verify-full', [proved]],
  ]);
  const tried = kinds.get(mode);
  if (tried !== undefined) return tried;
  throw new UsageError(`sslmode "${mode}" is not disable, allow, prefer, require, verify-ca or verify-full`);
}

/** @throws UsageError for a file that is no PEM, a key of another certificate or without its password, and the like */
function requireUsable(options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw new UsageError(`sslrootcert, sslcert, sslkey and sslcrl cannot be used: ${messageOf(error)}`, {
      cause: error,
      hint: 'They must be PEM files, sslkey must be the key of sslcert, and an encrypted key needs sslpassword.',
    });
  }
}

const TLS_VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;

function versionOf(parameters: PostgresParameters, name: string): (typeof TLS_VERSIONS)[number] {
  const version = TLS_VERSIONS.find((known) => known.toLowerCase() === parameters.get(name)?.toLowerCase());
  if (version === undefined) throw new UsageError(`${name} is not one of ${TLS_VERSIONS.join(', ')}`);
  return version;
}

/**
 * Undefined means the certificates that Node trusts. As in libpq, if there is a root certificate in the home
 * directory, `require` verifies the server, too.
 */
function rootCertificate(parameters: PostgresParameters, looksAtHome: boolean): string | undefined {
  if (parameters.get('sslrootcert') === 'system') return undefined;
  const usual = join(homeDirectory() ?? '/', '.postgresql', 'root.crt');
  const isUsual = !parameters.has('sslrootcert') && looksAtHome && existsSync(usual);
  return fileOf(isUsual ? new Map([['sslrootcert', usual]]) : parameters, 'sslrootcert', 'ca').ca;
}

function fileOf(
  parameters: PostgresParameters,
  name: string,
  as: 'ca' | 'cert' | 'key' | 'crl',
): Partial<Record<typeof as, string>> {
  const path = parameters.get(name);
  if (path === undefined) return {};
  try {
    return { [as]: readFileSync(path, 'utf8') };
  } catch (error) {
    throw new UsageError(`${name} ${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
      hint: `Set ${name} to a PEM file that this user may read.`,
    });
  }
}
