import { isUtf8 } from 'node:buffer';
import * as http from 'node:http';
import * as https from 'node:https';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, buildConnector, ProxyAgent, type Dispatcher } from 'undici';
import { type Clock, linkSignals } from '../clock.ts';
import {
  ApiTimeoutError,
  ApiUnavailableError,
  BadResponseError,
  codeOf,
  RequestTooLargeError,
  UsageError,
} from '../errors.ts';
import { HOUR } from '../range.ts';
import { giveMemory, takeMemory } from '../dataset/bytes/view.ts';
import { createRedactor, spellingsOf } from '../settings/redact.ts';

/** A request that is ready to send: nothing is computed between the slot and the send. */
export interface Outgoing {
  /** Path and query as they are sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Posted as JSON. If omitted, the request is a GET. */
  readonly body?: string;
  /** For messages: `GET /api/v3/blocks`. */
  readonly label: string;
  readonly timeoutMs: number;
  /** Maximum size of the decoded body of a 200, in bytes. If `isList` is true, a smaller list can be requested. */
  readonly most: { readonly bytes: number; readonly isList: boolean };
}

/** The status line and headers of a response, known before its body. */
export interface ResponseHead {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly apiVersion: string | undefined;
}

export interface ApiResponse extends ResponseHead {
  /**
   * The decoded body. It is UTF-8 if the status is 200. For another status, it is empty if it was cut off. It
   * owns its memory, which may be given back.
   */
  readonly body: Buffer;
  /** Bytes of the body on the wire. */
  readonly bytes: number;
}

interface TransportOptions {
  readonly origin: string;
  readonly connections: number;
  readonly clock: Clock;
  /** Removes the key from headers, because they go into the database and the log. */
  readonly key: KeyGuard;
  /** Requests go through this proxy; undefined: directly to the origin. */
  readonly proxy?: URL | undefined;
}

interface BetweenHeadAndBody {
  /** Called as soon as the status is known, and awaited together with the body. */
  readonly onHead: (head: ResponseHead) => Promise<void>;
  /** Awaited before the body of a 200 is read. The timeout does not run meanwhile. */
  readonly beforeBody: (signal: AbortSignal) => Promise<void>;
}

export type Transport = ReturnType<typeof createTransport>;

const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

