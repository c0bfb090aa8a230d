import type { ResponseReading } from '../../dataset/walk.ts';
import type { WalkResponse } from './ask.ts';
import type { WalkContext } from './walk-context.ts';

/**
 * Reads a response's records by the walk's rules. `key`: the subject that was asked for; `first`: the rank of
 * the first record.
 */
export function readResponseRecords(
  walkContext: WalkContext,
  response: WalkResponse,
  key: string,
  first = 0,
): ResponseReading {
  const at = new Date(walkContext.context.clock.now()).toISOString();
  return walkContext.walk.read(response.value.records, { at, key }, first);
}
