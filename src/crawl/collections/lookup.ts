import { z } from 'zod';
import type { LookupWalk, Subject } from '../../dataset/walk.ts';
import { gatherSubjects, readDueSubjects, type Outcomes } from '../../db/cursors/subjects.ts';
import { ApiTimeoutError, NotFoundError } from '../../errors.ts';
import type { Params } from '../../dataset/paginator.ts';
import type { BatchSize } from '../../dataset/paginators/lookup.ts';
import { ask, type WalkResponse } from './ask.ts';
import { readResponseRecords } from './read-response-records.ts';
import { writeResponse } from './write-response.ts';
import { isOver, type WalkContext } from './walk-context.ts';
import { noteWatchedMoves } from './watched-moves.ts';

const Cursor = z.object({
  gathered: z.number(),
  /** Whether the last gathering looked at indexed rows: a change of the operator's mind begins anew. */
  seen: z.boolean(),
  batch: z.object({ fits: z.number(), tooMany: z.number().nullable(), passed: z.number() }),
});

/** Asks for every subject that is new, has moved, or was unknown a while ago, as many at once as the URL takes. */
export async function walkLookup(walkContext: WalkContext<LookupWalk>): Promise<void> {
  const { walk, dataset, context, choices } = walkContext;
  const { subjects, paginator } = walk;
  const stored = Cursor.safeParse(walkContext.stored).data;
  const seen = subjects.onlyIfSeen !== true || choices.accounts === 'seen';
  const name = { dataset: dataset.name, walk: walk.name };
  const gathered = await gather(walkContext, seen, stored);
  if (subjects.probed === true) await noteWatchedMoves(walkContext);
  let batch = paginator.start(stored?.batch);
  const keep = () => walkContext.keep({ gathered, seen, batch });
  const onlyWatched = subjects.watched && !seen;
  while (!isOver(walkContext)) {
    const limit = paginator.size(batch);
    const due = await readDueSubjects(context.database, { ...name, before: gathered, onlyWatched, limit });
    if (due.length === 0) break;
    const response = await askFor(walkContext, due);
    if (response === 'too large') {
      const smaller = paginator.refused(batch, due.length);
      if (smaller === undefined)
        throw new ApiTimeoutError(`${dataset.name} cannot be asked for one at a time`);
      batch = smaller;
      await keep();
      continue;
    }
    batch = paginator.passed(batch, due.length);
    await writeOutcomes(walkContext, response, due, { gathered, seen, batch });
  }
  await keep();
}

/** Gathers the subjects to be asked for; returns the moment up to which rows were looked at. */
function gather(
  { context, dataset, walk, range }: WalkContext<LookupWalk>,
  seen: boolean,
  stored: z.infer<typeof Cursor> | undefined,
): Promise<number> {
  return gatherSubjects(context.database, {
    dataset: dataset.name,
    walk: walk.name,
    subjects: walk.subjects,
    seen,
    range,
    since: stored?.seen === seen ? stored.gathered : undefined,
  });
}

/** A 404 says that a single thing is not there: a response without records. */
async function askFor(
  walkContext: WalkContext<LookupWalk>,
  due: readonly Subject[],
): Promise<WalkResponse | 'too large' | 'none'> {
  try {
    const response = await ask(walkContext, paramsOf(walkContext.walk, due));
    return isCut(response, due) ? 'too large' : response;
  } catch (error) {
    if (error instanceof ApiTimeoutError && walkContext.walk.paginator.most > 1) return 'too large';
    if (error instanceof NotFoundError && due.length === 1) return 'none';
    throw error;
  }
}

/** True where the server gives fewer rows than there are subjects: those beyond would seem to be unknown. */
function isCut({ request: { limit } }: WalkResponse, due: readonly Subject[]): boolean {
  return due.length > 1 && limit !== undefined && limit < due.length;
}

function paramsOf({ paginator }: LookupWalk, due: readonly Subject[]): Params {
  const limit = paginator.limited ? { limit: paginator.most } : {};
  if (paginator.most === 1) {
    const [one] = due;
    return paginator.param === '' ? { ...one?.fields, ...limit } : { [paginator.param]: one?.key, ...limit };
  }
  return { [paginator.param]: due.map(({ key }) => key), ...limit };
}

async function writeOutcomes(
  walkContext: WalkContext<LookupWalk>,
  response: WalkResponse | 'none',
  due: readonly Subject[],
  cursor: { gathered: number; seen: boolean; batch: BatchSize },
): Promise<void> {
  const { walk } = walkContext;
  const single = walk.paginator.most === 1 ? (due[0]?.key ?? '') : '';
  const asked = due.map(({ key }) => key);
  const outcomes: Omit<Outcomes, 'found'> = {
    walk: walk.name,
    asked,
    refresh: walk.refreshSeconds,
    unknownFor: walk.unknownForSeconds,
  };
  if (response === 'none') {
    await walkContext.keep(cursor, { ...outcomes, found: [] });
    return;
  }
  const found = response.value.records.flatMap((raw) => {
    const answered = walk.answers(raw);
    // Of a single subject every record is a response, whatever it names itself.
    return single === '' ? (answered ?? []) : [{ key: single, lt: answered?.lt }];
  });
  const reading = readResponseRecords(walkContext, response, single);
  await writeResponse(walkContext, { response, reading, cursor, outcomes: { ...outcomes, found } });
}
