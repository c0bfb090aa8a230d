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

/** What people ask for by name, and which comes as a part of datasets, or is deliberately not read. */
const NOT_DATASETS: ReadonlyMap<string, string> = new Map([
  [
    'messages',
    'they come with "transactions" and "traces" into the table messages. The API\'s own list of messages cannot be ' +
      'read by time whole: messages from outside the chain have no time of creation',
  ],
  ['events', 'its endpoint is the deprecated twin of "traces", which holds the same'],
  [
    'pending',
    'what is pending vanishes or becomes a finished trace, so it is never stored; "traces" and "transactions" hold what became of it',
  ],
]);

function unknown(word: string, available: readonly Dataset[]): UsageError {
  const reason = NOT_DATASETS.get(/^pending/i.test(word) ? 'pending' : word.toLowerCase());
  if (reason !== undefined) {
    return new UsageError(`"${word}" is no dataset of its own: ${reason}`, {
      hint: `Datasets are ${available.map(({ name }) => name).join(', ')}.`,
    });
  }
  const names = available.map(({ name }) => name);
  const [nearest] = [...names, 'core', 'all'].sort((a, b) => distance(word, a) - distance(word, b));
  return new UsageError(`there is no dataset "${word}": did you mean "${nearest ?? ''}"?`, {
    hint: `Datasets are ${names.join(', ')}; core and all name groups of them.`,
  });
}
