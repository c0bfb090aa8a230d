import * as z from 'zod';
import type { Walk, SampleWalk } from '../../dataset/collection.ts';
import type { Collection } from '../../dataset/dataset.ts';
import { commitCursor } from '../../write/commit.ts';
import { keepAlive } from '../../ledger/leases.ts';
import { readClock } from '../../postgres/database.ts';
import { claimCursor, renewClaim, releaseClaim } from '../../ledger/stored-cursors.ts';
import { NoEndpointError, NotServedError, type EtlError } from '../../errors.ts';
import { alsoOnPage } from '../crawl-context.ts';
import { levelOf, readUnlessRefused } from '../source-guard.ts';
import { walkBackward } from './walk-backward.ts';
import {
  isOver,
  nameOf,
  nowOf,
  type RunContext,
  type WalkContext,
  type WalkEnd,
  ask,
  readResponseRecords,
  writeResponse,
} from './walk-context.ts';
import { walkList, walkBlocks } from './walk-list.ts';
import { walkLookup } from './walk-lookup.ts';

/** Milliseconds between two attempts at walks that other workers hold. */
const HELD_MS = 1000;

/**
 * Reads each collection once, one walk after the other. Rows of one walk may name subjects of another one, so look-ups
 * that search collections are repeated until nothing new came. Walks that other workers hold are read after these.
 * Returns the names of the collections that the API refused. `absent` gets those that failed only because the server
 * lacks the endpoint.
 */
export async function readCollections(
  run: Omit<RunContext, 'began'>,
  collections: readonly Collection[],
  absent = new Map<string, string>(),
): Promise<readonly string[]> {
  const { database, clock, logger } = run.context;
  const walks = collections.flatMap((dataset) => dataset.job.walks.map((walk) => ({ dataset, walk })));
  const [failed, refused] = [new Set<string>(), new Set<string>()];
  let answers = 0;
  const context = alsoOnPage(run.context, () => void (answers += 1));
  const began = await readClock(database);
  let held: ReadonlySet<string> = new Set();
  const read = async ({ dataset, walk }: (typeof walks)[number]): Promise<boolean> => {
    if (isOver(run)) return true;
    const failure = await readWalk({ ...run, began, context }, dataset, walk);
    if (failure === 'held' || failure === undefined) return failure === undefined;
    failed.add(dataset.name);
    if (failure instanceof NoEndpointError) absent.set(dataset.name, pathOf(walk));
    else refused.add(dataset.name);
    return true;
  };
  for (let round = walks; round.length > 0;) {
    const [before, now] = [held, new Set<string>()];
    const earlier = answers;
    for (const one of round) if (!(await read(one))) now.add(nameOf(one));
    if (isOver(run)) break;
    held = now;
    if (!isSubset(held, before))
      logger.info({ waitingFor: [...held] }, 'waiting for other workers that read these collections');
    if (held.size > 0) await clock.sleep(HELD_MS, run.stop.finishing).catch(() => undefined);
    const isNew = answers > earlier || !isSubset(before, held);
    round = walks.filter((one) => held.has(nameOf(one)) || (isNew && looksIntoCollections(one.walk)));
  }
  for (const name of refused) absent.delete(name);
  return [...failed];
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((one) => all.has(one));
}

function pathOf({ endpoint }: Walk): string {
  return 'path' in endpoint ? endpoint.path : `/api/v2/${endpoint.method}`;
}

function looksIntoCollections(walk: Walk): boolean {
  return walk.kind === 'lookup' && walk.subjects.seenIn.some(({ time }) => time === 'loaded_at');
}

/**
 * Reads one walk. Returns and logs the error if the API refuses this walk for good; the other walks continue. Returns
 * `held` if another worker has the walk, or a part of it.
 */
export async function readWalk(
  run: RunContext,
  dataset: Collection,
  walk: Walk,
): Promise<EtlError | 'held' | undefined> {
  const { logger } = run.context;
  const stream = { dataset: dataset.name, scope: walk.name, pass: 0 };
  const policy = { context: run.context, stream, stop: run.stop };
  // If the claim is lost, another worker holds the walk.
  const walked: { end: WalkEnd } = { end: 'held' };
  const failure = await readUnlessRefused(policy, async () => {
    walked.end = await claimAndWalk(run, dataset, walk);
    if (walked.end instanceof NotServedError) throw walked.end;
  });
  if (failure === undefined) return walked.end;
  logger[levelOf(failure)](
    { dataset: dataset.name, walk: walk.name, code: failure.code, reason: failure.message },
    failure instanceof NotServedError
      ? 'collection crawl incomplete: the server failed for a part'
      : 'collection crawl postponed',
  );
  return failure;
}

/** Claims the walk's cursor, walks, and releases it. */
async function claimAndWalk(run: RunContext, dataset: Collection, walk: Walk): Promise<WalkEnd> {
  const { database } = run.context;
  const claim = { dataset: dataset.name, scope: walk.name, owner: run.owner };
  const claimed = await claimCursor(database, claim);
  if (claimed === undefined) return 'held';
  const renew = () => renewClaim(database, claim);
  const stopRenewing = keepAlive(run.context, { what: `a claim of ${dataset.name}`, renew });
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

async function dispatch(walkContext: Omit<WalkContext, 'walk'>, walk: Walk): Promise<WalkEnd> {
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
