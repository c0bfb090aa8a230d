import * as z from 'zod';
import type { Walk, SampleWalk } from '../../dataset/walk.ts';
import type { Collection } from '../../dataset/dataset.ts';
import { commitCursor } from '../../write/commit.ts';
import { HOLD_SECONDS, keepAlive } from '../../ledger/holds.ts';
import { claimCursor, renewClaim, releaseClaim } from '../../ledger/stored-cursors.ts';
import { NoEndpointError, NotServedError, type EtlError } from '../../errors.ts';
import { levelOf, readUnlessRefused } from '../failure-policy.ts';
import { walkBackward } from './walk-backward.ts';
import { isOver, type RunContext, type WalkContext, nowOf } from './walk-context.ts';
import { walkList } from './walk-list.ts';
import { walkLookup } from './walk-lookup.ts';
import { walkBlocks } from './walk-per-block.ts';
import { ask, readResponseRecords, writeResponse } from './walk-responses.ts';

/**
 * Reads each collection once, one after the other. Walks that look up rows of other collections run a second
 * time, because those tables may have been empty the first time. Returns the names of the collections that
 * the API refused. `absent` gets those that failed only because the server lacks the endpoint.
 */
export async function readCollections(
  run: RunContext,
  collections: readonly Collection[],
  absent = new Map<string, string>(),
): Promise<readonly string[]> {
  const walks = collections.flatMap((dataset) => dataset.job.walks.map((walk) => ({ dataset, walk })));
  const again = walks.filter(({ walk }) => looksIntoCollections(walk));
  const [failed, refused] = [new Set<string>(), new Set<string>()];
  for (const { dataset, walk } of [...walks, ...again]) {
    if (isOver(run)) break;
    const failure = await readWalk(run, dataset, walk);
    if (failure === undefined) continue;
    failed.add(dataset.name);
    if (failure instanceof NoEndpointError) absent.set(dataset.name, pathOf(walk));
    else refused.add(dataset.name);
  }
  for (const name of refused) absent.delete(name);
  return [...failed];
}

function pathOf({ endpoint }: Walk): string {
  return 'path' in endpoint ? endpoint.path : `/api/v2/${endpoint.method}`;
}

function looksIntoCollections(walk: Walk): boolean {
  return walk.kind === 'lookup' && walk.subjects.seenIn.some(({ time }) => time === 'loaded_at');
}

/** Reads one walk. Returns and logs the error if the API refuses this walk for good; the other walks continue. */
export async function readWalk(
  run: RunContext,
  dataset: Collection,
  walk: Walk,
): Promise<EtlError | undefined> {
  const { logger } = run.context;
  const stream = { dataset: dataset.name, scope: walk.name, pass: 0 };
  const policy = { context: run.context, stream, stop: run.stop };
  const failure = await readUnlessRefused(policy, async () => {
    const unserved = await claimAndWalk(run, dataset, walk);
    if (unserved !== undefined) throw unserved;
  });
  if (failure === undefined) return undefined;
  logger[levelOf(failure)](
    { dataset: dataset.name, walk: walk.name, code: failure.code, reason: failure.message },
    failure instanceof NotServedError
      ? 'collection crawl incomplete: the server failed for a part'
      : 'collection crawl postponed',
  );
  return failure;
}

/** Claims the walk's cursor, walks, and releases it. Does nothing if another worker holds the cursor. */
async function claimAndWalk(
  run: RunContext,
  dataset: Collection,
  walk: Walk,
): Promise<NotServedError | undefined> {
  const { database } = run.context;
  const claim = { dataset: dataset.name, scope: walk.name, owner: run.owner };
  const claimed = await claimCursor(database, claim);
  if (claimed === undefined) return undefined;
  const renew = () => renewClaim(database, claim);
  const stopRenewing = keepAlive(run.context, {
    what: `a claim of ${dataset.name}`,
    heldSeconds: HOLD_SECONDS,
    renew,
  });
  const network = run.context.network.begin();
  const keep: WalkContext['keep'] = async (cursor, learned) => {
    await network.confirm();
    return commitCursor(database, claim, cursor, learned);
  };
  try {
    return await dispatch({ ...run, dataset, claim, network, keep, stored: claimed.cursor }, walk);
  } finally {
    stopRenewing();
    await releaseClaim(database, claim).catch(() => undefined);
  }
}

async function dispatch(
  walkContext: Omit<WalkContext, 'walk'>,
  walk: Walk,
): Promise<NotServedError | undefined> {
  switch (walk.kind) {
    case 'list':
      return walkList({ ...walkContext, walk });
    case 'lookup':
      return walkLookup({ ...walkContext, walk });
    case 'backward':
      return walkBackward({ ...walkContext, walk });
    case 'per_block':
      return walkBlocks({ ...walkContext, walk });
    case 'sample':
      await walkSample({ ...walkContext, walk });
      return undefined;
  }
}

const Cursor = z.object({ taken: z.number() });

/** Takes one sample if the last one is old enough. */
async function walkSample(walkContext: WalkContext<SampleWalk>): Promise<void> {
  const now = nowOf(walkContext);
  const stored = Cursor.safeParse(walkContext.stored).data;
  if (stored !== undefined && now - stored.taken < walkContext.walk.everySeconds) return;
  const response = await ask(walkContext, {});
  await writeResponse(walkContext, {
    response,
    reading: readResponseRecords(walkContext, response, ''),
    cursor: { taken: now },
  });
}
