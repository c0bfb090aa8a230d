import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UsageError } from '../errors.ts';
import { nearestName } from '../nearest.ts';
import { homeDirectory } from './read-values.ts';

/** Parameters of a connection by libpq's names: `host`, `port`, `dbname`, `user`, `password`, `sslmode`, … */
export type PostgresParameters = ReadonlyMap<string, string>;

/** Environment variables of libpq and the parameters that they set. */
const VARIABLES = {
  PGHOST: 'host',
  PGHOSTADDR: 'hostaddr',
  PGPORT: 'port',
  PGDATABASE: 'dbname',
  PGUSER: 'user',
  PGPASSWORD: 'password',
  PGSERVICE: 'service',
  PGSSLMODE: 'sslmode',
  PGREQUIRESSL: 'requiressl',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
  PGSSLCRL: 'sslcrl',
  PGSSLCRLDIR: 'sslcrldir',
  PGSSLCERTMODE: 'sslcertmode',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGSSLMINPROTOCOLVERSION: 'ssl_min_protocol_version',
  PGSSLMAXPROTOCOLVERSION: 'ssl_max_protocol_version',
  PGMINPROTOCOLVERSION: 'min_protocol_version',
  PGMAXPROTOCOLVERSION: 'max_protocol_version',
  PGCHANNELBINDING: 'channel_binding',
  PGREQUIREAUTH: 'require_auth',
  PGREQUIREPEER: 'requirepeer',
  PGGSSENCMODE: 'gssencmode',
  PGCONNECT_TIMEOUT: 'connect_timeout',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
  PGSSLCOMPRESSION: 'sslcompression',
  PGSSLSNI: 'sslsni',
  PGLOADBALANCEHOSTS: 'load_balance_hosts',
  PGOPTIONS: 'options',
} as const;

/** The variables of libpq, also those that change nothing here, and of the server's own programs. */
export const POSTGRES_VARIABLES: readonly string[] = [
  ...Object.keys(VARIABLES),
  ...['PGPASSFILE', 'PGSERVICEFILE', 'PGSYSCONFDIR', 'PGAPPNAME', 'PGCLIENTENCODING', 'PGDATESTYLE', 'PGTZ'],
  ...['PGGEQO', 'PGKRBSRVNAME', 'PGGSSLIB', 'PGGSSDELEGATION', 'PGLOCALEDIR', 'PGDATA', 'PGCTLTIMEOUT'],
];

/** If none of these is set, no server is named: the other variables say how to connect, but not where. */
const NAMES_A_SERVER = ['PGHOST', 'PGHOSTADDR', 'PGDATABASE', 'PGSERVICE'] as const;

/** Why a value cannot be obeyed; undefined if it can. */
type Refusing = (value: string) => string | undefined;

