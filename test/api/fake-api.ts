import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createApiClient, type ApiClient, type ApiClientOptions } from '../../src/api/client.ts';
import { createInFlight, type Budget } from '../../src/budget/request-budget.ts';
import { systemClock } from '../../src/clock.ts';

export type HttpResponse = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A real HTTP server with the test's responses: the nth request gets the nth response, later requests the last one. */
export interface FakeApi {
  readonly baseUrl: string;
  readonly seen: Seen[];
  readonly log: Record<string, unknown>[];
  answer(...answers: HttpResponse[]): void;
  client(options?: Partial<ApiClientOptions>): ApiClient;
  close(): Promise<void>;
}

export async function startFakeApi(): Promise<FakeApi> {
  const seen: Seen[] = [];
  const log: Record<string, unknown>[] = [];
  const clients: ApiClient[] = [];
  let answers: HttpResponse[] = [];
  const server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      const answer = answers[Math.min(seen.length, answers.length) - 1];
      if (answer === undefined) throw new Error('the test gave no answer');
      answer(request, response, body);
    });
  });
  await listening(server);
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl,
    seen,
    log,
    answer: (...given) => {
      answers = given;
      seen.length = 0;
      log.length = 0;
    },
    client: (options = {}) => {
      const client = createApiClient({
        baseUrl,
        budget: freeBudget(),
        inFlight: createInFlight({ rps: 1000, clock: systemClock }),
        clock: systemClock,
        random: () => 0,
        attempts: 6,
        logger: pino(
          { level: 'debug' },
          { write: (line: string) => log.push(JSON.parse(line) as Record<string, unknown>) },
        ),
        ...options,
      });
      clients.push(client);
      return client;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
}

/** A budget without a limit that remembers what was reported to it. */
export function freeBudget(): Budget & { readonly reported: (string | number | undefined)[]; taken: number } {
  const reported: (string | number | undefined)[] = [];
  const budget = {
    reported,
    taken: 0,
    take: () => {
      budget.taken += 1;
      return Promise.resolve();
    },
    refused: (retryAfterMs: number | undefined) => void reported.push(retryAfterMs),
    succeeded: () => void reported.push('ok'),
  };
  return budget;
}

/** Responds with JSON. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): HttpResponse {
  return text(JSON.stringify(value), status, { 'content-type': 'application/json', ...headers });
}

export function text(
  body: string | Buffer,
  status = 200,
  headers: Record<string, string> = {},
): HttpResponse {
  return (_request, response) => {
    response.writeHead(status, { 'content-length': String(Buffer.byteLength(body)), ...headers });
    response.end(body);
  };
}

/** The error that a promise was rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a rejection');
}
