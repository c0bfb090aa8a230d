import * as z from 'zod';
import { allInFlight, type Flight } from '../../budget/in-flight.ts';
import type { LookupWalk, Subject } from '../../dataset/walk.ts';
import { gatherSubjects, readDueSubjects, type Outcomes } from '../../ledger/subjects.ts';
import {
  isNotServed,
  mayConcernPage,
  ApiTimeoutError,
  NotFoundError,
  NotServedError,
  RequestTooLargeError,
  type EtlError,
} from '../../errors.ts';
import { ATTEMPTS_IN_DOUBT } from '../failure-policy.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import type { BatchSize } from '../../dataset/paginators/lookup.ts';
import { ask, type WalkResponse } from './ask.ts';
import { readResponseRecords } from './read-response-records.ts';
import { writeResponse } from './write-response.ts';
import { createRenewal, isOver, type WalkContext } from './walk-context.ts';
import { noteWatchedMoves } from './watched-moves.ts';

const Cursor = z.object({
  gathered: z.number(),
  /** Whether the last gathering looked at indexed rows: a change of the operator's mind begins anew. */
  seen: z.boolean(),
  batch: z.object({ fits: z.number(), tooMany: z.number().nullable(), passed: z.number() }),
  /** The subject after which it goes on. */
  after: z.string().default(''),
});

type LookupCursor = z.infer<typeof Cursor>;

/** Subjects at once in memory, at most. */
const MOST_AT_ONCE = 20_000;

/**
 * Asks for every subject that is new, has moved, or was unknown a while ago, as many at once as the URL takes. Half of what
 * is asked for is what became due last; the other half goes through all in their order, so that none waits for ever however
 * much becomes due meanwhile.
 */
export async function walkLookup(walkContext: WalkContext<LookupWalk>): Promise<NotServedError | undefined> {
  const { walk, dataset, context } = walkContext;
  const served: Served = {
    answers: 0,
    inRow: 0,
    unserved: [],
    missing: [],
    failure: undefined,
    hasTimedOut: false,
  };
  const { subjects, paginator } = walk;
  const { inFlight } = context.api;
  const stored = Cursor.safeParse(walkContext.stored).data;
  const seen = asksForSeen(walkContext);
  const unserved = walkContext.priority === 'backfill';
  const onlyWatched = subjects.watched && !seen;
  const name = { dataset: dataset.name, walk: walk.name, onlyWatched, unserved };
  const lookForMore = async (since: LookupCursor | undefined) => {
    const gathered = await gather(walkContext, seen, since);
    if (subjects.probed === true) await noteWatchedMoves(walkContext);
    return gathered;
  };
  const isRenewed = createRenewal(walkContext);
  let gathered = await lookForMore(stored);
  let batch = paginator.start(stored?.batch);
  let after = stored?.after ?? '';
  const cursorNow = () => ({ gathered, seen, batch, after });
  while (!isOver(walkContext)) {
    if (isRenewed()) gathered = await lookForMore(cursorNow());
    const limit = paginator.size(batch);
    // While the size is searched for, several requests at once would be refused for the same reason.
    const batches = limit > batch.fits ? 1 : batchesAtOnce(inFlight.target, limit, served);
    const due = await readDueSubjects(context.database, {
      ...name,
      before: gathered,
      // What was not served alone is asked for once in a walk: it is set aside as soon as others are served, or in the end.
      except: [...served.unserved.map(({ key }) => key), ...served.missing],
      limit: limit * batches,
      after,
    });
    if (due.subjects.length === 0 && after === '') break;
    after = due.after;
    const cursor = { ...cursorNow(), batch: paginator.passed(batch, Math.min(limit, due.subjects.length)) };
    const asked = await allInFlight(inFlight, cut(due.subjects, limit), (some) =>
      lookUp({ walkContext, cursor, served }, some),
    );
    batch = asked.reduce((learned, one) => learn(walkContext, learned, one), batch);
    // What took too long was one subject's fault, not the size's.
    if (served.hasTimedOut) batch = paginator.start(undefined);
    await tellMissing(walkContext, served, cursorNow(), false);
    await setAside(walkContext, served, cursorNow(), false);
    if (asked.some(({ isTooLarge }) => isTooLarge)) await walkContext.keep(cursorNow());
  }
  await walkContext.keep(cursorNow());
  await tellMissing(walkContext, served, cursorNow(), true);
  await setAside(walkContext, served, cursorNow(), true);
  return served.failure;
}

