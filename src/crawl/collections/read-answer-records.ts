import type { AnswerReading } from '../../dataset/walk.ts';
import type { Answer } from './ask.ts';
import type { WalkContext } from './walk-context.ts';

/** Reads an answer's records as the walk says. `key`: what was asked for; `first`: the rank of the first record. */
export function readAnswerRecords(
  walkContext: WalkContext,
  answer: Answer,
  key: string,
  first = 0,
): AnswerReading {
  const at = new Date(walkContext.context.clock.now()).toISOString();
  return walkContext.walk.read(answer.value.records, { at, key }, first);
}
