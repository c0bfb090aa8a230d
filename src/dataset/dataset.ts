import { UsageError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import type { CollectionJob } from './collection.ts';
import type { Job } from './job.ts';

/** A job and its name, which is the name of its file in `jobs/`. By default a stream of time. */
export interface Dataset<J extends AnyJob = Job> {
  readonly name: string;
  readonly job: J;
}

/** Every kind of job: a stream of time, or a collection with its walks. */
export type AnyJob = Job | CollectionJob;

export type Collection = Dataset<CollectionJob>;

/** True if a collection cannot be read without a range of time. */
export function needsRange({ job }: Collection): boolean {
  return job.walks.every(
    (walk) => walk.kind === 'per_block' || (walk.kind === 'lookup' && walk.subjects.ofRange === true),
  );
}

/** The collections whose records come with the responses of other collections. */
export function piggybackedCollections(collections: readonly Collection[]): Collection[] {
  return collections.filter(({ job }) => job.piggybackedAs !== undefined);
}

/** A dataset whose rows come with the pages of another one. */
export interface AlsoHeld {
  readonly dataset: Dataset;
  readonly holder: Dataset;
  readonly countedBy: Dataset;
}

/** The datasets whose rows come with the pages of another one of them, and are counted by a third one. */
export function alsoHeldAmong(datasets: readonly Dataset[]): AlsoHeld[] {
  const named = (name: string | undefined) => datasets.find((one) => one.name === name);
  return datasets.flatMap((holder) => {
    const { alsoHolds } = holder.job;
    const [dataset, countedBy] = [named(alsoHolds?.dataset), named(alsoHolds?.countedBy)];
    return dataset === undefined || countedBy === undefined ? [] : [{ dataset, holder, countedBy }];
  });
}

/** Separates the two kinds, each in its order. */
export function splitKinds(datasets: readonly Dataset<AnyJob>[]): {
  readonly streams: Dataset[];
  readonly collections: Collection[];
} {
  return {
    streams: datasets.flatMap(({ name, job }) => (job.kind === 'stream' ? [{ name, job }] : [])),
    collections: datasets.flatMap(({ name, job }) => (job.kind === 'collection' ? [{ name, job }] : [])),
  };
}

/**
 * The datasets that words such as `blocks`, `core` or `all` choose, each once, in the order of `available`.
 * @throws UsageError for an unknown name, with the nearest known one
 */
export function chooseDatasets<J extends AnyJob>(
  words: readonly string[],
  available: readonly Dataset<J>[],
): Dataset<J>[] {
  const chosen = new Set<string>();
  for (const word of words) {
    const datasets = byWord(word, available);
    if (datasets.length === 0)
      throw unknown(
        word,
        available.map(({ name }) => name),
      );
    for (const { name } of datasets) chosen.add(name);
  }
  return available.filter(({ name }) => chosen.has(name));
}

function byWord<J extends AnyJob>(word: string, available: readonly Dataset<J>[]): readonly Dataset<J>[] {
  if (word === 'all') return available.filter(({ job }) => job.kind === 'stream' || !job.onRequest);
  if (word === 'core') return available.filter(({ job }) => job.core);
  return available.filter(({ name }) => name === word);
}

/** Names that people may try, but that are a part of other datasets or deliberately not read. */
const NOT_DATASETS: ReadonlyMap<string, string> = new Map([
  [
    'messages',
    '"transactions" and "traces" fill the table messages. The API\'s own list of messages cannot be ' +
      'read completely by time: messages from outside the chain have no time of creation',
  ],
  ['events', 'its endpoint is the deprecated alias of "traces", which holds the same'],
  [
    'pending',
    'a pending trace vanishes or finishes, so it is never stored; "traces" and "transactions" hold the result',
  ],
]);

/** Groups of datasets, which can be used like names. */
const GROUPS = ['core', 'all'];

/** The error for a word that chooses no dataset; undefined if it chooses one. */
export function faultOfName(word: string, names: readonly string[]): UsageError | undefined {
  return GROUPS.includes(word) || names.includes(word) ? undefined : unknown(word, names);
}

function unknown(word: string, names: readonly string[]): UsageError {
  const reason = NOT_DATASETS.get(/^pending/i.test(word) ? 'pending' : word.toLowerCase());
  if (reason !== undefined) {
    return new UsageError(`"${word}" is not a dataset of its own: ${reason}`, {
      hint: `Datasets are ${names.join(', ')}.`,
    });
  }
  return new UsageError(`there is no dataset "${word}"${didYouMean(word, [...names, ...GROUPS])}`, {
    hint: `Datasets are ${names.join(', ')}; core and all name groups of them.`,
  });
}
