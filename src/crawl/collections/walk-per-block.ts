import * as z from 'zod';
import { parseCanonical } from '../../dataset/declaration/canonical.ts';
import { seqno } from '../../records/members/form.ts';
import type { PerBlockWalk } from '../../dataset/walk.ts';
import { readStoredBorder } from '../../read/bounding-blocks.ts';
import { Lacking } from '../../dataset/paginators/paginator.ts';
import { mayConcernPage, NotFoundError, NotServedError, type EtlError } from '../../errors.ts';
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import type { SeqnoCursor, Seqnos } from '../../dataset/paginators/seqnos.ts';
import { ask, readResponseRecords, writeResponse } from './walk-responses.ts';
import { createRenewal, isOver, nameOf, nowOf, type WalkContext } from './walk-context.ts';
import { MASTERCHAIN } from '../../ton/shard.ts';

const Cursor = z.object({
  covered: z.array(z.object({ from: z.number(), to: z.number() })),
  borders: z.array(z.object({ utime: z.number(), seqno: z.number() })),
  lacking: z.array(Lacking).default([]),
});

/** The walk is postponed after this many consecutive blocks for which the server fails. */
const MOST_IN_ROW = 3;

/** Servers that lack the endpoint may answer 404. After this many blocks without an answer, the walk stops for now. */
const MOST_ABSENT = 64;

const Blocks = z.object({ blocks: z.array(z.object({ seqno })) });

/** Maximum number of masterchain blocks in one second. The seqno of the last one is needed. */
const OF_ONE_SECOND = 20;

/** Reads every masterchain block of the range that was not read yet, the newest first. */
export async function walkBlocks(
  walkContext: WalkContext<PerBlockWalk>,
): Promise<NotServedError | undefined> {
  const { walk } = walkContext;
  const { paginator } = walk;
  let cursor = paginator.start(Cursor.safeParse(walkContext.stored).data);
  const isRenewed = createRenewal(walkContext);
  let wanted = await lookForBlocks();
  // Skips blocks that are not there yet, and blocks that were not served until their pause is over.
  const passedNow = () =>
    pausedOf(walkContext, cursor).reduce((all, { at }) => paginator.next(all, at), cursor);
  let [passed, asked, absent] = [passedNow(), 0, 0];
  let failure: NotServedError | undefined;
  let inRow = 0;
  while (wanted !== undefined && !isOver(walkContext)) {
    const seqno = paginator.missing(passed, wanted);
    if (seqno === undefined) break;
    passed = paginator.next(passed, seqno);
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
      if (!mayConcernPage(error) || inRow === MOST_IN_ROW) throw error;
      cursor = paginator.pass(cursor, seqno, nowOf(walkContext));
      failure = notServed(seqno, error);
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
    cursor = paginator.withBorder(cursor, { utime: range.to, seqno: to });
    const from = await borderOf(walkContext, cursor, range.from);
    cursor = paginator.withBorder(cursor, { utime: range.from, seqno: from });
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

function notServed(seqno: number, { message }: EtlError): NotServedError {
  return new NotServedError(`masterchain block ${seqno} is not served: ${message}`, {
    hint: 'The other blocks are read; this one is retried, with growing pauses.',
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
    const response = await ask(walkContext, walk.paginator.request(seqno), {
      isWhole: walk.isWhole,
      attemptsInDoubt: isDoubted ? ATTEMPTS_IN_DOUBT : undefined,
    });
    const next = walk.paginator.next(cursor, seqno);
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
