import { z } from 'zod';
import type { PerBlockWalk } from '../../dataset/walk.ts';
import { readStoredBorder } from '../../db/cursors/second-borders.ts';
import { NotFoundError } from '../../errors.ts';
import type { SeqnoCursor } from '../../dataset/paginators/per-block.ts';
import { ask, readRecords, write } from './ask.ts';
import { isOver, type WalkContext } from './walk-context.ts';

const Cursor = z.object({
  covered: z.array(z.object({ from: z.number(), to: z.number() })),
  borders: z.array(z.object({ utime: z.number(), seqno: z.number() })),
});

const Blocks = z.object({ blocks: z.array(z.object({ seqno: z.number() })) });

/** Masterchain blocks of one second, of which the last one's seqno is wanted. */
const OF_ONE_SECOND = 20;

/** Asks about every masterchain block of the range that was not asked about yet, the newest first. */
export async function walkBlocks(errand: WalkContext<PerBlockWalk>): Promise<void> {
  const { walk, range } = errand;
  const { paginator } = walk;
  let cursor = paginator.start(Cursor.safeParse(errand.stored).data);
  if (range === undefined) return;
  const to = await borderOf(errand, cursor, range.to);
  cursor = paginator.withBorder(cursor, { utime: range.to, seqno: to });
  const from = await borderOf(errand, cursor, range.from);
  cursor = paginator.withBorder(cursor, { utime: range.from, seqno: from });
  await errand.keep(cursor);
  // Blocks that are not there yet are passed over for now.
  let passed = cursor;
  for (;;) {
    const seqno = paginator.missing(passed, { from, to });
    if (seqno === undefined || isOver(errand)) return;
    passed = paginator.next(passed, seqno);
    cursor = (await readBlock(errand, cursor, seqno)) ?? cursor;
  }
}

async function readBlock(
  errand: WalkContext<PerBlockWalk>,
  cursor: SeqnoCursor,
  seqno: number,
): Promise<SeqnoCursor | undefined> {
  const { walk, context, dataset } = errand;
  try {
    const answer = await ask(errand, walk.paginator.request(seqno), walk.isWhole);
    const next = walk.paginator.next(cursor, seqno);
    const reading = readRecords(errand, answer, String(seqno));
    await write(errand, { answer, reading, cursor: next });
    return next;
  } catch (error) {
    // Below the watermark a 404 means later.
    if (!(error instanceof NotFoundError)) throw error;
    context.logger.warn({ dataset: dataset.name, seqno }, 'masterchain block is not there yet');
    return undefined;
  }
}

/** The seqno of the first masterchain block at or after a second: remembered, stored, or asked for. */
async function borderOf(
  errand: WalkContext<PerBlockWalk>,
  { borders }: SeqnoCursor,
  utime: number,
): Promise<number> {
  const known = borders.find((border) => border.utime === utime)?.seqno;
  return (
    known ?? (await readStoredBorder(errand.context.database, utime)) ?? (await askBorder(errand, utime))
  );
}

async function askBorder(
  { context, firstSeqno, priority, stop, pace }: WalkContext,
  utime: number,
): Promise<number> {
  await pace();
  const { value } = await context.api.get({
    path: '/api/v3/blocks',
    params: { workchain: -1, end_utime: utime - 1, sort: 'desc', limit: OF_ONE_SECOND },
    priority,
    signal: stop.leaving,
    parse: (body) => Blocks.parse(body).blocks,
  });
  return value.length === 0 ? firstSeqno : Math.max(...value.map(({ seqno }) => seqno)) + 1;
}
