import * as z from 'zod';
import { allInFlight, type Flight } from '../../budget/request-budget.ts';
import type { LookupWalk, Subject } from '../../dataset/collection.ts';
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
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import { BatchSize } from '../../dataset/paginators/lookup.ts';
import {
  ask,
  type WalkResponse,
  readResponseRecords,
  writeResponse,
  createRenewal,
  isOver,
  type WalkContext,
  notServed,
} from './walk-context.ts';
import { noteWatchedMoves } from './walk-backward.ts';

const Cursor = z.object({
  gathered: z.number(),
  /** Whether the last gathering looked at indexed rows. If the operator changes that setting, gathering starts over. */
  seen: z.boolean(),
  batch: BatchSize,
  /** The last subject that was asked for in order. */
  after: z.string().default(''),
});

type LookupCursor = z.infer<typeof Cursor>;

/** Maximum number of subjects in memory at once. */
const MOST_AT_ONCE = 20_000;

/**
 * Looks up every subject that is new, has moved, or was unknown a while ago, as many at once as the URL
 * allows. Half of each batch are the subjects that became due last. The other half goes through all of them
 * in order, so that no subject starves.
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
    // While the batch size is searched for, concurrent requests would all be refused for the same reason.
    const batches = limit > batch.fits ? 1 : batchesAtOnce(inFlight.target, limit, served);
    const due = await readDueSubjects(context.database, {
      ...name,
      before: Math.min(gathered, walkContext.began),
      // A subject that was not served alone is asked for once in a walk. It is set aside as soon as others
      // are served, or at the end.
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
    // The timeout was caused by one subject and not by the batch size.
    if (served.hasTimedOut) batch = paginator.start(undefined);
    await markMissing(walkContext, served, cursorNow(), false);
    await setAside(walkContext, served, cursorNow(), false);
    if (asked.some(({ isTooLarge }) => isTooLarge)) await walkContext.keep(cursorNow());
  }
  await walkContext.keep(cursorNow());
  await markMissing(walkContext, served, cursorNow(), true);
  await setAside(walkContext, served, cursorNow(), true);
  return served.failure;
}

/** False if only watched subjects are looked up. */
function asksForSeen({ walk: { subjects }, choices }: WalkContext<LookupWalk>): boolean {
  return subjects.onlyIfSeen !== true || choices.accounts === 'seen';
}

/** What the server has served in a walk. */
interface Served {
  answers: number;
  /** Failed requests since the last successful one. */
  inRow: number;
  /** Subjects that were not served alone, with the number of earlier answers. */
  unserved: { readonly key: string; readonly error: EtlError; readonly answers: number }[];
  /** Subjects that the server calls missing, while nothing else shows that it has the endpoint. */
  missing: string[];
  failure: NotServedError | undefined;
  hasTimedOut: boolean;
}

/**
 * After this many consecutive failures of single subjects, or of requests of any size, the endpoint itself is failing.
 */
const MOST_UNSERVED = 3;
const MOST_FAILURES = 40;
/**
 * Servers and gateways also answer 404, or nothing, if they lack the endpoint. So this many in a row, without
 * any answer, say nothing about subjects.
 */
const MOST_MISSING = 8;

/** True if the server knows none of the subjects, and these are too many to believe it. */
function lacksAll({ answers, missing }: Served): boolean {
  return answers === 0 && missing.length >= MOST_MISSING;
}

/**
 * Marks missing subjects as unknown, if the endpoint has answered for another subject or if they are few.
 * @throws NotServedError if too many were asked for and none was found; other subjects are asked for next time
 */
async function markMissing(
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
        hint: 'It may lack the endpoint, or a gateway may answer in its place: none of them is marked as unknown. `toncenter-etl doctor` asks each route.',
      },
    );
  }
  if (missing.length === 0 || (answers === 0 && !isEnd)) return;
  await keep(cursor, { outcomes: { ...outcomesOf(walk), asked: missing, found: [] } });
  served.missing = [];
}

/**
 * Sets aside subjects that were not served, if the server has served others since; at the end also those
 * after which nothing was requested.
 */
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
  const others = 'The other subjects are stored; this one';
  served.failure = notServed(`${one.key} is not served`, one.error, others);
  await keep(cursor, { unserved: { walk: walk.name, subjects: sure.map(({ key }) => key) } });
}

/** Enough batches that few readers wait for the last ones, limited by memory; few before the first answer. */
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
  if (next === undefined) throw new ApiTimeoutError(`${dataset.name} times out even for a single subject`);
  return next;
}

/** What the look-ups of a round share. */
interface LookupRound {
  readonly walkContext: WalkContext<LookupWalk>;
  readonly cursor: LookupCursor;
  readonly served: Served;
}

/** Looks up subjects and commits the outcomes. If the server does not serve them together, it asks for each half. */
async function lookUp(round: LookupRound, due: readonly Subject[], isDoubted = false): Promise<LookedUp> {
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

function noteUnserved({ served }: LookupRound, [one, ...others]: readonly Subject[], error: EtlError): void {
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

/** Gathers the subjects that are due. Returns the time up to which rows were considered. */
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

/** Looks up subjects. A 404 for a single subject means that it does not exist. */
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
    // If the URL is too long for one subject, it is too long for any.
    const isOne = due.length === 1 && !(error instanceof RequestTooLargeError);
    if (error instanceof ApiTimeoutError && walkContext.walk.paginator.most > 1 && !isOne) return 'too large';
    if (error instanceof NotFoundError && due.length === 1) return 'none';
    throw error;
  }
}

/** True if many accounts that indexed transactions name get no record: the source must know these. */
function knowsNone(
  walkContext: WalkContext<LookupWalk>,
  { value }: WalkResponse,
  due: readonly Subject[],
): boolean {
  const areKnown = walkContext.walk.subjects.onlyIfSeen === true && asksForSeen(walkContext);
  return areKnown && due.length >= MOST_MISSING && value.records.length === 0;
}

/** True if the server's limit is below the number of subjects: those beyond it would seem to be unknown. */
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
    // If one subject was asked for, every record answers it, whatever key the record names.
    return single === '' ? (answered ?? []) : [{ key: single, lt: answered?.lt }];
  });
  const reading = readResponseRecords(walkContext, response, single);
  await writeResponse(walkContext, { response, reading, cursor, outcomes: { ...outcomes, found } });
}
