import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import type pg from 'pg';
import pgpass from 'pgpass';
import { UsageError } from '../../errors.ts';
import { parsePostgres, type PostgresParameters } from '../../settings/postgres-url.ts';

type Tls = ConnectionOptions | false;

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** One way to connect: a host, with or without TLS. */
export interface Server extends ServerAddress {
  readonly ssl: Tls;
  readonly password: () => Promise<string>;
}

export interface Connection {
  /** In the order in which they are tried. */
  readonly servers: readonly [Server, ...Server[]];
  /** What is the same at each of them. */
  readonly login: Pick<pg.ClientConfig, 'user' | 'database' | 'options'>;
  /** `target_session_attrs`: which of the servers are fit. */
  readonly wants: string;
  /** Hosts, port and database name: never the password. */
  readonly label: string;
}

const PORT = 5432;
/** Where Postgres' packages put the socket. */
const SOCKET_DIRECTORIES = ['/var/run/postgresql', '/tmp'];

// A file that others can read is not used, and the warning about it is one like any other.
pgpass.warnTo(
  new Writable({
    write(text: Buffer, _encoding, done) {
      process.emitWarning(text.toString().trim());
      done();
    },
  }),
);

/**
 * What a connection string means to libpq: its hosts in their order, each with the kinds of TLS that `sslmode` tries, the
 * password also from `~/.pgpass`, and the system's user and the local socket where nothing is said.
 * @throws UsageError where the string or a file that it names cannot be read
 */
export function connectionOf(url: string): Connection {
  const parameters = parsePostgres(url);
  const get = (name: string) => parameters.get(name);
  const user = get('user') ?? userInfo().username;
  const database = get('dbname') ?? user;
  const hosts = hostsOf(parameters);
  const [first, ...more] = hosts.flatMap((host) => {
    const password = passwordOf(parameters, { ...host, user, database });
    return tlsOf(parameters, host.host).map((ssl): Server => ({ ...host, ssl, password }));
  });
  if (first === undefined) throw new UsageError('the connection string names no host');
  const options = get('options');
  return {
    servers: [first, ...more],
    login: { user, database, ...(options !== undefined && { options }) },
    wants: get('target_session_attrs') ?? 'any',
    label: `${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`,
  };
}

function hostsOf(parameters: PostgresParameters): ServerAddress[] {
  const ports = (parameters.get('port') ?? '').split(',').map((port) => (port === '' ? PORT : Number(port)));
  const hosts = (parameters.get('host') ?? '').split(',');
  return hosts.map((host, index) => {
    const port = ports[index] ?? ports[0] ?? PORT;
    return { host: host === '' ? defaultHost(port) : host, port };
  });
}

function defaultHost(port: number): string {
  const hasSocket = (directory: string) => existsSync(join(directory, `.s.PGSQL.${port}`));
  return SOCKET_DIRECTORIES.find(hasSocket) ?? 'localhost';
}

/** The one that is given, else the one that `~/.pgpass` has for this host. */
function passwordOf(
  parameters: PostgresParameters,
  login: ServerAddress & { readonly user: string; readonly database: string },
): Server['password'] {
  const given = parameters.get('password');
  if (given !== undefined) return () => Promise.resolve(given);
  const host = login.host.startsWith('/') ? 'localhost' : login.host;
  return () => new Promise((resolve) => pgpass({ ...login, host }, (password) => resolve(password ?? '')));
}

/** The kinds of TLS that are tried, one after another, as `sslmode` means it to libpq. */
function tlsOf(parameters: PostgresParameters, host: string): readonly Tls[] {
  const mode = parameters.get('sslmode') ?? (parameters.has('ssl') ? 'require' : 'prefer');
  if (host.startsWith('/') || mode === 'disable') return [false];
  const files = { ...fileOf(parameters, 'sslcert', 'cert'), ...fileOf(parameters, 'sslkey', 'key') };
  const ca = rootCertificate(parameters, mode.startsWith('verify-'));
  const unproved: Tls = { ...files, rejectUnauthorized: false };
  const proved: Tls = { ...files, ...(ca !== undefined && { ca }) };
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

/** Undefined: those that Node trusts. */
function rootCertificate(parameters: PostgresParameters, looksAtHome: boolean): string | undefined {
  if (parameters.get('sslrootcert') === 'system') return undefined;
  const { ca } = fileOf(parameters, 'sslrootcert', 'ca');
  const usual = join(homedir(), '.postgresql', 'root.crt');
  return ca ?? (looksAtHome && existsSync(usual) ? readFileSync(usual, 'utf8') : undefined);
}

function fileOf(
  parameters: PostgresParameters,
  name: string,
  as: 'ca' | 'cert' | 'key',
): Partial<Record<typeof as, string>> {
  const path = parameters.get(name);
  if (path === undefined) return {};
  try {
    return { [as]: readFileSync(path, 'utf8') };
  } catch (error) {
    throw new UsageError(`${name} ${path} cannot be read: ${String(error)}`, { cause: error });
  }
}