/** HTTP only: one attempt, one response. */
export function createTransport({ origin, connections, clock, key, proxy }: TransportOptions) {
  const how = {
    connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // One deadline for the whole request replaces these: see startDeadline.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const agent = agentOf(origin, proxy, how);
  const wire = { agent, origin, clock, key, through: proxy && ` through the proxy ${proxy.host}` };
  return {
    /**
     * Sends at once. Throws the signal's reason if aborted, ApiUnavailableError without a connection, and
     * ApiTimeoutError if the response takes longer than its timeout. Throws RequestTooLargeError for a 200
     * whose list is too long, and BadResponseError if the body is cut off or cannot be decoded.
     */
    send: (outgoing: Outgoing, signal: AbortSignal, between: BetweenHeadAndBody) =>
      send(wire, outgoing, signal, between),
    close: () => agent.destroy(),
  };
}

/** Proxies forward requests without TLS, and many refuse to tunnel them. */
function agentOf(origin: string, proxy: URL | undefined, how: Agent.Options): Dispatcher {
  if (proxy === undefined) return new Agent(how);
  const isTunnel = origin.startsWith('https:') || proxy.protocol === 'https:';
  if (isTunnel && proxy.protocol !== 'socks5:') return new Agent({ ...how, connect: tunnelThrough(proxy) });
  const token = tokenOf(proxy);
  return new ProxyAgent({ ...how, uri: proxy.href, proxyTunnel: isTunnel, ...(token && { token }) });
}

/** The proxy's login as a header; undefined if it has none. The password may be empty. */
function tokenOf({ username, password }: URL): string | undefined {
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return login === ':' ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
}

/**
 * Connects by a tunnel. undici's own tunnels repeat their request without a pause if the proxy closes the connection,
 * and wait for minutes if it does not answer.
 */
function tunnelThrough(proxy: URL): buildConnector.connector {
  const secure = buildConnector({ timeout: CONNECT_TIMEOUT_MS });
  const { request } = proxy.protocol === 'https:' ? https : http;
  return (options, callback) => {
    const { protocol, port, hostname, host = hostname } = options;
    const path = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
    const token = tokenOf(proxy);
    const headers = { host: path, ...(token && { 'proxy-authorization': token }) };
    const timeout = CONNECT_TIMEOUT_MS;
    const asked = request(proxy.origin, { method: 'CONNECT', path, headers, timeout, agent: false });
    asked.once('connect', ({ statusCode }, socket) => {
      socket.setTimeout(0);
      if (statusCode === 200 && protocol === 'https:') secure({ ...options, httpSocket: socket }, callback);
      else if (statusCode === 200) callback(null, socket);
      else {
        socket.destroy();
        callback(new Error(`the proxy answered CONNECT with ${statusCode}`), null);
      }
    });
    asked.once('timeout', () => asked.destroy(new Error('the proxy does not answer')));
    asked.once('error', (error) => callback(error, null));
    asked.end();
  };
}

interface Wire {
  readonly agent: Dispatcher;
  readonly origin: string;
  readonly clock: Clock;
  readonly key: KeyGuard;
  /** For messages: empty if there is no proxy. */
  readonly through: string | undefined;
}

async function send(
  { agent, origin, clock, key, through = '' }: Wire,
  outgoing: Outgoing,
  signal: AbortSignal,
  { onHead, beforeBody }: BetweenHeadAndBody,
): Promise<ApiResponse> {
  const deadline = startDeadline(clock, outgoing.timeoutMs);
  const failed = new AbortController();
  const link = linkSignals(signal, deadline.signal, failed.signal);
  let response: Dispatcher.ResponseData | undefined;
  try {
    const answer = (response = await request({ agent, origin, through }, outgoing, link.signal));
    const head = headOf(answer, clock, key);
    const take = async () => {
      if (head.status !== 200) return receive(outgoing, answer);
      await deadline.without(() => beforeBody(link.signal));
      return receive(outgoing, answer);
    };
    const [body] = await Promise.all([take(), onHead(head)]);
    return { ...head, ...body };
  } catch (error) {
    // If a step between head and body failed, nothing else would end the download.
    failed.abort();
    response?.body.destroy();
    signal.throwIfAborted();
    throw deadline.signal.aborted ? tookTooLong(outgoing, error) : error;
  } finally {
    link.release();
    deadline.stop();
  }
}

/** Sends, and waits for the status line. */
async function request(
  { agent, origin, through }: Pick<Wire, 'agent' | 'origin' | 'through'>,
  { target, headers, body, label }: Outgoing,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  try {
    const how = { origin, path: target, signal };
    if (body === undefined) return await agent.request({ ...how, method: 'GET', headers });
    const typed = { ...headers, 'content-type': 'application/json' };
    return await agent.request({ ...how, method: 'POST', headers: typed, body });
  } catch (error) {
    throw new ApiUnavailableError(
      `${label}: no response from ${origin}${through ?? ''} (${wireReason(error)})`,
      {
        cause: error,
        hint: `Check the network connection${through === '' ? '' : ', HTTP_PROXY, HTTPS_PROXY, NO_PROXY'} and TONCENTER_NETWORK; stored data is kept.`,
      },
    );
  }
}

/** Reads and decodes the body. Without status 200 the body matters less, so errors in it are ignored. */
async function receive(
  { label, most: { bytes: most, isList } }: Outgoing,
  response: Dispatcher.ResponseData,
): Promise<Pick<ApiResponse, 'body' | 'bytes'>> {
  const isWanted = response.statusCode === 200;
  try {
    const length = Number(oneOf(response.headers['content-length']) ?? NaN);
    const raw = await gather(response.body, { most: isWanted ? most : LONGEST_REASON, length });
    const decoded = await decode(
      raw,
      oneOf(response.headers['content-encoding']),
      isWanted ? most : LONGEST_REASON,
    );
    // Decoding would replace these bytes by U+FFFD, and the page would be stored with it.
    if (isWanted && !isUtf8(decoded)) throw new Error('bytes that are not UTF-8');
    return { body: decoded, bytes: raw.byteLength };
  } catch (error) {
    if (!isWanted) return { body: Buffer.alloc(0), bytes: 0 };
    if (error instanceof RangeError) {
      const message = `${label}: the response is longer than ${most / 2 ** 20} MiB`;
      const hint =
        'The API sends no such response: a proxy may answer instead. Look at the response with curl.';
      throw new (isList ? RequestTooLargeError : BadResponseError)(message, { cause: error, hint });
    }
    throw new BadResponseError(`${label}: the response was cut off or broken (${wireReason(error)})`, {
      cause: error,
      hint: 'A proxy or the connection cuts responses off; retrying did not help.',
    });
  }
}

/** The content codings that are accepted. */
export const ACCEPT_ENCODING = 'gzip, br, deflate';

/** Only a few words of an error body are used. */
const LONGEST_REASON = 2 ** 20;

/** The first allocation if the length of a body is unknown or implausible. */
const FIRST_ROOM = 2 ** 16;

interface Gathering {
  /** Maximum number of bytes. If more come, it is an error: a body may be endless. */
  readonly most: number;
  /** The expected bytes; NaN if unknown. */
  readonly length: number;
}

/** Concatenates the parts as they come. Throws a RangeError if there are too many. */
async function gather(parts: AsyncIterable<unknown>, { most, length }: Gathering): Promise<Buffer> {
  let memory = memoryOf(length <= most ? length : FIRST_ROOM);
  let bytes = 0;
  for await (const part of parts) {
    if (!(part instanceof Uint8Array)) continue;
    const until = bytes + part.byteLength;
    if (until > most) throw new RangeError(`more than ${most} bytes`);
    if (until > memory.length) memory = grown(memory, bytes, until);
    memory.set(part, bytes);
    bytes = until;
  }
  return memory.subarray(0, bytes);
}

function grown(memory: Buffer, used: number, needed: number): Buffer {
  const larger = memoryOf(Math.max(2 * memory.length, needed));
  memory.copy(larger, 0, 0, used);
  giveMemory(memory.buffer);
  return larger;
}

function memoryOf(bytes: number): Buffer {
  return Buffer.from(takeMemory(bytes));
}

/** The size of the decoder's chunks. */
const DECODED = { chunkSize: 2 ** 17 };

/** Decodes on zlib's threads, so that only parsing blocks the event loop. */
async function decode(raw: Buffer, encoding: string | undefined, most: number): Promise<Buffer> {
  const decoder = decoderOf(encoding?.toLowerCase() ?? '');
  if (decoder === undefined) return raw;
  decoder.end(raw);
  const decoded = await gather(decoder, { most, length: NaN });
  giveMemory(raw.buffer);
  return decoded;
}

/** Undefined if the body is not encoded. */
function decoderOf(encoding: string): Transform | undefined {
  switch (encoding) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip(DECODED);
    case 'br':
      return createBrotliDecompress(DECODED);
    case 'deflate':
      return createInflate(DECODED);
    default:
      // Without its name: a server may repeat a key even there.
      throw new Error('a content-encoding that was not asked for');
  }
}