/** The parameters that this program obeys, with what says why a value cannot be obeyed. */
const OBEYED: ReadonlyMap<string, Refusing> = new Map([
  ...['host', 'hostaddr', 'dbname', 'user', 'password', 'options', 'service', 'sslmode'].map(plain),
  ...['sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'sslcrl'].map(plain),
  ...['ssl_min_protocol_version', 'ssl_max_protocol_version'].map(plain),
  ['port', (value: string) => (value.split(',').every(isPort) ? undefined : 'a port is 1 to 65535')],
  ['sslnegotiation', unlessExactly('postgres', 'direct')],
  [
    'target_session_attrs',
    unlessExactly('any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'),
  ],
  ['ssl', unlessOneOf('true', 'false', '1', '0')],
  [
    'connect_timeout',
    (value: string) => (/^-?\d+$/.test(value) ? undefined : 'it is not a number of seconds'),
  ],
  ['client_encoding', unlessOneOf('utf8', 'utf-8', 'unicode', 'auto')],
  ['sslcertmode', unlessOneOf('allow')],
  ['sslcompression', unlessOneOf('0')],
  ['sslsni', unlessOneOf('1')],
  ['channel_binding', unlessOneOf('disable', 'prefer')],
  ['gssencmode', unlessOneOf('disable', 'prefer')],
  ['load_balance_hosts', unlessOneOf('disable')],
  // The driver speaks version 3.0 alone.
  ['min_protocol_version', unlessOneOf('3.0')],
  ['max_protocol_version', unlessOneOf('3.0', '3.2', 'latest')],
  ['scram_client_key', cannotBeKept],
  ['scram_server_key', cannotBeKept],
  ['require_auth', cannotBeKept],
  ['requirepeer', cannotBeKept],
  ['sslcrldir', cannotBeKept],
  ['requiressl', () => 'write sslmode=require instead'],
  ['passfile', () => 'set PGPASSFILE instead'],
  ['servicefile', () => 'set PGSERVICEFILE instead'],
]);

/** Parameters of libpq and of other programs that are ignored, because they change nothing that matters here. */
const WITHOUT_EFFECT: readonly string[] = [
  ...[
    'application_name',
    'fallback_application_name',
    'keepalives',
    'keepalives_idle',
    'keepalives_interval',
  ],
  ...['keepalives_count', 'tcp_user_timeout', 'krbsrvname', 'gsslib', 'gssdelegation', 'sslkeylogfile'],
  ...['schema', 'pgbouncer', 'connection_limit', 'pool_timeout', 'statement_cache_size', 'uselibpqcompat'],
];

/**
 * Unknown parameters with such names are refused: if one is misspelled, the connection would lack the protection that
 * was asked for.
 */
const ABOUT_SECURITY = /ssl|tls|auth|bind|gss|cert|peer|verif/i;

function plain(name: string): [string, Refusing] {
  return [name, () => undefined];
}

function unlessOneOf(...values: readonly string[]): Refusing {
  return (value) => (values.includes(value.toLowerCase()) ? undefined : cannotBeKept());
}

function unlessExactly(...values: readonly string[]): Refusing {
  return (value) => (values.includes(value) ? undefined : `it is none of ${values.join(', ')}`);
}

/** An empty port means the default. */
function isPort(text: string): boolean {
  return text === '' || (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535);
}

function cannotBeKept(): string {
  return 'this program cannot guarantee it';
}

const URL_FORM =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]*)(?:\/(?<dbname>[^@?#]*))?(?:\?(?<query>[^#]*))?$/;
const PAIR = /\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))\s*/y;

interface NamedServer {
  /** A URL that both libpq and `new URL` can read; undefined if no server is named. */
  readonly url: string | undefined;
  /** A sentence for each parameter that has no effect. */
  readonly warnings: readonly string[];
}

/**
 * Reads the connection from `DATABASE_URL`, libpq's variables and its service file together. As in libpq, a parameter
 * of the URL wins over one of the service, which wins over a variable.
 * @throws UsageError for a text of no known form, and for a parameter that cannot be obeyed
 */
export function readDatabase(databaseUrl: string | undefined, environment: NodeJS.Dict<string>): NamedServer {
  const isNamed = NAMES_A_SERVER.some((name) => isSet(environment[name]));
  if (databaseUrl === undefined && !isNamed) return { url: undefined, warnings: [] };
  const variables = Object.entries(VARIABLES).flatMap(([name, parameter]): [string, string][] => {
    const value = environment[name];
    return isSet(value) ? [[parameter, value]] : [];
  });
  const own = databaseUrl === undefined ? [] : parsePostgres(databaseUrl);
  const named = new Map([...variables, ...own]);
  const service = named.get('service');
  const all =
    service === undefined ? named : new Map([...variables, ...readService(service, environment), ...own]);
  all.delete('service');
  const warnings = examineParameters(all);
  return { url: formatPostgres(new Map([...all].filter(([name]) => OBEYED.has(name)))), warnings };
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/**
 * Checks that each parameter can be obeyed, and returns a sentence for each one that has no effect.
 * @throws UsageError for a value that cannot be obeyed, and for an unknown name that may be about security
 */
export function examineParameters(parameters: PostgresParameters): string[] {
  requireStrongMode(parameters);
  requireOneForEachHost(parameters);
  return [...parameters].flatMap(([name, value]) => {
    const refusing = OBEYED.get(name);
    const reason = refusing?.(value);
    if (reason !== undefined) throw new UsageError(`has ${name}=${value}, which is refused: ${reason}`);
    if (refusing !== undefined) return [];
    if (WITHOUT_EFFECT.includes(name)) return [`the connection parameter ${name} has no effect`];
    const nearest = nearestName(name, [...OBEYED.keys()]);
    const hint = nearest === undefined ? '' : `: did you mean ${nearest}?`;
    if (ABOUT_SECURITY.test(`${name} ${nearest ?? ''}`))
      throw new UsageError(`has the unknown connection parameter ${name}${hint}`);
    return [`there is no connection parameter ${name}${hint}`];
  });
}

/** The sslmodes that do not verify the host name, and those that may connect without TLS. */
const UNPROVED = ['disable', 'allow', 'prefer', 'require', 'no-verify', 'verify-ca'];
const MAYBE_PLAIN = ['disable', 'allow', 'prefer'];

/** The given sslmode, or its default, which depends on other parameters. */
export function sslmodeOf(parameters: PostgresParameters): string {
  const ssl = parameters.get('ssl')?.toLowerCase();
  const byDefault = parameters.get('sslrootcert') === 'system' ? 'verify-full' : 'prefer';
  const mode = ssl === undefined ? byDefault : ['true', '1'].includes(ssl) ? 'require' : 'disable';
  return parameters.get('sslmode') ?? mode;
}

/** @throws UsageError if a parameter requires more protection than the sslmode gives */
function requireStrongMode(parameters: PostgresParameters): void {
  const mode = sslmodeOf(parameters);
  const isDirect = parameters.get('sslnegotiation') === 'direct';
  if (parameters.get('sslrootcert') === 'system' && UNPROVED.includes(mode))
    throw new UsageError(`has sslrootcert=system, which needs sslmode=verify-full, but sslmode is ${mode}`);
  if (isDirect && MAYBE_PLAIN.includes(mode))
    throw new UsageError(
      `has sslnegotiation=direct, which needs sslmode=require or stronger, but sslmode is ${mode}`,
    );
}

/** @throws UsageError if the numbers of hosts, addresses and ports differ */
function requireOneForEachHost(parameters: PostgresParameters): void {
  const partsOf = (name: string) => parameters.get(name)?.split(',').length;
  const [hosts, addresses, ports] = [partsOf('host'), partsOf('hostaddr'), partsOf('port')];
  const all = addresses ?? hosts ?? 1;
  if (hosts !== undefined && hosts !== all)
    throw new UsageError(`has ${hosts} hosts, but hostaddr has ${all} addresses`);
  if (ports !== undefined && ports !== 1 && ports !== all)
    throw new UsageError(`has ${ports} ports for ${all} hosts`);
}

/** The parameters of a service in `PGSERVICEFILE`, `~/.pg_service.conf` or `PGSYSCONFDIR/pg_service.conf`, in this order. */
function readService(service: string, environment: NodeJS.Dict<string>): PostgresParameters {
  const own = environment['PGSERVICEFILE'] ?? join(homeDirectory() ?? '/', '.pg_service.conf');
  const shared = join(environment['PGSYSCONFDIR'] ?? '/etc/postgresql-common', 'pg_service.conf');
  for (const path of [own, shared]) {
    const found = sectionOf(readIfThere(path, path === environment['PGSERVICEFILE']), service, path);
    if (found !== undefined) return found;
  }
  throw new UsageError(`names the service ${service}, which neither ${own} nor ${shared} defines`);
}

function readIfThere(path: string, isRequired: boolean): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (!isRequired) return '';
    throw new UsageError(`needs the service file ${path}, which cannot be read: ${messageOf(error)}`);
  }
}

