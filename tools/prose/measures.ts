import type { Sentence } from './sentences.ts';

/**
 * A word that asks for a place, or is one, before "where": "knows where the page ends". Any other "where"
 * counts as a condition, for which the word is "if".
 */
const PLACE =
  /\b(?:and|or|at|from|of|is|to|than|place|places|point|spot|position|line|page|file|folder|directory|database|server|host|know|knows|say|says|said|tell|tells|show|shows|see|find|finds|remember|remembers|decide|decides|note|notes|exactly)\W*$/i;

/** What is counted in a sentence. */
const COUNTS = {
  if: (text) => /\bif\b/i.test(text),
  where: (text) => isCondition(text),
  whoever: (text) => /\b(?:whoever|whomever|nobody|somebody|someone)\b/i.test(text),
  others: (text) => /\bothers\b/i.test(text),
  long: (text) => wordsOf(text) > 30,
} satisfies Record<string, (text: string) => boolean>;

export type Count = keyof typeof COUNTS;

/** Per 1,000 sentences; but the mean of words, and the number of sentences with more than 30 words. */
export interface Measures extends Record<Count, number> {
  readonly sentences: number;
  readonly words: number;
}

export function measure(sentences: readonly Sentence[]): Measures {
  const total = Math.max(1, sentences.length);
  const share = (count: Count) => round((1000 * select(sentences, count).length) / total);
  return {
    sentences: sentences.length,
    if: share('if'),
    where: share('where'),
    whoever: share('whoever'),
    others: share('others'),
    words: round(sentences.reduce((sum, one) => sum + wordsOf(one.text), 0) / total),
    long: select(sentences, 'long').length,
  };
}

export function select(sentences: readonly Sentence[], count: Count): Sentence[] {
  return sentences.filter((one) => COUNTS[count](one.text));
}

export function wordsOf(text: string): number {
  return text.split(' ').length;
}

/** Whether a "where" of the sentence is a condition. It is none in a question, or after a word that asks for a place. */
function isCondition(text: string): boolean {
  const befores = text.split(/\bwhere\b/i).slice(0, -1);
  return !text.endsWith('?') && befores.some((before) => !PLACE.test(before));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