/** Maximum number of characters in a version, which is stored with each page. */
const LONGEST_VERSION = 100;

function headOf({ statusCode, headers }: Dispatcher.ResponseData, clock: Clock, key: KeyGuard): ResponseHead {
  const version = oneOf(headers['x-api-version']);
  return {
    status: statusCode,
    retryAfterMs: retryAfterMs(oneOf(headers['retry-after']), oneOf(headers['date']), clock.now()),
    // The key is removed first: if it were cut, a part would stay.
    apiVersion: version && key.without(version).slice(0, LONGEST_VERSION),
  };
}

function oneOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'object' ? header[0] : header;
}

/** A signal that is aborted after `ms`, unless it is stopped before. */
function startDeadline(clock: Clock, ms: number) {
  const expired = new AbortController();
  let stopped = new AbortController();
  let [since, leftMs] = [clock.monotonic(), ms];
  const run = () => {
    clock.sleep(leftMs, stopped.signal).then(
      () => expired.abort(),
      () => undefined,
    );
  };
  const stop = () => stopped.abort();
  run();
  return {
    signal: expired.signal,
    stop,
    /** Stops the clock while `work` runs. */
    without: async (work: () => Promise<void>) => {
      stop();
      leftMs -= clock.monotonic() - since;
      await work();
      [stopped, since] = [new AbortController(), clock.monotonic()];
      run();
    },
  };
}