/** False if only watched subjects are asked for. */
function asksForSeen({ walk: { subjects }, choices }: WalkContext<LookupWalk>): boolean {
  return subjects.onlyIfSeen !== true || choices.accounts === 'seen';
}

/** What the server has served of a walk. */
interface Served {
  answers: number;
  /** Requests that were not answered well since the last one that was. */
  inRow: number;
  /** Subjects that were not served alone, and how many answers there had been before. */
  unserved: { readonly key: string; readonly error: EtlError; readonly answers: number }[];
  /** Subjects that are not there by what the server says, while nothing else says that it has the endpoint. */
  missing: string[];
  failure: NotServedError | undefined;
  hasTimedOut: boolean;
}

/** After so many subjects in a row that are not served alone, or requests of any size, it is the endpoint that has the trouble. */
const MOST_UNSERVED = 3;
const MOST_FAILURES = 40;
/** Servers and gateways answer 404, or nothing, for what they do not have: so many in a row, and no answer, say nothing of subjects. */
const MOST_MISSING = 8;

/** True where nothing is known, of too many subjects to believe it. */
function lacksAll({ answers, missing }: Served): boolean {
  return answers === 0 && missing.length >= MOST_MISSING;
}

/**
 * Subjects that are not there are unknown, once the endpoint has answered for another one, or if they are few.
 * @throws NotServedError where nothing else has come for too many: others are asked for next time
 */
async function tellMissing(
  { walk, dataset, keep }: WalkContext<LookupWalk>,
  served: Served,
  cursor: LookupCursor,
  isEnd: boolean,
): Promise<void> {
  const { answers, missing } = served;
  if (lacksAll(served)) {
    await keep(cursor, { unserved: { walk: walk.name, subjects: missing } });
    throw new NotServedError(
      `${dataset.name}: the server knows none of the ${missing.length} subjects that it was asked for`,
      {
        hint: 'It may lack the endpoint, or a gateway may answer in its stead: none of them is taken for unknown. `toncenter-etl doctor` asks each route.',
      },
    );
  }
  if (missing.length === 0 || (answers === 0 && !isEnd)) return;
  await keep(cursor, { outcomes: { ...outcomesOf(walk), asked: missing, found: [] } });
  served.missing = [];
}

/** Sets aside what was not served, where the server has served others since; in the end also what nothing came behind. */
async function setAside(
  { walk, keep }: WalkContext<LookupWalk>,
  served: Served,
  cursor: LookupCursor,
  isEnd: boolean,
): Promise<void> {
  served.hasTimedOut = false;
  const isSure = ({ error, answers }: Served['unserved'][number]) =>
    answers < served.answers || (isEnd && isNotServed(error));
  const [sure, open] = [served.unserved.filter(isSure), served.unserved.filter((one) => !isSure(one))];
  const [last] = open;
  if (last !== undefined && (isEnd || open.length >= MOST_UNSERVED)) throw last.error;
  served.unserved = open;
  const one = sure.at(-1);
  if (one === undefined) return;
  served.failure = new NotServedError(`${one.key} is not served: ${one.error.message}`, {
    hint: 'What else was asked for is stored; this is asked for again, with growing pauses.',
  });
  await keep(cursor, { unserved: { walk: walk.name, subjects: sure.map(({ key }) => key) } });
}

