import { alsoOnPage } from '../crawl/crawl-context.ts';
import { readCollections } from '../crawl/collections/read-collections.ts';
import { noTurns, type RunContext } from '../crawl/collections/walk-context.ts';
import type { Collection } from '../dataset/dataset.ts';
import { IncompleteError } from '../errors.ts';
import type { Range } from '../range.ts';
import { outlast } from '../retry.ts';

export interface CollectionsRead {
  /** Names of the collections that the API refused. */
  readonly refused: readonly string[];
  /** Endpoints that the server does not have, by dataset. */
  readonly absent: ReadonlyMap<string, string>;
  /** Why it ended early, such as a cap on requests. */
  readonly stoppedBy: IncompleteError | undefined;
  /** True if every collection was read to its end. */
  readonly isWhole: boolean;
}

/** Reads each collection once, as fast as the budget of a backfill allows. */
export async function readCollectionsOnce(
  options: Omit<RunContext, 'priority' | 'turns' | 'range'> & {
    readonly range: Range | undefined;
    readonly named?: ReadonlySet<string>;
  },
  collections: readonly Collection[],
): Promise<CollectionsRead> {
  const { context, stop, range } = options;
  const run: RunContext = { ...options, range: () => range, priority: 'backfill', turns: noTurns };
  try {
    const waiting = { ...context, signal: stop.finishing };
    const absent = new Map<string, string>();
    const failed = await outlast(waiting, 'the collections', (onAnswer) =>
      readCollections({ ...run, context: alsoOnPage(context, onAnswer) }, collections, absent),
    );
    for (const name of options.named ?? []) absent.delete(name);
    const refused = (failed ?? []).filter((name) => !absent.has(name));
    const isWhole = failed !== undefined && refused.length === 0 && !stop.finishing.aborted;
    return { refused, absent, stoppedBy: undefined, isWhole };
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    return { refused: [], absent: new Map(), stoppedBy: error, isWhole: false };
  }
}
