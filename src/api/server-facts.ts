import type { Clock } from '../clock.ts';
import type { Params } from '../dataset/paginator.ts';
import { LimitRefusedError, NoEndpointError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { HOUR } from '../range.ts';

/** An endpoint that the server lacks is asked for again after so long: somebody may have put another build there. */
const ABSENT_MS = 1000 * HOUR;

/** What the server has said of itself: which endpoints it lacks, and how many rows a page of it may have. */
export interface ApiFacts {
  /** True where the server said within the last hour that it lacks the endpoint. */
  lacks(path: string): boolean;
  /** @throws NoEndpointError where the server said within the last hour that it lacks the endpoint */
  requireEndpoint(path: string): void;
  /** The largest limit that the server takes where `limit` is wanted. */
  withinLimit(limit: Params[string]): Params[string];
  /** True where the error says what would pass. */
  learn(path: string, error: unknown): boolean;
}

export function createServerFacts(clock: Pick<Clock, 'monotonic'>, logger: Logger): ApiFacts {
  const absent = new Map<string, { readonly error: NoEndpointError; readonly until: number }>();
  let most = Infinity;
  const knownAbsent = (path: string) => {
    const known = absent.get(path);
    return known !== undefined && clock.monotonic() < known.until ? known.error : undefined;
  };
  return {
    lacks: (path) => knownAbsent(path) !== undefined,
    requireEndpoint(path) {
      const error = knownAbsent(path);
      if (error !== undefined) throw error;
    },
    withinLimit: (limit) => (typeof limit === 'number' ? Math.min(limit, most) : limit),
    learn(path, error) {
      if (error instanceof NoEndpointError) {
        absent.set(path, { error, until: clock.monotonic() + ABSENT_MS });
        logger.warn(
          { path, reason: error.message },
          'the server has no such endpoint: it is not asked again',
        );
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
