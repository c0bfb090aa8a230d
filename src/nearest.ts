import { closest, distance } from 'fastest-levenshtein';

/**
 * The name that an unknown word probably means: one that differs in few letters, or the shortest one that contains
 * the word. Undefined if no name is similar, because a wrong guess would not help.
 */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const near = closest(word, names);
  const most = word.length < 5 ? 1 : Math.max(2, word.length / 3);
  if (distance(word, near) <= most) return near;
  if (word.length < 3) return undefined;
  return names.filter((name) => name.includes(word)).sort((a, b) => a.length - b.length)[0];
}

/** `: did you mean "transactions"?`, or the empty string. */
export function didYouMean(word: string, names: readonly string[]): string {
  const near = nearestName(word, names);
  return near === undefined ? '' : `: did you mean "${near}"?`;
}