/** Reads a section of a service file: `[name]`, then `parameter=value` lines. */
function sectionOf(text: string, name: string, path: string): PostgresParameters | undefined {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const start = lines.indexOf(`[${name}]`);
  if (start < 0) return undefined;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith('['));
  const pairs = rest
    .slice(0, end < 0 ? undefined : end)
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    pairs.map((line): [string, string] => {
      const [, parameter, value] = /^(\w+)\s*=\s*(.*)$/.exec(line) ?? [];
      if (parameter === undefined || value === undefined || parameter === 'service')
        throw new UsageError(
          `needs the service ${name} of ${path}, which has a line that is not parameter=value`,
        );
      return [parameter, value];
    }),
  );
}

/**
 * Parses any form that libpq takes: `postgres://user:password@host:5432/database?sslmode=require`, with several hosts
 * or a socket's directory, or `host=… dbname=…`.
 * @throws UsageError if the text has neither form
 */
export function parsePostgres(text: string): PostgresParameters {
  return /^postgres(ql)?:\/\//.test(text) ? parseUrl(text) : parsePairs(text);
}

function parseUrl(text: string): PostgresParameters {
  const parts = URL_FORM.exec(text)?.groups;
  if (parts === undefined) throw text.includes('@') ? unescaped() : noForm();
  const hosts = (parts['hosts'] ?? '').split(',').map((host) => /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(host));
  if (hosts.includes(null)) throw text.includes('@') ? unescaped() : noForm();
  const given = new Map([
    ['user', parts['user']],
    ['password', parts['password']],
    ['host', hosts.map((host) => (host?.[1] ?? '').replace(/^\[(.*)\]$/, '$1')).join(',')],
    ['port', hosts.map((host) => host?.[2] ?? '').join(',')],
    ['dbname', parts['dbname']],
    ...(parts['query'] ?? '').split('&').map((pair): [string, string] => {
      const [name = '', ...value] = pair.split('=');
      return [name, value.join('=')];
    }),
  ]);
  const decoded = [...given].map(([name, value]): [string, string] => [name, decode(value ?? '')]);
  return new Map(decoded.filter(([name, value]) => name !== '' && value.replaceAll(',', '') !== ''));
}

