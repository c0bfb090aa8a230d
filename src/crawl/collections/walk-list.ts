import * as z from 'zod';
import { hashOf } from '../../dataset/declaration/record.ts';
import { Lacking } from '../../dataset/paginators/paginator.ts';
import type { OffsetCursor, OffsetStep } from '../../dataset/paginators/offset.ts';
import type { ListWalk } from '../../dataset/walk.ts';
import {
  mayConcernPage,
  ApiTimeoutError,
  NotJoinedError,
  NotServedError,
  type EtlError,
} from '../../errors.ts';
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import { createPageSize, type PageSize } from '../page-size.ts';
import { ask, type AskOptions, readResponseRecords, writeResponse } from './walk-responses.ts';
import { isOver, nowOf, type WalkContext } from './walk-context.ts';

const Cursor = z.object({
  at: z.number(),
  end: z.number(),
  round: z.boolean(),
  ended: z.number().nullable(),
  beyond: z.number().nullable(),
  lacking: z.array(Lacking).default([]),
});

/** The list is postponed after this many consecutive rows that the server does not serve. */
const MOST_IN_ROW = 8;

/** How far a list has been read. */
interface ListProgress {
  /** Undefined at the end of the list, or if the rest cannot be paged through. */
  readonly cursor: OffsetCursor | undefined;
  /** A row before this offset is not served; Infinity if none is known. */
  readonly until: number;
  /** Rows that were not served since the last page. */
  readonly inRow: number;
  readonly failure: NotServedError | undefined;
  /** The page that was read last. */
  readonly before?: PageSeen | undefined;
}

interface PageSeen {
  /** Hash of its first record; undefined if it has none. */
  readonly first: string | undefined;
  readonly offset: number;
}

/**
 * Continues to read a list, or checks whether rows were appended. If the server fails for a page but serves others, the
 * page is halved until one row is left. That row is skipped and retried later. If the server times out even for a small
 * page, the rest of the list cannot be paged through. Rows of it that other datasets name are looked up by name.
 */
export async function walkList(walkContext: WalkContext<ListWalk>): Promise<NotServedError | undefined> {
  const { walk } = walkContext;
  const size = createPageSize(walk.paginator.maxSize);
  const stored = Cursor.safeParse(walkContext.stored).data;
  const [known, failure] =
    stored === undefined ? [undefined, undefined] : await askAgain(walkContext, stored);
  const cursor = walk.paginator.start(known, nowOf(walkContext), walk.rescanSeconds);
  let at: ListProgress = { cursor, until: Infinity, inRow: 0, failure };
  while (at.cursor !== undefined && !isOver(walkContext)) at = await readOn(walkContext, at, at.cursor, size);
  return at.failure;
}

/** Retries the rows that were not served, if their pause is over. A backfill ignores the pauses. */
async function askAgain(
  walkContext: WalkContext<ListWalk>,
  stored: OffsetCursor,
): Promise<[OffsetCursor, NotServedError | undefined]> {
  let cursor = stored;
  let failure: NotServedError | undefined;
  for (const { at, until } of stored.lacking) {
    if (isOver(walkContext)) break;
    if (walkContext.priority !== 'backfill' && until > nowOf(walkContext)) continue;
    const { lacking } = cursor;
    try {
      const found = { ...cursor, lacking: lacking.filter((one) => one.at !== at) };
      await readRows(walkContext, { limit: 1, offset: at }, () => ({ cursor: found, done: false }), {
        attemptsInDoubt: ATTEMPTS_IN_DOUBT,
      });
      cursor = found;
    } catch (error) {
      if (!mayConcernPage(error)) throw error;
      failure = notServed(at, error);
      const tried = walkContext.walk.paginator.pass({ ...cursor, at }, nowOf(walkContext));
      cursor = { ...cursor, lacking: tried.lacking };
      await walkContext.keep(cursor);
    }
  }
  return [cursor, failure];
}

function notServed(offset: number, { message }: EtlError): NotServedError {
  return new NotServedError(`the row at offset ${offset} is not served: ${message}`, {
    hint: 'The other rows are stored; this one is retried, with growing pauses.',
  });
}

