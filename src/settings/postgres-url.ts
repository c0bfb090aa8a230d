import { UsageError } from '../errors.ts';

/** Parameters of a connection by libpq's names: `host`, `port`, `dbname`, `user`, `password`, `sslmode`, … */
export type PostgresParameters = ReadonlyMap<string, string>;

/** The variables of libpq that say where and how to connect, with their parameters. */
const VARIABLES = {
  PGHOST: 'host',
  PGPORT: 'port',
  PGDATABASE: 'dbname',
  PGUSER: 'user',
  PGPASSWORD: 'password',
  PGSSLMODE: 'sslmode',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
  PGOPTIONS: 'options',
} as const;

/** Without one of these no server is meant: the others say how to connect, wherever that is. */
const NAMES_A_SERVER = ['PGHOST', 'PGDATABASE'] as const;

const URL_FORM =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]*)(?:\/(?<dbname>[^@?#]*))?(?:\?(?<query>[^#]*))?$/;
const PAIR = /\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))\s*/y;

/**
 * The connection that `DATABASE_URL` and libpq's variables mean together, as one URL that libpq and `new URL` both read;
 * undefined where they name no server. What `DATABASE_URL` leaves open, the variables say.
 * @throws UsageError for a text of no known form
 */
export function readDatabaseUrl(
  databaseUrl: string | undefined,
  environment: NodeJS.Dict<string>,
): string | undefined {
  const isNamed = NAMES_A_SERVER.some((name) => isSet(environment[name]));
  if (databaseUrl === undefined && !isNamed) return undefined;
  const variables = Object.entries(VARIABLES).flatMap(([name, parameter]): [string, string][] =>
    isSet(environment[name]) ? [[parameter, environment[name] ?? '']] : [],
  );
  const own = databaseUrl === undefined ? [] : parsePostgres(databaseUrl);
  return formatPostgres(new Map([...variables, ...own]));
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}

/**
 * The parameters in any form that libpq takes: `postgres://user:password@host:5432/database?sslmode=require`, with several
 * hosts or a socket's directory, or `host=… dbname=…`.
 * @throws UsageError where it is neither
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

/** A URL of these parameters. Several hosts, or a socket, stand behind the `?`: `new URL` takes them there alone. */
export function formatPostgres(parameters: PostgresParameters): string {
  const { dbname = '', ...others } = Object.fromEntries(parameters);
  const { host = '', port = '', user = '', password = '', ...rest } = others;
  const isPlain = host !== '' && !/[,/]/.test(host);
  const authority = isPlain ? formatLogin(user, password) + formatHost(host, port) : '';
  const query = Object.entries(isPlain ? rest : others)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `postgres://${authority}/${encodeURIComponent(dbname)}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

function formatLogin(user: string, password: string): string {
  if (user === '') return '';
  return `${encodeURIComponent(user)}${password === '' ? '' : `:${encodeURIComponent(password)}`}@`;
}

function formatHost(host: string, port: string): string {
  return (host.includes(':') ? `[${host}]` : host) + (port === '' ? '' : `:${port}`);
}

/**
 * The same connection as another user, whose sessions may be read-only by themselves: no server would then be read-write,
 * and what is meant is the primary.
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
    'has a password (or a name) with characters that mean something else in a URL: percent-encode them, such as @ as %40, / as %2F, # as %23 and % as %25',
  );
}
