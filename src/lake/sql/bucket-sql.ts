import { literal } from '../../db/migrate/literal.ts';
import { UsageError } from '../../errors.ts';
import { proxyOfProcess } from '../../settings/config.ts';
import { openClient } from '../store/s3-store.ts';

/**
 * Statements after which DuckDB reads buckets, by its extension `httpfs`, with what the vendor's own client takes: keys,
 * region, endpoint and proxy. No statement that follows can read a password or key of these: DuckDB shows settings whole,
 * and of a secret it hides only the keys.
 * @throws UsageError if the proxy asks for a password
 */
export async function bucketSql(place: string): Promise<string> {
  const { client, address, proxy } = await openClient();
  if (proxy !== undefined && proxy.password !== '')
    throw new UsageError(`\`sql\` reads no bucket through ${proxy.host}, a proxy with a password`, {
      hint: 'DuckDB would show the password to each statement. Name the host in NO_PROXY, or copy the lake into a directory.',
    });
  const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
  const { protocol, hostname, port } = address;
  const words = [
    'type s3',
    `key_id ${literal(accessKeyId)}`,
    `secret ${literal(secretAccessKey)}`,
    ...(sessionToken === undefined ? [] : [`session_token ${literal(sessionToken)}`]),
    `region ${literal(await client.config.region())}`,
    `endpoint ${literal(port === undefined ? hostname : `${hostname}:${port}`)}`,
    `use_ssl ${String(protocol === 'https:')}`,
    `url_style 'path'`,
    `scope ${literal(place)}`,
  ];
  return [
    ...through(proxyOfProcess('http://extensions.duckdb.org')),
    'install httpfs',
    'load httpfs',
    ...through(proxy),
    // It has taken these from the environment.
    ...['access_key_id', 'secret_access_key', 'session_token'].map((name) => `reset s3_${name}`),
    // Parts never change: what was fetched of them may be kept.
    'set enable_external_file_cache = true',
    `create or replace secret lake (${words.join(', ')})`,
  ].join('; ');
}

function through(proxy: URL | undefined): string[] {
  const { host = '', username = '', password = '' } = proxy ?? {};
  return [
    `set http_proxy = ${literal(host)}`,
    `set http_proxy_username = ${literal(decodeURIComponent(username))}`,
    `set http_proxy_password = ${literal(decodeURIComponent(password))}`,
  ];
}
