import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { bucketSql } from '../../src/lake/open-lake.ts';
import { s3Store, type LakeStore } from '../../src/lake/lake.ts';
import { openCli, type Cli } from '../support/program/cli.ts';

/* Tests that need no server of buckets; test/long/lake-s3.long.ts has one. */

const KEYS = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'reader',
  AWS_SECRET_ACCESS_KEY: "it's+secret/",
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
};

let cli: Cli;
let home: string;
beforeAll(async () => {
  cli = await openCli();
  home = await mkdtemp(join(tmpdir(), 'toncenter-etl-home-'));
  // A file blocks the directory of DuckDB's extensions, so that none can be installed.
  await writeFile(join(home, '.duckdb'), '');
});
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  await cli.close();
  await rm(home, { recursive: true });
});

test.each([
  {
    of: 'the vendor',
    more: {},
    words: ["endpoint 's3.eu-central-1.amazonaws.com'", 'use_ssl true'],
  },
  {
    of: 'a store of its own, for a session',
    more: { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9000', AWS_SESSION_TOKEN: 'now' },
    words: ["endpoint '127.0.0.1:9000'", 'use_ssl false', "session_token 'now'"],
  },
])('DuckDB gets the settings of the S3 client: $of', async ({ more, words }) => {
  const none = { AWS_SESSION_TOKEN: undefined, AWS_ENDPOINT_URL: undefined, AWS_ENDPOINT_URL_S3: undefined };
  for (const [name, value] of Object.entries({ ...none, ...KEYS, ...more })) vi.stubEnv(name, value);
  const [, secret] =
    /create or replace secret lake \((.*)\)$/.exec(await bucketSql('s3://lake/of/ton')) ?? [];
  expect(new Set(secret?.split(', '))).toEqual(
    new Set([
      'type s3',
      "key_id 'reader'",
      "secret 'it''s+secret/'",
      "region 'eu-central-1'",
      "url_style 'path'",
      "scope 's3://lake/of/ton'",
      ...words,
    ]),
  );
});

const asked = (settings: Readonly<Record<string, string>>) =>
  cli.run(['sql', '--lake', 's3://lake/of/ton', 'select 1'], {
    AWS_EC2_METADATA_DISABLED: 'true',
    HOME: home,
    ...settings,
  });

test('without the extension of DuckDB, sql says what is missing and what to do', async () => {
  const { code, stdout, stderr } = await asked(KEYS);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('its extension `httpfs` is not installed');
  expect(stderr).toContain('copy the lake into a directory');
  expect(stderr).not.toContain('secret/');
});

test('an empty variable counts as not set, because compose files pass unset variables on as empty', async () => {
  const names = [
    'REGION',
    'ACCESS_KEY_ID',
    'SECRET_ACCESS_KEY',
    'SESSION_TOKEN',
    'ENDPOINT_URL_S3',
    'PROFILE',
  ];
  const proxies = ['HTTP', 'HTTPS', 'ALL', 'NO'].map((name) => `${name}_PROXY`);
  const empty = Object.fromEntries(
    [...names.map((name) => `AWS_${name}`), ...proxies].map((name) => [name, '']),
  );
  const folder = join(home, '.aws');
  await mkdir(folder);
  await writeFile(join(folder, 'config'), '[default]\nregion = eu-central-1\n');
  await writeFile(
    join(folder, 'credentials'),
    '[default]\naws_access_key_id = a\naws_secret_access_key = b\n',
  );
  const { code, stderr } = await asked(empty);
  await rm(folder, { recursive: true });
  expect(stderr).toContain('its extension `httpfs` is not installed');
  expect(code).toBe(2);
});

test('without keys, sql says where they would come from', async () => {
  const { AWS_REGION, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED } = KEYS;
  const { code, stderr } = await asked({ AWS_REGION, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED });
  expect(code).toBe(1);
  expect(stderr).toMatch(/s3:\/\/lake\/of\/ton: Could not load credentials.*AWS_ACCESS_KEY_ID/s);
});

test('without a region, a lake in a bucket is a setting to change: exit 2', async () => {
  const { code, stderr } = await asked({ ...KEYS, AWS_REGION: '' });
  expect(stderr).toMatch(/no region is set.*AWS_REGION/s);
  expect(code).toBe(2);
});

test('the client of S3 and DuckDB use a proxy, unless NO_PROXY excludes the host', async () => {
  const asked: string[] = [];
  const proxy = createServer().on('connect', (request, socket) => {
    asked.push(`${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const none = { AWS_ENDPOINT_URL: undefined, AWS_ENDPOINT_URL_S3: undefined, AWS_MAX_ATTEMPTS: '1' };
  const set = { ...none, ...KEYS, HTTPS_PROXY: `http://u:p%40ss@${address}` };
  for (const [name, value] of Object.entries(set)) vi.stubEnv(name, value);
  const store = await s3Store('s3://lake/of/ton', () => '');
  await expect(store.folders()).rejects.toThrow();
  expect(asked).toEqual([
    `s3.eu-central-1.amazonaws.com:443 Basic ${Buffer.from('u:p@ss').toString('base64')}`,
  ]);
  await expect(bucketSql('s3://lake/of/ton')).rejects.toThrow(/a proxy with a password/);
  vi.stubEnv('HTTPS_PROXY', `http://u@${address}`);
  const proxied = `load httpfs; set http_proxy = '${address}'; set http_proxy_username = 'u'; set http_proxy_password = '';`;
  expect(await bucketSql('s3://lake/of/ton')).toContain(proxied);
  vi.stubEnv('NO_PROXY', 'amazonaws.com');
  expect(await bucketSql('s3://lake/of/ton')).toContain(`load httpfs; set http_proxy = '';`);
  await new Promise((resolve) => proxy.close(resolve));
});

describe('a bucket that does not answer is left when the command is to leave', () => {
  /** Settings for a server that accepts requests, and a promise of its first one. */
  async function silentBucket() {
    const server = createTcpServer().listen(0, '127.0.0.1');
    const isAsked = new Promise<void>((resolve) =>
      server.on('connection', (socket) => socket.on('error', () => undefined).once('data', () => resolve())),
    );
    await new Promise<void>((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return { isAsked, settings: { ...KEYS, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}` } };
  }

  test.each([['verify'], ['import', '--from', '2026-01-01', '--to', '2026-01-02']])(
    'by %s',
    async (...command) => {
      const { isAsked, settings } = await silentBucket();
      const leaving = { ...settings, LOG_LEVEL: 'info' };
      const running = cli.start([...command, '--lake', 's3://lake/of/ton'], leaving);
      await isAsked;
      running.child.kill('SIGTERM');
      await running.sees(/shutting down/);
      running.child.kill('SIGTERM');
      expect(await running.ended).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('stopped before it was done') as unknown,
      });
    },
  );

  test.each<[string, (store: LakeStore, file: string) => Promise<unknown>]>([
    ['folders', (store) => store.folders()],
    ['list', (store) => store.list('blocks/')],
    ['read', (store) => store.read('a')],
    ['create', (store) => store.create('a', 'text')],
    ['put', (store, file) => store.put('a', file)],
    ['fetch', (store) => store.fetch('a')],
    ['remove', (store) => store.remove('a')],
  ])('in %s', async (_, ask) => {
    const { isAsked, settings } = await silentBucket();
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
    const leaving = new AbortController();
    const store = await s3Store('s3://lake/of/ton', () => '', leaving.signal);
    const asked = ask(store, join(home, '.duckdb'));
    await isAsked;
    leaving.abort();
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
  });
});
