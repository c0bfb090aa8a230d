import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import type pg from 'pg';
import pgpass from 'pgpass';
import { UsageError } from '../errors.ts';
import {
  examineParameters,
  parsePostgres,
  sslmodeOf,
  type PostgresParameters,
} from '../settings/postgres-url.ts';
import { homeDirectory } from '../settings/read-values.ts';

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

export interface Connection {
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
export function connectionOf(url: string): Connection {
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
  const { ca } = fileOf(parameters, 'sslrootcert', 'ca');
  const usual = join(homeDirectory() ?? '/', '.postgresql', 'root.crt');
  return ca ?? (looksAtHome && existsSync(usual) ? readFileSync(usual, 'utf8') : undefined);
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
    throw new UsageError(`${name} ${path} cannot be read: ${String(error)}`, { cause: error });
  }
}
