import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { every, type Clock } from '../../clock.ts';
import { DatabaseUnavailableError, messageOf, UsageError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { packageRoot } from '../../package.ts';
import type { Metrics } from './metrics.ts';
import { sayReasons } from '../../status/readiness.ts';
import type { Snapshot } from '../../status/snapshot.ts';

/** Milliseconds between two reads of the database while a status page is open. */
const LIVE_EVERY_MS = 1000;
/** A regular comment tells proxies that the stream of events is alive. */
const KEEP_ALIVE_MS = 15_000;
/** Milliseconds after which a slow database is reported. Clients give up after a while, Prometheus after 10 s. */
const LONGEST_SNAPSHOT_MS = 5000;

/** Answered as a stream, for as long as a client reads it. */
const EVENTS = '/events';

interface ServerOptions {
  /** `host:port`; port 0 is any free one. */
  readonly listen: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly snapshot: () => Promise<Snapshot>;
  /** Called with the answers of `/ready` and `/metrics`. */
  readonly onReadiness?: (ready: boolean, reasons: readonly string[]) => void;
}

export type StatusServer = Awaited<ReturnType<typeof startStatusServer>>;

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Serves `/health` (the process is alive), `/ready` (it has caught up; else 503 and the reasons) and the status page at
 * `/`. For programs there are `/metrics` (Prometheus), `/status` (JSON) and `/events` (the same, as it changes). It only
 * reads, and has no secrets.
 * @throws UsageError if the address is not available
 */
export async function startStatusServer(options: ServerOptions) {
  const routes = routesOf(options, await readPage());
  const live = new Map<ServerResponse, AbortController>();
  const server = createServer((request, response) => {
    // An error concerns this request only. If it were uncaught, it would end the daemon.
    serve(request, response, { ...options, routes, live }).catch((error: unknown) => {
      options.logger.debug({ path: request.url, reason: String(error) }, 'status request failed');
      response.destroy();
    });
  });
  const url = await bind(server, options.listen);
  return {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        for (const [response, gone] of live) {
          gone.abort();
          response.end();
        }
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Answer = () => Reply | Promise<Reply>;

/** The answer of each path. */
function routesOf(options: ServerOptions, page: Reply): ReadonlyMap<string, Answer> {
  const { snapshot, metrics } = options;
  return new Map<string, Answer>([
    ['/', () => page],
    ['/health', () => json(200, { alive: true })],
    [
      '/ready',
      async () => {
        const { readiness } = await judged(options);
        return json(readiness.ready ? 200 : 503, readiness);
      },
    ],
    [
      '/metrics',
      async () => {
        const body = await metrics.render((await judged(options)).current);
        return { status: 200, type: metrics.contentType, body };
      },
    ],
    ['/status', async () => json(200, inSentences(await snapshot()))],
  ]);
}

interface Serving extends ServerOptions {
  readonly routes: ReadonlyMap<string, Answer>;
  /**
   * Clients of the events, with the controller that ends each. A shared signal would keep a listener for
   * every client that ever connected.
   */
  readonly live: Map<ServerResponse, AbortController>;
}

async function serve(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  if (!isOwnName(request.headers.host, serving.listen)) {
    send(request, response, json(403, { error: 'unknown host name: use the address of this server' }));
    return;
  }
  const path = pathOf(request.url ?? '');
  if (path === EVENTS && request.method === 'GET') {
    await follow(serving, response);
    return;
  }
  const reply = await answer(serving.routes, request.method ?? 'GET', path).catch((error: unknown) => {
    serving.logger.debug({ path, reason: String(error) }, 'status request failed');
    return json(503, { error: String(error) });
  });
  send(request, response, reply);
}

/**
 * The path is cut out with a pattern, because `new URL` throws for targets that any client may send, such as
 * `//`. A proxy may put the host in front.
 */
function pathOf(target: string): string {
  return /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i.exec(target)?.[1] || '/';
}

async function answer(routes: ReadonlyMap<string, Answer>, method: string, path: string): Promise<Reply> {
  if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'only GET' });
  const route = routes.get(path);
  if (route !== undefined) return route();
  const paths = [...routes.keys(), EVENTS].join(', ');
  return json(404, { error: `there is no ${path}; there are ${paths}` });
}

/** A snapshot, or an error if it takes long. The read continues for the next request. */
async function promptly({ snapshot, clock }: ServerOptions): Promise<Snapshot> {
  const answered = new AbortController();
  const late = clock.sleep(LONGEST_SNAPSHOT_MS, answered.signal).then((): never => {
    throw new DatabaseUnavailableError(`the database did not answer within ${LONGEST_SNAPSHOT_MS / 1000} s`);
  });
  try {
    return await Promise.race([snapshot(), late]);
  } finally {
    answered.abort();
  }
}

/** The readiness; `current` is undefined if the database is down or slow. */
async function judged(options: ServerOptions) {
  const judgement = await promptly(options).then(
    (current) => ({ current, readiness: inSentences(current).readiness }),
    (error: unknown) => ({ current: undefined, readiness: { ready: false, reasons: [messageOf(error)] } }),
  );
  options.onReadiness?.(judgement.readiness.ready, judgement.readiness.reasons);
  return judgement;
}

/** A snapshot for programs, with its reasons as sentences. */
function inSentences(snapshot: Snapshot) {
  const { readiness, at } = snapshot;
  return { ...snapshot, readiness: { ready: readiness.ready, reasons: sayReasons(readiness, at) } };
}

function json(status: number, value: unknown): Reply {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
}

function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, {
    'content-type': reply.type,
    'content-length': Buffer.byteLength(reply.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...reply.headers,
  });
  response.end(request.method === 'HEAD' ? undefined : reply.body);
}

