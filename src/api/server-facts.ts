import type { Clock } from '../clock.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import { LimitRefusedError, NoEndpointError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** An endpoint that never answered is asked for again after a minute, then twice as late each time, at most an hour. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 60 * FIRST_PAUSE_MS;
/** One that has answered is believed to be gone when nothing else was said of it for so long: one of several servers may lack it. */
const GONE_MS = 10 * 60_000;

/** What the server has said of itself: which endpoints it lacks, and how many rows a page of it may have. */
export interface ApiFacts {
  /** True where the server lacks the endpoint, as far as it is known, and it is not asked for again yet. */
  lacks(path: string): boolean;
  /** @throws NoEndpointError where `lacks` is true */
  requireEndpoint(path: string): void;
  /** Forgets when an endpoint is to be asked for again. */
  recheck(path: string): void;
  /** The endpoint has answered. */
  answered(path: string): void;
  /** True where the endpoint has answered and may do so again: that it is not there is a failure as any other. */
  mayAnswer(path: string): boolean;
  /** The largest limit that the server takes where `limit` is wanted. */
  withinLimit(limit: Params[string]): Params[string];
  /** True where the error says what would pass. */
  learn(path: string, error: unknown): boolean;
}

/** What is known of one endpoint. */
interface Endpoint {
  hasAnswered: boolean;
  /** When the server first said that it lacks the endpoint, since the endpoint last answered. */
  lackingSince: number | undefined;
  error: NoEndpointError | undefined;
  /** Until then it is not asked for. */
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
        // Said once, until it has answered again.
        const level = endpoint.error === undefined ? 'warn' : 'debug';
        endpoint.error = error;
        endpoint.until = clock.monotonic() + endpoint.pauseMs;
        logger[level](
          { path, reason: error.message, pauseMs: endpoint.pauseMs },
          'the server has no such endpoint: it is asked for again after a pause',
        );
        endpoint.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * endpoint.pauseMs);
        return false;
      }
      if (!(error instanceof LimitRefusedError) || error.most < 1 || error.most >= most) return false;
      most = error.most;
      logger.warn(
        { path, rows: most },
        'the server gives fewer rows a page than are asked for: less is asked for',
      );
      return true;
    },
  };
}
