import { literal } from '../../db/migrate/literal.ts';
import { openClient } from '../store/s3-store.ts';

/**
 * Statements after which DuckDB reads buckets, by its extension `httpfs`, with what the vendor's own client takes: keys,
 * region, endpoint and proxy.
 */
export async function bucketSql(place: string): Promise<string> {
  const { client, address, proxy } = await openClient();
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
  const through =
    proxy === undefined
      ? ''
      : `set http_proxy = ${literal(proxy.host)}; set http_proxy_username = ${literal(decodeURIComponent(proxy.username))}; set http_proxy_password = ${literal(decodeURIComponent(proxy.password))}; `;
  // Parts never change: what was fetched of them may be kept.
  return `${through}install httpfs; load httpfs; set enable_external_file_cache = true; create or replace secret lake (${words.join(', ')});`;
}