/** The page may run its own script and style, and connect to this server only. */
async function readPage(): Promise<Reply> {
  const body = await readFile(join(packageRoot, 'web', 'status.html'), 'utf8');
  const hashOf = (tag: string) => {
    const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(body)?.[1] ?? '';
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  };
  const policy = `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body,
    headers: { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' },
  };
}

/** Server-sent events: the changes of the snapshot since the last event of this client. */
async function follow({ snapshot, clock, live }: Serving, response: ServerResponse): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const gone = new AbortController();
  live.set(response, gone);
  response.once('close', () => {
    live.delete(response);
    gone.abort();
  });
  await stream({ snapshot, clock }, response, gone.signal);
}

async function stream(
  { snapshot, clock }: Pick<ServerOptions, 'snapshot' | 'clock'>,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const changes = createChanges();
  let lastSent = clock.monotonic();
  await every(clock, { pauseMs: LIVE_EVERY_MS, signal: gone }, async () => {
    const { parts, beside } = await snapshot().then(
      (current) => ({ parts: shownOf(current), beside: { at: current.at } }),
      (error: unknown) => ({ parts: { error: messageOf(error) }, beside: {} }),
    );
    // A client that has left gets nothing more: writing after the end is an error.
    if (gone.aborted) return;
    const changed = changes(parts, beside);
    if (changed !== undefined) response.write(`data: ${changed}\n\n`);
    else if (clock.monotonic() - lastSent > KEEP_ALIVE_MS) response.write(': alive\n\n');
    if (changed !== undefined) lastSent = clock.monotonic();
  });
}

/** A snapshot as the page gets it. The page computes ages itself from constant times. */
function shownOf({ at, head, datasets, spending, ...others }: Snapshot): Readonly<Record<string, unknown>> {
  const moment = (seconds: number) => Math.round(at + seconds);
  return {
    ...others,
    silence: undefined,
    head: head && { ...head, age: undefined },
    datasets: datasets.map((report) => ({ ...report, lag: undefined })),
    spending: {
      ...spending,
      budgets: spending.budgets.map(({ paused, lastRefusal, ...budget }) => ({
        ...budget,
        refusedAt: lastRefusal === null ? null : moment(-lastRefusal),
        pausedUntil: paused === 0 ? null : moment(paused),
      })),
      workers: spending.workers.map(({ silent, ...worker }) => ({ ...worker, seenAt: moment(-silent) })),
    },
    error: null,
  };
}

async function bind(server: Server, listen: string): Promise<string> {
  const { hostname, port } = new URL(`http://${listen}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  await new Promise<void>((resolve, reject) => {
    // Also handles later errors, such as a connection that was closed before it was accepted.
    server.on('error', (error) =>
      reject(
        new UsageError(`the status page cannot be served at ${listen}: ${error.message}`, {
          hint: `Set ETL_LISTEN to another address such as 127.0.0.1:${port === '9465' ? 9466 : 9465}, or to off.`,
          cause: error,
        }),
      ),
    );
    server.listen(port === '' ? 80 : Number(port), host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return `http://${hostname}:${bound}`;
}

/**
 * True if a `Host` header may mean this server: an address, a name without a dot (localhost, a service of
 * compose), the machine's own name, or the name in ETL_LISTEN. Any website can point its own name here (DNS
 * rebinding) and would then read what is served. Such a name has a dot.
 */
function isOwnName(host: string | undefined, listen: string): boolean {
  const name = nameOf(host ?? '');
  if (name === undefined) return false;
  return (
    isIP(name) > 0 || !name.includes('.') || name === hostname().toLowerCase() || name === nameOf(listen)
  );
}

function nameOf(authority: string): string | undefined {
  const url = `http://${authority}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') : undefined;
}

/**
 * Lists that are sent row by row, because they are long and few of their rows change. The page knows the keys
 * of the rows.
 */
const BY_ROW: ReadonlySet<string> = new Set(['datasets', 'activity', 'spentMinutes']);

/**
 * Creates a function that returns the changes of its parts since its last call, as a JSON object: whole
 * parts, and for lists in `BY_ROW` the new and changed rows. Undefined if nothing changed. `beside` is sent
 * along with a change, but does not count as one.
 */
function createChanges(): (
  parts: Readonly<Record<string, unknown>>,
  beside: Readonly<Record<string, unknown>>,
) => string | undefined {
  const known = new Map<string, ReadonlySet<string>>();
  return (parts, beside) => {
    const changed: string[] = [];
    for (const [name, value] of Object.entries(parts)) {
      if (value === undefined) continue;
      const isList = BY_ROW.has(name) && Array.isArray(value);
      const texts = isList ? value.map((row) => JSON.stringify(row)) : [JSON.stringify(value)];
      const before = known.get(name);
      const changedTexts = texts.filter((text) => before?.has(text) !== true);
      known.set(name, new Set(texts));
      if (before !== undefined && changedTexts.length === 0) continue;
      changed.push(`${JSON.stringify(name)}:${isList ? `[${changedTexts.join()}]` : changedTexts.join()}`);
    }
    const also = Object.entries(beside).map(
      ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
    );
    return changed.length === 0 ? undefined : `{${[...also, ...changed].join()}}`;
  };
}
