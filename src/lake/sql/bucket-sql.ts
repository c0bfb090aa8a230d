import * as z from 'zod';
import { literal } from '../../db/migrate/literal.ts';
import { loadSdk } from '../store/s3-store.ts';

const Address = z.object({
  request: z.object({ protocol: z.string(), hostname: z.string(), port: z.number().optional() }),
});

/**
 * Statements after which DuckDB reads buckets, by its extension `httpfs`, with what the vendor's own client takes: keys,
 * region and endpoint.
 */
export async function bucketSql(place: string): Promise<string> {
  const { sdk } = await loadSdk();
  const client = new sdk.S3Client({ forcePathStyle: true });
  const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
  let address: z.infer<typeof Address>['request'] = { protocol: 'https:', hostname: 's3.amazonaws.com' };
  // Only a request knows its endpoint: this one is made and never sent.
  client.middlewareStack.add(
    () => (args) => {
      address = Address.parse(args).request;
      throw new Error('seen');
    },
    { step: 'build', name: 'seeAddress' },
  );
  await client.send(new sdk.ListBucketsCommand()).catch(() => undefined);
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
  // Parts never change: what was fetched of them may be kept.
  return `install httpfs; load httpfs; set enable_external_file_cache = true; create or replace secret lake (${words.join(', ')});`;
}
