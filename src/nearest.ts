import { closest, distance } from 'fastest-levenshtein';

/**
 * The name that is probably meant by a word which is none: one that differs in few letters, or one that holds the word.
 * Undefined where the word shares little with any, because a wrong guess helps nobody.
 */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const near = closest(word, names);
  if (distance(word, near) <= Math.max(2, word.length / 3)) return near;
  return word.length < 3 ? undefined : names.find((name) => name.includes(word));
}

/** `: did you mean "transactions"?`, or nothing. */
export function didYouMean(word: string, names: readonly string[]): string {
  const near = nearestName(word, names);
  return near === undefined ? '' : `: did you mean "${near}"?`;
}
