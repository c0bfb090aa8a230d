import { UsageError } from '../errors.ts';
import { parseDuration } from '../range.ts';

/** What is kept, and where it goes. */
export interface Retention {
  /** For which each dataset is kept; one that is not named is kept for ever. */
  readonly seconds: ReadonlyMap<string, number>;
  /** True: only what the lake has been proved to have is dropped. */
  readonly isInLake: boolean;
}

/**
 * Reads words such as `transactions:90d` and `lake`.
 * @throws UsageError
 */
export function parseRetention(all: readonly string[]): Retention {
  const kept = all.filter((word) => word !== 'lake').map(parseKept);
  return { seconds: new Map(kept), isInLake: all.includes('lake') };
}

/** A dataset and the seconds for which it is kept, of `transactions:90d`. */
function parseKept(text: string): [string, number] {
  const [dataset, duration, ...rest] = text.split(':');
  if (dataset === undefined || duration === undefined || rest.length > 0)
    throw new UsageError('write it like transactions:90d,blocks:90d');
  return [dataset, parseDuration(duration)];
}
