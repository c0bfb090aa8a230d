import * as z from 'zod';
import { allInFlight } from '../../budget/all-in-flight.ts';
import type { Flight } from '../../budget/flight.ts';
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

interface LookupCursor {
  readonly gathered: number;
  readonly seen: boolean;
  readonly batch: BatchSize;
}

/** Subjects at once in memory, at most. */
const MOST_AT_ONCE = 20_000;

/** Asks for every subject that is new, has moved, or was unknown a while ago, as many at once as the URL takes. */
export async function walkLookup(walkContext: WalkContext<LookupWalk>): Promise<void> {
  const { walk, dataset, context, choices } = walkContext;
  const { subjects, paginator } = walk;
  const { inFlight } = context.api;
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
    // While the size is searched for, several requests at once would be refused for the same reason.
    const batches = limit > batch.fits ? 1 : batchesAtOnce(inFlight.target, limit);
    const asking = { ...name, before: gathered, onlyWatched, limit: limit * batches };
    const due = await readDueSubjects(context.database, asking);
    if (due.length === 0) break;
    const cursor = { gathered, seen, batch: paginator.passed(batch, Math.min(limit, due.length)) };
    const asked = await allInFlight(inFlight, cut(due, limit), (some) => lookUp(walkContext, some, cursor));
    batch = asked.reduce((learned, one) => learn(walkContext, learned, one), batch);
    if (asked.some(({ isTooLarge }) => isTooLarge)) await keep();
  }
  await keep();
}

/** Enough that few readers wait for the last batches, and no more than memory takes. */
function batchesAtOnce(target: number, limit: number): number {
  return Math.ceil(Math.min(4 * target, MOST_AT_ONCE / limit));
}

interface LookedUp {
  readonly keys: number;
  readonly isTooLarge: boolean;
}

function learn(
  { walk: { paginator }, dataset }: WalkContext<LookupWalk>,
  batch: BatchSize,
  { keys, isTooLarge }: LookedUp,
): BatchSize {
  const next = isTooLarge ? paginator.refused(batch, keys) : paginator.passed(batch, keys);
  if (next === undefined) throw new ApiTimeoutError(`${dataset.name} cannot be asked for one at a time`);
  return next;
}

/** Asks for some subjects and writes what came of it. */
async function lookUp(
  walkContext: WalkContext<LookupWalk>,
  due: readonly Subject[],
  cursor: LookupCursor,
): Promise<LookedUp> {
  const flight = walkContext.context.api.inFlight.open(walkContext.priority);
  try {
    const response = await askFor(walkContext, due, flight);
    if (response !== 'too large') await writeOutcomes(walkContext, response, due, cursor);
    return { keys: due.length, isTooLarge: response === 'too large' };
  } finally {
    flight.end();
  }
}

function cut<T>(all: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let from = 0; from < all.length; from += size) parts.push(all.slice(from, from + size));
  return parts;
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
  flight: Flight,
): Promise<WalkResponse | 'too large' | 'none'> {
  try {
    const response = await ask(walkContext, paramsOf(walkContext.walk, due), { flight });
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
  cursor: LookupCursor,
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
