import { expect, test } from 'vitest';
import { readProxies } from '../../src/settings/read-values.ts';

const PROXY = 'http://proxy.example:3128/';

test.each([
  ['HTTP_PROXY', 'http://api.example'],
  ['http_proxy', 'http://api.example'],
  ['HTTPS_PROXY', 'https://api.example'],
  ['https_proxy', 'https://api.example:8443/x'],
  ['ALL_PROXY', 'https://api.example'],
  ['all_proxy', 'http://[::1]:8081'],
])('%s is used for %s', (name, url) => {
  expect(readProxies({ [name]: PROXY })(url)?.href).toBe(PROXY);
});

test('a proxy of one scheme is not used for the other, and lower case wins', () => {
  expect(readProxies({ HTTP_PROXY: PROXY })('https://api.example')).toBeUndefined();
  expect(
    readProxies({ http_proxy: 'other.example:8080', HTTP_PROXY: PROXY })('http://api.example')?.host,
  ).toBe('other.example:8080');
});

test.each([
  ['*', 'https://api.example', true],
  ['api.example', 'https://api.example', true],
  ['example', 'https://API.example', true],
  ['.example', 'https://api.example', true],
  ['*.example', 'https://api.example', true],
  ['pi.example', 'https://api.example', false],
  ['a.example, localhost', 'http://localhost:8081', true],
  ['localhost:8081', 'http://localhost:8081', true],
  ['localhost:8082', 'http://localhost:8081', false],
  ['api.example:443', 'https://api.example', true],
  ['127.0.0.0/8', 'http://127.1.2.3:81', true],
  ['10.0.0.0/8', 'http://127.1.2.3:81', false],
  ['fd00::/8', 'http://[fd12::1]:81', true],
  ['::1', 'http://[::1]:81', true],
  ['[::1]:81', 'http://[::1]:81', true],
  ['10.0.0.0/99', 'http://10.0.0.1', false],
])('NO_PROXY=%s and %s: direct is %s', (entry, url, isDirect) => {
  expect(readProxies({ ALL_PROXY: PROXY, NO_PROXY: entry })(url) === undefined).toBe(isDirect);
});

test.each(['ftp://u:SECRET@h', 'http://', 'socks4://h:1'])('%s is refused, without its password', (value) => {
  expect(() => readProxies({ HTTPS_PROXY: value })).toThrow(/HTTPS_PROXY ".*" is not the URL of a proxy/);
  expect(() => readProxies({ HTTPS_PROXY: value })).not.toThrow(/SECRET/);
});

test.each(['http://u:SECRET%@h:1', 'socks5://u:SECRET%zz@h', 'u%FF:SECRET@h:1'])(
  '%s has a login that cannot be decoded',
  (value) => {
    expect(() => readProxies({ HTTPS_PROXY: value })).toThrow(/HTTPS_PROXY has a login with a %/);
    expect(() => readProxies({ HTTPS_PROXY: value })).not.toThrow(/SECRET/);
  },
);

test.each(['HTTP://h:1', 'h:1/path', 'http://h:1/?query', 'http://h:1#fragment'])(
  'of %s only the host and the port count',
  (value) => {
    expect(readProxies({ HTTP_PROXY: value })('http://api.example')?.href).toBe('http://h:1/');
  },
);