/** Requests rows and commits them with the cursor after them. */
async function readRows(
  walkContext: WalkContext<ListWalk>,
  request: { readonly limit: number; readonly offset: number },
  stepBehind: (limit: number, records: number) => OffsetStep,
  {
    attemptsInDoubt,
    before,
  }: Pick<AskOptions, 'attemptsInDoubt'> & { readonly before?: PageSeen | undefined },
): Promise<[OffsetStep, PageSeen]> {
  const response = await ask(walkContext, request, { attemptsInDoubt });
  const [record] = response.value.records;
  const seen = { first: record === undefined ? undefined : hashOf(record), offset: request.offset };
  // Stops on a server that ignores the offset: it would be asked forever.
  if (before?.first !== undefined && before.first === seen.first && before.offset < seen.offset)
    throw new NotJoinedError(
      `the pages of ${walkContext.dataset.name} at offsets ${before.offset} and ${seen.offset} begin with the same row: the server ignores the offset`,
    );
  const limit = response.request.limit ?? request.limit;
  const step = stepBehind(limit, response.value.records.length);
  const reading = readResponseRecords(walkContext, response, '', request.offset);
  await writeResponse(walkContext, { response, reading, cursor: step.cursor });
  return [step, seen];
}

/** Reads a page, at most up to the next row that is known not to be served. */
async function readOn(
  walkContext: WalkContext<ListWalk>,
  at: ListProgress,
  cursor: OffsetCursor,
  size: PageSize,
): Promise<ListProgress> {
  const { paginator } = walkContext.walk;
  const { until } = at;
  const next = cursor.lacking.find((one) => one.at >= cursor.at)?.at ?? Infinity;
  // This row was retried when the walk began, or its pause is not over.
  if (next === cursor.at) return { ...at, cursor: { ...cursor, at: next + 1 } };
  const attemptsInDoubt = until === Infinity ? undefined : ATTEMPTS_IN_DOUBT;
  const half = Math.max(1, Math.floor((until - cursor.at) / 2));
  const request = paginator.request(cursor, Math.min(size.current(), next - cursor.at, half));
  const stepBehind = (limit: number, records: number) =>
    paginator.next(cursor, limit, records, nowOf(walkContext));
  try {
    const asking = { attemptsInDoubt, before: at.before };
    const [step, before] = await readRows(walkContext, request, stepBehind, asking);
    size.arrived();
    const left = step.cursor.at >= until ? Infinity : until;
    return { ...at, cursor: step.done ? undefined : step.cursor, until: left, inRow: 0, before };
  } catch (error) {
    if (!mayConcernPage(error)) throw error;
    if (error instanceof ApiTimeoutError && size.timedOut(request.limit)) return at;
    return skipOrHalve(walkContext, at, cursor, { limit: request.limit, error });
  }
}

/** Handles a page that was not served: requests half of it next, or skips it if it is a single row. */
async function skipOrHalve(
  walkContext: WalkContext<ListWalk>,
  at: ListProgress,
  cursor: OffsetCursor,
  { limit, error }: { readonly limit: number; readonly error: EtlError },
): Promise<ListProgress> {
  const { paginator } = walkContext.walk;
  const now = nowOf(walkContext);
  const isTimeout = error instanceof ApiTimeoutError;
  if (at.until === Infinity && !(await servesElsewhere(walkContext, cursor.at, limit, isTimeout))) {
    if (!isTimeout) throw error;
    const { dataset, context } = walkContext;
    context.logger.warn(
      { dataset: dataset.name, offset: cursor.at },
      'list is longer than the server can page through; the rest is looked up by name',
    );
    await walkContext.keep(paginator.giveUp(cursor, now));
    return { ...at, cursor: undefined };
  }
  if (limit > 1) return { ...at, until: cursor.at + limit };
  if (at.inRow === MOST_IN_ROW) throw error;
  const passed = paginator.pass(cursor, now);
  await walkContext.keep(passed);
  return { cursor: passed, until: Infinity, inRow: at.inRow + 1, failure: notServed(cursor.at, error) };
}

/**
 * True if the server serves a row after the page. After any error but a timeout, the first row of the list counts too.
 */
async function servesElsewhere(
  walkContext: WalkContext<ListWalk>,
  at: number,
  limit: number,
  isTimeout: boolean,
): Promise<boolean> {
  for (const offset of isTimeout || at === 0 ? [at + limit] : [at + limit, 0]) {
    try {
      await ask(walkContext, { limit: 1, offset }, { attemptsInDoubt: ATTEMPTS_IN_DOUBT });
      return true;
    } catch (error) {
      if (!mayConcernPage(error)) throw error;
    }
  }
  return false;
}
