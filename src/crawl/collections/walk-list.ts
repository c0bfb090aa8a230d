import * as z from 'zod';
import { hashOf, parseCanonical } from '../../dataset/declaration/record.ts';
import type { Lacking } from '../../dataset/paginators/paginator.ts';
import { offset, OffsetCursor, type OffsetStep } from '../../dataset/paginators/offset.ts';
import type { ListWalk, PerBlockWalk } from '../../dataset/collection.ts';
import {
  mayConcernPage,
  ApiTimeoutError,
  NotJoinedError,
  NotServedError,
  type EtlError,
  NotFoundError,
} from '../../errors.ts';
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import { createPageSize, type PageSize } from '../request-bounds.ts';
import {
  ask,
  type AskOptions,
  readResponseRecords,
  writeResponse,
  isOver,
  nowOf,
  type WalkContext,
  notServed,
  createRenewal,
  nameOf,
} from './walk-context.ts';
import { seqno } from '../../records/members.ts';
import { readStoredBorder } from '../../read/bounding-blocks.ts';
import { seqnos, type SeqnoCursor, type Seqnos } from '../../dataset/paginators/seqnos.ts';
import { MASTERCHAIN } from '../../ton/shard.ts';

/** The walk is postponed after this many consecutive blocks for which the server fails. */
const MOST_BLOCKS_IN_ROW = 3;

/** Servers that lack the endpoint may answer 404. After this many blocks without an answer, the walk stops for now. */
const MOST_ABSENT = 64;

const Blocks = z.object({ blocks: z.array(z.object({ seqno })) });

/** Maximum number of masterchain blocks in one second. The seqno of the last one is needed. */
const OF_ONE_SECOND = 20;

/** Reads every masterchain block of the range that was not read yet, the newest first. */
export async function walkBlocks(
  walkContext: WalkContext<PerBlockWalk>,
): Promise<NotServedError | undefined> {
  let cursor = seqnos.start(walkContext.stored);
  const isRenewed = createRenewal(walkContext);
  let wanted = await lookForBlocks();
  // Skips blocks that are not there yet, and blocks that were not served until their pause is over.
  const passedNow = () => pausedOf(walkContext, cursor).reduce((all, { at }) => seqnos.next(all, at), cursor);
  let [passed, asked, absent] = [passedNow(), 0, 0];
  let failure: NotServedError | undefined;
  let inRow = 0;
  while (wanted !== undefined && !isOver(walkContext)) {
    const seqno = seqnos.missing(passed, wanted);
    if (seqno === undefined) break;
    passed = seqnos.next(passed, seqno);
    asked += 1;
    try {
      const next = await readBlock(walkContext, cursor, seqno, inRow > 0);
      if (next === undefined) absent += 1;
      requireSome(walkContext, absent, asked);
      cursor = next ?? cursor;
      inRow = 0;
    } catch (error) {
      inRow += 1;
      // No other block was served, so the endpoint fails and not one block.
      if (!mayConcernPage(error) || inRow === MOST_BLOCKS_IN_ROW) throw error;
      cursor = seqnos.pass(cursor, seqno, nowOf(walkContext));
      const what = `masterchain block ${seqno} is not served`;
      failure = notServed(what, error, 'The other blocks are read; this one');
    }
    if (!isRenewed()) continue;
    // New blocks at the head come first. Missing blocks are retried too, unless most of them are still missing.
    wanted = await lookForBlocks();
    if (2 * absent < asked) [passed, asked, absent] = [passedNow(), 0, 0];
  }
  if (inRow > 0) await walkContext.keep(cursor);
  return failure;

  async function lookForBlocks(): Promise<Seqnos | undefined> {
    const range = walkContext.range();
    if (range === undefined) return undefined;
    const to = await borderOf(walkContext, cursor, range.to);
    cursor = seqnos.withBorder(cursor, { utime: range.to, seqno: to });
    const from = await borderOf(walkContext, cursor, range.from);
    cursor = seqnos.withBorder(cursor, { utime: range.from, seqno: from });
    await walkContext.keep(cursor);
    return { from, to };
  }
}

/** Blocks whose pause is not over. A backfill ignores the pauses. */
function pausedOf(walkContext: WalkContext, { lacking }: SeqnoCursor): Lacking[] {
  if (walkContext.priority === 'backfill') return [];
  return lacking.filter(({ until }) => until > nowOf(walkContext));
}