/** The server waits for a database connection without a limit of its own, so this happens under load. */
function tookTooLong({ label, timeoutMs }: Outgoing, cause: unknown): ApiTimeoutError {
  return new ApiTimeoutError(`${label}: timeout, no complete response within ${timeoutMs} ms`, {
    cause,
    hint: 'The API is overloaded, or does not answer at all: look at its own status, and try again later.',
  });
}

/** Some network errors have only a code (an AggregateError of several addresses), others only a message. */
function wireReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [codeOf(error) ?? '', error.message].filter((part) => part !== '').join(': ');
}

/** The longest pause. If a server asks for more, the next attempt finds out. */
const MAX_MS = 1000 * HOUR;
const DECIMAL = /^\d+(\.\d+)?$/;

/**
 * Milliseconds to wait by a `Retry-After` header (RFC 9110, 10.2.3: seconds or a date), limited to the
 * longest pause; undefined if there is none or it is invalid. A date is relative to the sender's clock in its
 * `Date` header. If there is no such header, it is relative to `now`, the local wall time in milliseconds.
 */
export function retryAfterMs(
  header: string | undefined,
  date: string | undefined,
  now: number,
): number | undefined {
  const text = header?.trim() ?? '';
  const isDate = /^[A-Za-z]{3,9},? /.test(text);
  const sentAt = Date.parse(date ?? '');
  const ms = isDate
    ? Date.parse(text) - (Number.isNaN(sentAt) ? now : sentAt)
    : DECIMAL.test(text)
      ? Number(text) * 1000
      : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_MS, Math.max(0, ms));
}

/** Keys of the API have 64 characters. */
const SHORTEST_KEY = 16;

/** A server may repeat a key that it rejects. The guard removes it from texts of the server. */
export interface KeyGuard {
  /** False if the bytes contain the key in no spelling. */
  mayBeIn(bytes: Buffer): boolean;
  /** Removes the key from a text. */
  without(text: string): string;
}

/** For data: shorter words may occur there by chance, and must not change. */
export function guardKey(apiKey: string | undefined): KeyGuard {
  if (apiKey === undefined || apiKey.length < SHORTEST_KEY) return NO_KEY;
  const spellings = spellingsOf(apiKey).map((spelling) => Buffer.from(spelling));
  return {
    mayBeIn: (bytes) => spellings.some((spelling) => bytes.includes(spelling)),
    without: createRedactor([apiKey], '[key]'),
  };
}

const NO_KEY: KeyGuard = { mayBeIn: () => false, without: (text) => text };

/** A recorded response of the API, of any status, without the key. */
interface RecordedResponse {
  readonly path: string;
  readonly query: string;
  readonly status: number;
  readonly apiVersion: string | undefined;
  /** The decoded body. */
  readonly text: string;
}

export type Recorder = ReturnType<typeof openRecorder>;

/**
 * Writes responses into an existing directory, one JSON line each, one file for each process. `simulate --corpus`
 * serves them. A line is written before its page is committed, so a killed process loses no line of a committed page.
 * @throws UsageError if the directory is not writable
 */
export function openRecorder(directory: string, clock: Clock) {
  const file = openFile(directory, `responses-${process.pid}-${randomBytes(4).toString('hex')}.jsonl`);
  return {
    record: (response: RecordedResponse) => {
      writeFileSync(file, `${lineOf(response, new Date(clock.now()).toISOString())}\n`);
    },
    close: () => {
      closeSync(file);
    },
  };
}

function openFile(directory: string, name: string): number {
  try {
    return openSync(join(directory, name), 'a', 0o600);
  } catch (error) {
    throw new UsageError(`cannot record responses in ${directory}: ${String(error)}`, {
      hint: 'Give --record a writable directory.',
    });
  }
}

/** The body is written as it came, so that no digit is lost. If it is not JSON, it is written as a string. */
function lineOf({ text, ...facts }: RecordedResponse, receivedAt: string): string {
  const body = isJson(text) ? text.replaceAll(/[\r\n]+/g, ' ') : JSON.stringify(text);
  return `${JSON.stringify({ ...facts, receivedAt }).slice(0, -1)},"body":${body}}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
