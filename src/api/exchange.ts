import { type Priority, PRIORITIES } from '../budget/priority.ts';
import type { Clock } from '../clock.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import { LimitRefusedError, NoEndpointError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** An answered request and its response. */
export interface Exchange<T> {
  readonly value: T;
  /** The request as it was sent. The key is in a header and never part of it. */
  readonly request: {
    readonly path: string;
    readonly query: string;
    /** The number of rows that it requested, if given: at most the server's limit. */
    readonly limit: number | undefined;
  };
  readonly status: number;
  /** Bytes of the body on the wire, mostly compressed. */
  readonly bytes: number;
  /** From the send of the last attempt to the end of its decoded body, without the waits for a memory slot. */
  readonly ms: number;
  /** Attempts made, at least 1. */
  readonly attempts: number;
  /** The server's `X-API-Version`: the answers of 1.2.x and 1.3.x differ. */
  readonly apiVersion: string | undefined;
}

/** The facts of an exchange that the log of pages stores. */
export function loggedOf({ request, bytes, ms, apiVersion }: Exchange<unknown>) {
  return { request: `${request.path}?${request.query}`, bytes, ms, apiVersion };
}

/** One attempt that got a response, of any status: for logs and metrics. */
export interface Attempt {
  readonly path: string;
  readonly priority: Priority;
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  /** 1 for the first. */
  readonly attempt: number;
}

/** What was sent and received since the client was created. */
interface Counters {
  /** Attempts that were sent; the server counts each of them. */
  readonly requests: number;
  /** Attempts that were refused because of the rate (429). */
  readonly refused: number;
  /** Attempts that followed a failed attempt of the same request. */
  readonly retries: number;
  /** Bytes of bodies on the wire, mostly compressed. */
  readonly bytes: number;
}

/** The counters in total and by priority; live, not a copy. */
export interface Stats extends Counters {
  readonly byPriority: Readonly<Record<Priority, Counters>>;
}

/** The writing side of `Stats`. */
export interface CountingStats {
  readonly stats: Stats;
  readonly add: (priority: Priority, counter: keyof Counters, by: number) => void;
}

export function createStats(): CountingStats {
  const byPriority = { tail: zero(), repair: zero(), backfill: zero(), refresh: zero() } satisfies Record<
    Priority,
    Counters
  >;
  const sum = (counter: keyof Counters) =>
    PRIORITIES.reduce((total, priority) => total + byPriority[priority][counter], 0);
  return {
    stats: {
      byPriority,
      get requests() {
        return sum('requests');
      },
      get refused() {
        return sum('refused');
      },
      get retries() {
        return sum('retries');
      },
      get bytes() {
        return sum('bytes');
      },
    },
    add: (priority, counter, by) => {
      byPriority[priority][counter] += by;
    },
  };
}

function zero() {
  return { requests: 0, refused: 0, retries: 0, bytes: 0 };
}

/** An endpoint that never answered is retried after a minute, then after twice as long each time, at most an hour. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 60 * FIRST_PAUSE_MS;
/**
 * An endpoint that has answered counts as gone if it is reported missing for this long: one of several
 * servers may lack it.
 */
const GONE_MS = 10 * 60_000;

/** What the server has revealed about itself: the endpoints that it lacks, and the largest limit. */
export interface ApiFacts {
  /** True if the server is known to lack the endpoint, and the pause before the next request is not over. */
  lacks(path: string): boolean;
  /** @throws NoEndpointError if `lacks` is true */
  requireEndpoint(path: string): void;
  /** Ends the pause of an endpoint. */
  recheck(path: string): void;
  /** Notes that the endpoint has answered. */
  answered(path: string): void;
  /**
   * True if the endpoint has answered and may do so again. Then a report that it is missing counts as an
   * ordinary failure.
   */
  mayAnswer(path: string): boolean;
  /** The largest limit that the server accepts, up to `limit`. */
  withinLimit(limit: Params[string]): Params[string];
  /** True if the error names a limit that the server accepts. */
  learn(path: string, error: unknown): boolean;
}

/** The state of one endpoint. */
interface Endpoint {
  hasAnswered: boolean;
  /** When the server first reported the endpoint missing since it last answered. */
  lackingSince: number | undefined;
  error: NoEndpointError | undefined;
  /** No request is sent before this time. */
  until: number;
  pauseMs: number;
}

const UNKNOWN: Endpoint = {
  hasAnswered: false,
  lackingSince: undefined,
  error: undefined,
  until: -Infinity,
  pauseMs: FIRST_PAUSE_MS,
};

export function createServerFacts(clock: Pick<Clock, 'monotonic'>, logger: Logger): ApiFacts {
  const endpoints = new Map<string, Endpoint>();
  let most = Infinity;
  const known = (path: string): Endpoint => {
    const endpoint = endpoints.get(path) ?? { ...UNKNOWN };
    endpoints.set(path, endpoint);
    return endpoint;
  };
  const absence = (path: string) => {
    const { error, until } = known(path);
    return clock.monotonic() < until ? error : undefined;
  };
  return {
    lacks: (path) => absence(path) !== undefined,
    requireEndpoint(path) {
      const error = absence(path);
      if (error !== undefined) throw error;
    },
    recheck: (path) => void (known(path).until = -Infinity),
    answered: (path) => void endpoints.set(path, { ...UNKNOWN, hasAnswered: true }),
    mayAnswer(path) {
      const endpoint = known(path);
      endpoint.lackingSince ??= clock.monotonic();
      return endpoint.hasAnswered && clock.monotonic() - endpoint.lackingSince < GONE_MS;
    },
    withinLimit: (limit) => (typeof limit === 'number' ? Math.min(limit, most) : limit),
    learn(path, error) {
      if (error instanceof NoEndpointError) {
        const endpoint = known(path);
        // Warns once until the endpoint answers again.
        const level = endpoint.error === undefined ? 'warn' : 'debug';
        endpoint.error = error;
        endpoint.until = clock.monotonic() + endpoint.pauseMs;
        logger[level](
          { path, reason: error.message, pauseMs: endpoint.pauseMs },
          'endpoint not found; retrying after a pause',
        );
        endpoint.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * endpoint.pauseMs);
        return false;
      }
      if (!(error instanceof LimitRefusedError) || error.most < 1 || error.most >= most) return false;
      most = error.most;
      logger.warn({ path, rows: most }, 'server limits rows per page; requesting fewer');
      return true;
    },
  };
}
