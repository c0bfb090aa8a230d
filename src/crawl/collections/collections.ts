import type { Walk } from '../../dataset/walk.ts';
import type { Collection } from '../../dataset/dataset.ts';
import { commitCursor } from '../../db/write/commit-answer.ts';
import { CLAIM_SECONDS, claimCursor, prolongClaim, releaseClaim } from '../../db/cursors/cursors.ts';
import { recordFailure } from '../../db/coverage/failures.ts';
import { EtlError, EXIT, IncompleteError, LeaseLostError } from '../../errors.ts';
import { ANSWERED_WRONGLY } from '../streams/worker-pool.ts';
import { walkBackward } from './backward.ts';
import { isOver, type Errand, type Round } from './walk-context.ts';
import { walkList } from './list.ts';
import { walkLookup } from './lookup.ts';
import { walkBlocks } from './per-block.ts';
import { walkSample } from './sample.ts';

/** The collections whose records come with the answers of others. */
export function carriedBy(collections: readonly Collection[]): Collection[] {
  return collections.filter(({ job }) => job.piggybackedAs !== undefined);
}

/**
 * Reads each collection once, one after the other; what is looked up in the tables of collections once more, for some of
 * them were filled only after it was read. The names of those that the API refused.
 */
export async function readCollections(
  round: Round,
  collections: readonly Collection[],
): Promise<readonly string[]> {
  const walks = collections.flatMap((dataset) => dataset.job.walks.map((walk) => ({ dataset, walk })));
  const again = walks.filter(({ walk }) => looksIntoCollections(walk));
  const failed = new Set<string>();
  for (const { dataset, walk } of [...walks, ...again]) {
    if (isOver(round)) break;
    if (!(await tryWalk(round, dataset, walk))) failed.add(dataset.name);
  }
  return [...failed];
}

function looksIntoCollections(walk: Walk): boolean {
  return walk.kind === 'lookup' && walk.subjects.seenIn.some(({ time }) => time === 'loaded_at');
}

/** False where the API refuses this walk: it is told, and the others go on. An API that is away is thrown. */
async function tryWalk(round: Round, dataset: Collection, walk: Walk): Promise<boolean> {
  const { context } = round;
  try {
    await takeWalk(round, dataset, walk);
    return true;
  } catch (error) {
    if (isOver(round)) return true;
    if (!(error instanceof EtlError)) throw error;
    if (error instanceof LeaseLostError) return true;
    if (error instanceof IncompleteError) throw error;
    const stream = { dataset: dataset.name, scope: '', pass: 0 };
    await recordFailure(context.database, stream, error).catch(() => undefined);
    const isAway = error.retryable && !ANSWERED_WRONGLY.has(error.code);
    if (isAway || error.exitCode === EXIT.usage) throw error;
    const fields = { dataset: dataset.name, walk: walk.name, code: error.code, reason: error.message };
    context.logger.error(fields, 'walk given up for now');
    return false;
  }
}

/** Claims the walk's cursor, walks, and gives it back; nothing where another worker has it. */
async function takeWalk(round: Round, dataset: Collection, walk: Walk): Promise<void> {
  const { context, owner } = round;
  const { database } = context;
  const claim = { dataset: dataset.name, scope: walk.name, owner };
  const claimed = await claimCursor(database, claim);
  if (claimed === undefined) return;
  const heartbeat = setInterval(
    () => void prolongClaim(database, claim).catch(() => undefined),
    (CLAIM_SECONDS * 1000) / 3,
  );
  const keep: Errand['keep'] = (cursor, outcomes) => commitCursor(database, claim, cursor, outcomes);
  try {
    await dispatch({ ...round, dataset, claim, keep, stored: claimed.cursor }, walk);
  } finally {
    clearInterval(heartbeat);
    await releaseClaim(database, claim).catch(() => undefined);
  }
}

function dispatch(errand: Omit<Errand, 'walk'>, walk: Walk): Promise<void> {
  switch (walk.kind) {
    case 'list':
      return walkList({ ...errand, walk });
    case 'lookup':
      return walkLookup({ ...errand, walk });
    case 'backward':
      return walkBackward({ ...errand, walk });
    case 'per_block':
      return walkBlocks({ ...errand, walk });
    case 'sample':
      return walkSample({ ...errand, walk });
  }
}
