import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { guardKey, createTransport } from '../../src/api/transport.ts';
import { systemClock } from '../../src/clock.ts';
import { ApiUnavailableError } from '../../src/errors.ts';

/** What the proxy was asked, as `METHOD target`. */
const asked: string[] = [];
const servers: Server[] = [];
afterEach(async () => {
  asked.length = 0;
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const note = ({ method, url, headers }: IncomingMessage) =>
  asked.push([method, url, headers['proxy-authorization']].join(' ').trim());

function proxy(): Promise<string> {
  const server = createServer((request, response) => {
    note(request);
    response.end('{"by":"proxy"}');
  });
  server.on('connect', (request, socket) => {
    note(request);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  return listen(server);
}

async function get(origin: string, through: string | undefined): Promise<string> {
  const transport = createTransport({
    origin,
    connections: 2,
    clock: systemClock,
    key: guardKey(undefined),
    proxy: through === undefined ? undefined : new URL(through),
  });
  const most = { bytes: 2 ** 20, isList: true };
  const outgoing = {
    target: '/api/v3/x?limit=1',
    headers: {},
    label: 'GET /api/v3/x',
    timeoutMs: 5000,
    most,
  };
  const nothing = () => Promise.resolve();
  try {
    const between = { onHead: nothing, beforeBody: nothing };
    return (await transport.send(outgoing, new AbortController().signal, between)).body.toString();
  } finally {
    await transport.close();
  }
}

test('a request without TLS is forwarded by the proxy, with the login of its URL', async () => {
  const address = await proxy();
  expect(await get('http://api.example:8081', `http://user:p%40ss@${address}`)).toBe('{"by":"proxy"}');
  const login = Buffer.from('user:p@ss').toString('base64');
  expect(asked).toEqual([`GET http://api.example:8081/api/v3/x?limit=1 Basic ${login}`]);
});

test('a request with TLS is tunneled, and a refusal of the proxy names the proxy', async () => {
  const address = await proxy();
  const failed = get('https://api.example', `http://${address}`);
  await expect(failed).rejects.toThrow(ApiUnavailableError);
  await expect(failed).rejects.toThrow(`no response from https://api.example through the proxy ${address}`);
  expect(asked).toEqual(['CONNECT api.example:443']);
});

test('a tunnel carries TLS to the host, with a login whose password is empty', async () => {
  const address = await listen(
    createTcpServer((socket) =>
      socket.once('data', (data) => {
        asked.push(
          ...(/^(CONNECT .*?) HTTP[^]*\r\nproxy-authorization: (.*)\r\n/i.exec(data.toString())?.slice(1) ??
            []),
        );
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.once('data', (hello) => {
          asked.push(String(hello[0]));
          socket.destroy();
        });
      }),
    ),
  );
  await expect(get('https://[::1]:8443', `http://token:@${address}`)).rejects.toThrow(ApiUnavailableError);
  // A handshake of TLS begins with 22.
  expect(asked).toEqual(['CONNECT [::1]:8443', `Basic ${Buffer.from('token:').toString('base64')}`, '22']);
});

test.each([
  ['closes', 'https://api.example', ''],
  ['answers with garbage', 'https://api.example', 'garbage\r\n\r\n'],
  ['has no connection to the host', 'https://api.example', 'HTTP/1.1 502 Bad Gateway\r\n\r\n'],
  ['wants a login', 'https://api.example', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'],
  ['closes what it should forward', 'http://api.example', ''],
])('a proxy that %s is asked once, and named', async (_, origin, answer) => {
  const address = await listen(
    createTcpServer((socket) =>
      socket.once('data', (data) => {
        asked.push(data.toString());
        socket.end(answer);
      }),
    ),
  );
  await expect(get(origin, `http://${address}`)).rejects.toThrow(`through the proxy ${address}`);
  expect(asked).toHaveLength(1);
});

test('a proxy that is not there is named, without its password', async () => {
  const address = await proxy();
  await new Promise((resolve) => servers.pop()?.close(resolve));
  const failed = get('http://api.example', `http://user:SECRET@${address}`);
  await expect(failed).rejects.toThrow(`through the proxy ${address}`);
  await expect(failed).rejects.not.toThrow(/SECRET/);
});

test('without a proxy the host itself is asked', async () => {
  const address = await listen(createServer((_, response) => response.end('{"by":"host"}')));
  expect(await get(`http://${address}`, undefined)).toBe('{"by":"host"}');
});
