import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRateLimiter, type RateLimit } from '../../../src/simulator/http/rate-limiter.ts';

export interface Arrival {
  /** Monotonic milliseconds at which the limiter counted it. */
  readonly at: number;
  readonly refused: boolean;
  /** The path of the request. */
  readonly path: string;
}

export interface CountingServer {
  readonly url: string;
  /** Every request that was counted, in order. */
  readonly arrivals: Arrival[];
  /** The share of its limit that the server really grants. */
  grants: number;
  close(): Promise<void>;
}

/** Counts as the API does, after a random delay of up to `thereMs` on the way, and responds with `{}`. */
export async function startCountingServer(limit: RateLimit, thereMs: number): Promise<CountingServer> {
  const counting = { grants: 1 };
  const limiter = createRateLimiter(limit, () => counting.grants);
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    setTimeout(() => {
      const at = performance.now();
      const refused = limiter.admit(at) > 0;
      arrivals.push({ at, refused, path: request.url ?? '' });
      response.writeHead(refused ? 429 : 200, { 'content-type': 'application/json' }).end('{}');
    }, Math.random() * thereMs);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    get grants() {
      return counting.grants;
    },
    set grants(part) {
      counting.grants = part;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
