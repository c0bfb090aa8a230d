import type { HttpResponse } from '../../../src/simulator/http/response.ts';

/** A way in which the bytes of a response differ from those that were sent. */
export interface Breakage {
  readonly name: string;
  readonly alter: (response: HttpResponse, body: Buffer) => HttpResponse;
}

const bytes = (name: string, change: (body: Buffer) => Buffer | string): Breakage => ({
  name,
  alter: (response, body) => ({ ...response, body: change(body) }),
});
const status = (name: string, code: number, body: string): Breakage => ({
  name,
  alter: (response) => ({ ...response, status: code, body }),
});

/** Letters of Latin 1 in place of the first letters of a hash. */
function latin1(body: Buffer): Buffer {
  const hash = /"[A-Za-z0-9+/]{43}="/.exec(body.toString('latin1'));
  if (hash === null) return body;
  const copy = Buffer.from(body);
  copy.set([0xe9, 0xff, 0xfc], hash.index + 5);
  return copy;
}

export const BREAKAGES: readonly Breakage[] = [
  bytes('body cut in half', (body) => body.subarray(0, body.length / 2)),
  bytes('body without its last byte', (body) => body.subarray(0, -1)),
  bytes('body empty', () => ''),
  bytes('body of spaces', () => '   '),
  bytes('letters of Latin 1', latin1),
  bytes('byte order mark', (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body])),
  bytes('UTF-16', (body) => Buffer.from(body.toString(), 'utf16le')),
  bytes('text behind it', (body) => Buffer.concat([body, Buffer.from('null')])),
  bytes('NUL behind it', (body) => Buffer.concat([body, Buffer.from([0])])),
  bytes('two responses in one', (body) => Buffer.concat([body, body])),
  bytes('a bit turned', (body) => turned(body)),
  bytes('an empty object', () => '{}'),
  bytes('an empty list', () => '[]'),
  bytes('null', () => 'null'),
  bytes('an error with status 200', () => '{"error":"internal"}'),
  bytes('a page of a gateway', () => '<html><body>502</body></html>'),
  status('404 once', 404, '{"error":"not found"}'),
  status('500 once', 500, '{"error":"internal"}'),
  status('503 with a page', 503, '<html></html>'),
];

/** In a quote or a brace, so that it is noticed. */
function turned(body: Buffer): Buffer {
  const copy = Buffer.from(body);
  const at = copy.lastIndexOf('"');
  if (at >= 0) copy[at] = 0x23;
  return copy;
}