/** Enough that few readers wait for the last batches, and no more than memory takes; few before the first answer. */
function batchesAtOnce(target: number, limit: number, { answers }: Served): number {
  const most = answers === 0 ? MOST_MISSING : 4 * target;
  return Math.ceil(Math.min(most, 4 * target, MOST_AT_ONCE / limit));
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

/** What the look-ups of a round have in common. */
interface Round {
  readonly walkContext: WalkContext<LookupWalk>;
  readonly cursor: LookupCursor;
  readonly served: Served;
}

/** Asks for some subjects and writes what came of it. Those that the server does not serve together are asked for by halves. */
async function lookUp(round: Round, due: readonly Subject[], isDoubted = false): Promise<LookedUp> {
  const { walkContext, cursor, served } = round;
  const flight = walkContext.context.api.inFlight.open(walkContext.priority);
  try {
    const response = await askFor(walkContext, due, flight, isDoubted);
    if (response !== 'none') served.inRow = 0;
    if (response === 'too large') return { keys: due.length, isTooLarge: true };
    if (response === 'none' && served.answers === 0) served.missing.push(...due.map(({ key }) => key));
    else await writeOutcomes(walkContext, response, due, cursor);
    served.answers += response === 'none' ? 0 : 1;
    return { keys: due.length, isTooLarge: false };
  } catch (error) {
    served.inRow += 1;
    if (!mayConcernPage(error) || served.inRow > MOST_FAILURES) throw error;
    noteUnserved(round, due, error);
  } finally {
    flight.end();
  }
  const half = Math.ceil(due.length / 2);
  if (due.length > 1 && !lacksAll(served)) {
    await lookUp(round, due.slice(0, half), true);
    await lookUp(round, due.slice(half), true);
  }
  return { keys: due.length, isTooLarge: false };
}

function noteUnserved({ served }: Round, [one, ...others]: readonly Subject[], error: EtlError): void {
  if (one === undefined || others.length > 0) return;
  const { answers } = served;
  served.unserved.push({ key: one.key, error, answers });
  served.hasTimedOut ||= error instanceof ApiTimeoutError;
  if (served.unserved.filter((other) => other.answers === answers).length > MOST_UNSERVED) throw error;
}

function cut<T>(all: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let from = 0; from < all.length; from += size) parts.push(all.slice(from, from + size));
  return parts;
}

/** Gathers the subjects to be asked for; returns the moment up to which rows were looked at. */
function gather(
  { context, dataset, walk, range, turns }: WalkContext<LookupWalk>,
  seen: boolean,
  last: LookupCursor | undefined,
): Promise<number> {
  const gathering = {
    dataset: dataset.name,
    walk: walk.name,
    subjects: walk.subjects,
    seen,
    range: range(),
    since: last?.seen === seen ? last.gathered : undefined,
  };
  return turns.gather(() => gatherSubjects(context.database, gathering));
}

/** A 404 says that a single thing is not there: a response without records. */
async function askFor(
  walkContext: WalkContext<LookupWalk>,
  due: readonly Subject[],
  flight: Flight,
  isDoubted: boolean,
): Promise<WalkResponse | 'too large' | 'none'> {
  const attemptsInDoubt = !isDoubted ? undefined : due.length > 1 ? 1 : ATTEMPTS_IN_DOUBT;
  try {
    const response = await ask(walkContext, paramsOf(walkContext.walk, due), { flight, attemptsInDoubt });
    if (isCut(response, due)) return 'too large';
    return knowsNone(walkContext, response, due) ? 'none' : response;
  } catch (error) {
    // An URL that is too long for one alone is too long for any.
    const isOne = due.length === 1 && !(error instanceof RequestTooLargeError);
    if (error instanceof ApiTimeoutError && walkContext.walk.paginator.most > 1 && !isOne) return 'too large';
    if (error instanceof NotFoundError && due.length === 1) return 'none';
    throw error;
  }
}

/** True where nothing comes for many accounts that indexed transactions name: the source knows these. */
function knowsNone(
  walkContext: WalkContext<LookupWalk>,
  { value }: WalkResponse,
  due: readonly Subject[],
): boolean {
  const areKnown = walkContext.walk.subjects.onlyIfSeen === true && asksForSeen(walkContext);
  return areKnown && due.length >= MOST_MISSING && value.records.length === 0;
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

function outcomesOf(walk: LookupWalk): Pick<Outcomes, 'walk' | 'refresh' | 'unknownFor'> {
  return { walk: walk.name, refresh: walk.refreshSeconds, unknownFor: walk.unknownForSeconds };
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
  const outcomes = { ...outcomesOf(walk), asked };
  if (response === 'none') {
    await walkContext.keep(cursor, { outcomes: { ...outcomes, found: [] } });
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
