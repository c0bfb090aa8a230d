import { distance } from 'fastest-levenshtein';
import { UsageError } from './errors.ts';
import type { Job } from './job.ts';

/** A job and its name: the name of its file in `jobs/`. */
export interface Dataset {
  readonly name: string;
  readonly job: Job;
}

/**
 * The datasets that words such as `blocks`, `core` or `all` choose, each once, in the order of `available`.
 * @throws UsageError for a name that does not exist, with the nearest one that does
 */
export function chooseDatasets(words: readonly string[], available: readonly Dataset[]): Dataset[] {
  const chosen = new Set<string>();
  for (const word of words) {
    const datasets = byWord(word, available);
    if (datasets.length === 0) throw unknown(word, available);
    for (const { name } of datasets) chosen.add(name);
  }
  return available.filter(({ name }) => chosen.has(name));
}

function byWord(word: string, available: readonly Dataset[]): readonly Dataset[] {
  if (word === 'all') return available;
  if (word === 'core') return available.filter(({ job }) => job.core);
  return available.filter(({ name }) => name === word);
}

function unknown(word: string, available: readonly Dataset[]): UsageError {
  const names = available.map(({ name }) => name);
  const [nearest] = [...names, 'core', 'all'].sort((a, b) => distance(word, a) - distance(word, b));
  return new UsageError(`there is no dataset "${word}": did you mean "${nearest ?? ''}"?`, {
    hint: `Datasets are ${names.join(', ')}; core and all name groups of them.`,
  });
}
