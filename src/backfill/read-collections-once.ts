import { readCollections } from '../crawl/collections/read-collections.ts';
import type { RunContext } from '../crawl/collections/walk-context.ts';
import type { Collection } from '../dataset/dataset.ts';
import { IncompleteError } from '../errors.ts';
import { outlast } from '../retry.ts';

export interface CollectionsRead {
  /** Names of those that the API refused. */
  readonly refused: readonly string[];
  /** Why it ended before it was done, such as a cap on requests. */
  readonly stoppedBy: IncompleteError | undefined;
  /** True where every collection was read to its end. */
  readonly isWhole: boolean;
}

/** Reads each collection once, with the budget that a backfill has and whatever pace it allows. */
export async function readCollectionsOnce(
  options: Omit<RunContext, 'priority' | 'pace'>,
  collections: readonly Collection[],
): Promise<CollectionsRead> {
  const { context, stop } = options;
  const run: RunContext = { ...options, priority: 'backfill', pace: () => Promise.resolve() };
  try {
    const waiting = { ...context, signal: stop.finishing };
    const refused = await outlast(waiting, 'the collections', () => readCollections(run, collections));
    const isWhole = refused?.length === 0 && !stop.finishing.aborted;
    return { refused: refused ?? [], stoppedBy: undefined, isWhole };
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    return { refused: [], stoppedBy: error, isWhole: false };
  }
}
