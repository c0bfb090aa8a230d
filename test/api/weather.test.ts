import dns from 'node:dns';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { networkInterfaces } from 'node:os';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { listOf } from '../../src/api/read-response.ts';
import { ApiTimeoutError, ApiUnavailableError, RequestTooLargeError } from '../../src/errors.ts';
import { failureOf, json, startFakeApi, text, type FakeApi, type HttpResponse } from './fake-api.ts';
import { thorough } from '../support/thorough.ts';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());
afterEach(() => vi.restoreAllMocks());

const blocks = { path: '/api/v3/blocks', parse: listOf('blocks'), priority: 'backfill' } as const;
const good = json({ blocks: [1] });
const SPACES = Buffer.alloc(2 ** 20, ' ');

/** An endless body, as fast as it is read. */
const endless =
  (status: number): HttpResponse =>
  (_request, response) => {
    response.writeHead(status);
    const more = () => {
      while (!response.destroyed && response.write(SPACES));
    };
    response.on('drain', more);
    more();
  };
/** One byte at a time, forever. */
const dribbling =
  (status: number): HttpResponse =>
  (_request, response) => {
    response.writeHead(status);
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  };
/** Writes to the raw socket. */
const raw =
  (work: (socket: Socket) => void): HttpResponse =>
  ({ socket }) => {
    work(socket);
  };
const endlessHeaders = raw((socket) => {
  socket.write('HTTP/1.1 200 OK\r\n');
  const more = () => {
    while (!socket.destroyed && socket.write(`x-more: ${'x'.repeat(1000)}\r\n`));
  };
  socket.on('drain', more);
  more();
});
const silentHeaders = raw((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-type: app'));

thorough('an endless body or endless headers take neither the memory nor more time than is set', async () => {
  api.answer(endless(200));
  expect(await failureOf(api.client({ attempts: 1 }).get(blocks))).toBeInstanceOf(RequestTooLargeError);
  api.answer(endlessHeaders);
  const ofHeaders = await failureOf(api.client({ attempts: 1 }).get(blocks));
  expect(ofHeaders).toBeInstanceOf(ApiUnavailableError);
  expect(ofHeaders).not.toBeInstanceOf(ApiTimeoutError);
  // Valid JSON of 200 MB.
  api.answer(text(`{"blocks":[${'1,'.repeat(10 ** 8)}1]}`, 200));
  expect(await failureOf(api.client({ attempts: 1 }).get(blocks))).toBeInstanceOf(RequestTooLargeError);
  // Only the status counts.
  api.answer(endless(503), good);
  expect(await api.client().get(blocks)).toMatchObject({ value: [1], attempts: 2 });
  api.answer(
    text(gzipSync(Buffer.alloc(2 ** 27 + 1, ' '), { level: 1 }), 200, { 'content-encoding': 'gzip' }),
  );
  expect(await failureOf(api.client({ attempts: 1 }).get(blocks))).toBeInstanceOf(RequestTooLargeError);
});

test.each([
  ['a byte now and then', dribbling(200)],
  ['headers that break off', silentHeaders],
])('%s: as long as one request may take, and no longer', async (_, answer) => {
  api.answer(answer, good);
  expect(await api.client({ timeoutMs: 300 }).get(blocks)).toMatchObject({ value: [1], attempts: 2 });
});

test('the status of an error counts, even if its body dribbles', async () => {
  api.answer(dribbling(429), good);
  expect(await api.client({ timeoutMs: 300 }).get(blocks)).toMatchObject({ value: [1], attempts: 2 });
  expect(api.log.filter(({ msg }) => msg === 'request')).toMatchObject([{ status: 429 }, { status: 200 }]);
});

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

test.skipIf(!hasIpv6)('a host with an IPv6 address, in brackets', async () => {
  const server = await answering('::1');
  const client = api.client({ baseUrl: `http://[::1]:${portOf(server)}` });
  expect(await client.get(blocks)).toMatchObject({ value: [1], attempts: 1 });
  await client.close();
  server.close();
});

test('of two addresses the one that answers is used, even if the other is closed or answers nothing', async () => {
  const server = await answering('127.0.0.1');
  // 192.0.2.1 belongs to no host (RFC 5737): its packets are lost, or refused on the way.
  for (const dead of ['127.0.0.2', '::1', '192.0.2.1', '100::1']) {
    const family = dead.includes(':') ? 6 : 4;
    const both = [
      { address: dead, family },
      { address: '127.0.0.1', family: 4 },
    ];
    resolveTo(() => [null, both]);
    const client = api.client({ baseUrl: `http://two.example:${portOf(server)}`, timeoutMs: 20_000 });
    expect(await client.get(blocks)).toMatchObject({ value: [1], attempts: 1 });
    await client.close();
  }
  server.close();
});

test('a name that does not resolve for a while is tried again', async () => {
  const server = await answering('127.0.0.1');
  const codes = ['ENOTFOUND', 'EAI_AGAIN', 'ENOTFOUND', 'EAI_AGAIN'];
  resolveTo(() => {
    const code = codes.shift();
    if (code === undefined) return [null, [{ address: '127.0.0.1', family: 4 }]];
    return [
      Object.assign(new Error(`getaddrinfo ${code} away.example`), { code, syscall: 'getaddrinfo' }),
      [],
    ];
  });
  const baseUrl = `http://away.example:${portOf(server)}`;
  const client = api.client({ baseUrl });
  const once = api.client({ baseUrl, attempts: 1 });
  const failure = await failureOf(once.get(blocks));
  expect(failure).toBeInstanceOf(ApiUnavailableError);
  expect(failure).toHaveProperty('message', expect.stringContaining('away.example'));
  expect(await client.get(blocks)).toMatchObject({ value: [1], attempts: 4 });
  server.close();
});

test.skipIf(!hasIpv6)('a name with an IPv6 address and no other', async () => {
  const server = await answering('::1');
  resolveTo(() => [null, [{ address: '::1', family: 6 }]]);
  const client = api.client({ baseUrl: `http://six.example:${portOf(server)}` });
  expect(await client.get(blocks)).toMatchObject({ value: [1], attempts: 1 });
  server.close();
});

type Resolved = readonly [Error | null, readonly { address: string; family: number }[]];

/** Replaces the answer of the system's resolver, for every name. */
function resolveTo(answer: () => Resolved): void {
  vi.spyOn(dns, 'lookup').mockImplementation(((
    _name: string,
    _options: object,
    done: (...given: Resolved) => void,
  ) => {
    done(...answer());
  }) as typeof dns.lookup);
}

async function answering(host: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 14\r\nconnection: close\r\n\r\n{"blocks":[1]}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