function decode(text: string): string {
  // Postgres ends a text at NUL: the rest would be lost.
  if (text.includes('%00')) throw new UsageError('has a %00, which Postgres cannot store in a text');
  try {
    return decodeURIComponent(text);
  } catch {
    throw unescaped();
  }
}

function parsePairs(text: string): PostgresParameters {
  const pairs = new Map<string, string>();
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < text.length) {
    const [, name, quoted, plain] = PAIR.exec(text) ?? [];
    if (name === undefined) throw noForm();
    pairs.set(name, (quoted ?? plain ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  if (pairs.size === 0) throw noForm();
  return pairs;
}

/**
 * A URL of these parameters. Several hosts, a socket, or a host with characters that mean something else in a URL are
 * put into the query, because `new URL` accepts them only there.
 */
export function formatPostgres(parameters: PostgresParameters): string {
  const { dbname = '', ...others } = Object.fromEntries(parameters);
  const { host = '', port = '', user = '', password = '', ...rest } = others;
  const isPlain = /^[\w.:-]+$/.test(host);
  const authority = isPlain ? formatLogin(user, password) + formatHost(host, port) : '';
  const query = Object.entries(isPlain ? rest : others)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `postgresql://${authority}/${encodeURIComponent(dbname)}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

function formatLogin(user: string, password: string): string {
  if (user === '') return '';
  return `${encodeURIComponent(user)}${password === '' ? '' : `:${encodeURIComponent(password)}`}@`;
}

function formatHost(host: string, port: string): string {
  return (host.includes(':') ? `[${host}]` : host) + (port === '' ? '' : `:${port}`);
}

/**
 * The same connection as another user. That user's sessions may be read-only by default, so that no server would be
 * `read-write`; `primary` has the intended meaning.
 */
export function withLogin(url: string, user: string, password: string): string {
  const parameters = new Map([...parsePostgres(url), ['user', user], ['password', password]]);
  if (parameters.get('target_session_attrs') === 'read-write')
    parameters.set('target_session_attrs', 'primary');
  return formatPostgres(parameters);
}

function noForm(): UsageError {
  return new UsageError('is not a URL like postgres://user:password@host:5432/database');
}

function unescaped(): UsageError {
  return new UsageError(
    'has a password (or a name) with characters that mean something else in a URL: percent-encode them (@ as %40, / as %2F, # as %23, % as %25)',
  );
}