/** @throws NotServedError if the server answered 404 for too many blocks to believe it */
function requireSome({ dataset }: WalkContext, absent: number, asked: number): void {
  if (absent < asked || absent < MOST_ABSENT) return;
  throw new NotServedError(`${dataset.name}: the server answers 404 for each of ${absent} blocks`, {
    hint: 'It may lack the endpoint, or lag far behind: `toncenter-etl doctor` asks each route. They are retried.',
  });
}

async function readBlock(
  walkContext: WalkContext<PerBlockWalk>,
  cursor: SeqnoCursor,
  seqno: number,
  isDoubted: boolean,
): Promise<SeqnoCursor | undefined> {
  const { walk, context, dataset } = walkContext;
  try {
    const response = await ask(
      walkContext,
      { seqno },
      {
        isWhole: walk.isWhole,
        attemptsInDoubt: isDoubted ? ATTEMPTS_IN_DOUBT : undefined,
      },
    );
    const next = seqnos.next(cursor, seqno);
    const reading = readResponseRecords(walkContext, response, String(seqno));
    await writeResponse(walkContext, { response, reading, cursor: next });
    return next;
  } catch (error) {
    // Below the watermark, a 404 means that the block comes later.
    if (!(error instanceof NotFoundError)) throw error;
    context.logger.warn({ dataset: dataset.name, seqno }, 'masterchain block not available yet');
    return undefined;
  }
}

/** The seqno of the first masterchain block at or after a second. It is remembered, stored, or requested. */
async function borderOf(
  walkContext: WalkContext<PerBlockWalk>,
  { borders }: SeqnoCursor,
  utime: number,
): Promise<number> {
  const known = borders.find((border) => border.utime === utime)?.seqno;
  return (
    known ??
    (await readStoredBorder(walkContext.context.database, utime)) ??
    (await askBorder(walkContext, utime))
  );
}

async function askBorder(walkContext: WalkContext, utime: number): Promise<number> {
  const { context, firstSeqno, priority, stop, turns } = walkContext;
  const request = {
    path: '/api/v3/blocks',
    params: { workchain: MASTERCHAIN, end_utime: utime - 1, sort: 'desc', limit: OF_ONE_SECOND },
    priority,
    signal: stop.leaving,
    parse: (body: unknown) => parseCanonical(Blocks, body).blocks,
  };
  const { value } = await turns.ask(nameOf(walkContext), () => context.api.get(request));
  return value.length === 0 ? firstSeqno : Math.max(...value.map(({ seqno }) => seqno)) + 1;
}

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
  const size = createPageSize(offset.maxSize);
  const stored = OffsetCursor.safeParse(walkContext.stored).data;
  const [known, failure] =
    stored === undefined ? [undefined, undefined] : await askAgain(walkContext, stored);
  const cursor = offset.start(known, nowOf(walkContext));
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
      failure = rowNotServed(at, error);
      const tried = offset.pass({ ...cursor, at }, nowOf(walkContext));
      cursor = { ...cursor, lacking: tried.lacking };
      await walkContext.keep(cursor);
    }
  }
  return [cursor, failure];
}

function rowNotServed(offset: number, error: EtlError): NotServedError {
  return notServed(`the row at offset ${offset} is not served`, error, 'The other rows are stored; this one');
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
  const { until } = at;
  const next = cursor.lacking.find((one) => one.at >= cursor.at)?.at ?? Infinity;
  // This row was retried when the walk began, or its pause is not over.
  if (next === cursor.at) return { ...at, cursor: { ...cursor, at: next + 1 } };
  const attemptsInDoubt = until === Infinity ? undefined : ATTEMPTS_IN_DOUBT;
  const half = Math.max(1, Math.floor((until - cursor.at) / 2));
  const request = offset.request(cursor, Math.min(size.current(), next - cursor.at, half));
  const stepBehind = (limit: number, records: number) =>
    offset.next(cursor, limit, records, nowOf(walkContext));
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
  const now = nowOf(walkContext);
  const isTimeout = error instanceof ApiTimeoutError;
  if (at.until === Infinity && !(await servesElsewhere(walkContext, cursor.at, limit, isTimeout))) {
    if (!isTimeout) throw error;
    const { dataset, context } = walkContext;
    context.logger.warn(
      { dataset: dataset.name, offset: cursor.at },
      'list is longer than the server can page through; the rest is looked up by name',
    );
    await walkContext.keep(offset.giveUp(cursor, now));
    return { ...at, cursor: undefined };
  }
  if (limit > 1) return { ...at, until: cursor.at + limit };
  if (at.inRow === MOST_IN_ROW) throw error;
  const passed = offset.pass(cursor, now);
  await walkContext.keep(passed);
  return { cursor: passed, until: Infinity, inRow: at.inRow + 1, failure: rowNotServed(cursor.at, error) };
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
