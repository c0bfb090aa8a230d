import * as z from 'zod';
import type { BackwardWalk } from '../../dataset/walk.ts';
import { claimCursor, releaseClaim } from '../../db/cursors/cursors.ts';
import { gatherSubjects, readDueSubjects } from '../../db/cursors/subjects.ts';
import type { BackwardCursor } from '../../dataset/paginators/backward.ts';
import { ask } from './ask.ts';
import { readResponseRecords } from './read-response-records.ts';
import { writeResponse } from './write-response.ts';
import { isOver, type WalkContext } from './walk-context.ts';
import { noteWatchedMoves } from './watched-moves.ts';

const place = z.object({ lt: z.string(), hash: z.string() }).nullable();
const Cursor = z.object({ newest: place, oldest: place, complete: z.boolean(), top: place, at: place });

/** Watched accounts have nothing but the list. */
const WATCHED = { watched: true, seenIn: [] };
const MANY = 100;

/** Reads the history of every watched account that has moved, or of which the older part is still missing. */
export async function walkBackward(walkContext: WalkContext<BackwardWalk>): Promise<void> {
  const { context, dataset, walk } = walkContext;
  const name = { dataset: dataset.name, walk: walk.name };
  const gathering = { ...name, subjects: WATCHED, seen: false, range: undefined, since: undefined };
  const gathered = await gatherSubjects(context.database, gathering);
  await noteWatchedMoves(walkContext);
  while (!isOver(walkContext)) {
    const asking = { ...name, before: gathered, onlyWatched: true, limit: MANY };
    const due = await readDueSubjects(context.database, asking);
    if (due.length === 0) return;
    for (const { key } of due) {
      if (isOver(walkContext)) return;
      if (!(await readAccount(walkContext, key))) return;
      // A long history must not cost the claim on the whole.
      await walkContext.keep({});
    }
  }
}

/** False where another worker reads the account, or the walk was ended before it was whole. */
async function readAccount(walkContext: WalkContext<BackwardWalk>, account: string): Promise<boolean> {
  const { context, dataset, walk, owner } = walkContext;
  const claim = { dataset: dataset.name, scope: `${walk.name}:${account}`, owner };
  const claimed = await claimCursor(context.database, claim);
  if (claimed === undefined) return false;
  try {
    const cursor = walk.paginator.start(Cursor.safeParse(claimed.cursor).data);
    return await readHistory({ ...walkContext, claim }, account, cursor);
  } finally {
    await releaseClaim(context.database, claim).catch(() => undefined);
  }
}

async function readHistory(
  walkContext: WalkContext<BackwardWalk>,
  account: string,
  start: BackwardCursor,
): Promise<boolean> {
  const { walk } = walkContext;
  const { paginator } = walk;
  // A head that was left half-read is finished first; what came after it is the next head.
  let [cursor, heads] = [start, start.at === null ? 1 : 2];
  for (;;) {
    const phase = paginator.phase(cursor, heads === 0);
    if (phase === undefined) return true;
    if (isOver(walkContext)) return false;
    const request = paginator.request(cursor, phase, paginator.maxSize);
    const response = await ask(walkContext, { address: account, ...request });
    const places = response.value.records.flatMap((raw) => walk.place(raw) ?? []);
    const step = paginator.next(cursor, phase, places, request.limit);
    if (phase === 'head' && step.done) heads -= 1;
    cursor = step.cursor;
    const reading = readResponseRecords(walkContext, response, account);
    const isLast = paginator.phase(cursor, heads === 0) === undefined;
    const found = [{ key: account, lt: cursor.newest?.lt }];
    await writeResponse(walkContext, {
      response,
      reading,
      cursor,
      ...(isLast && {
        outcomes: { walk: walk.name, asked: [account], found, refresh: undefined, unknownFor: 0 },
      }),
    });
  }
}
