import * as z from 'zod';
import type { ListWalk } from '../../dataset/walk.ts';
import { ApiTimeoutError } from '../../errors.ts';
import { createPageSize } from '../page-size.ts';
import { ask, type WalkResponse } from './ask.ts';
import { readResponseRecords } from './read-response-records.ts';
import { writeResponse } from './write-response.ts';
import { isOver, nowOf, type WalkContext } from './walk-context.ts';

const Cursor = z.object({
  at: z.number(),
  end: z.number(),
  round: z.boolean(),
  ended: z.number().nullable(),
  beyond: z.number().nullable(),
});

/**
 * Reads a list on from where it stands, or looks whether something was appended. Where the server runs out of time even
 * for a small page, the rest is out of reach: what is seen of it elsewhere is looked up by name.
 */
export async function walkList(walkContext: WalkContext<ListWalk>): Promise<void> {
  const { walk, context } = walkContext;
  const { paginator } = walk;
  const size = createPageSize(paginator.maxSize);
  const stored = Cursor.safeParse(walkContext.stored).data;
  let cursor = paginator.start(stored, nowOf(walkContext), walk.rescanSeconds);
  while (cursor !== undefined && !isOver(walkContext)) {
    const request = paginator.request(cursor, size.current());
    const response = await askOrGiveUp(walkContext, request, (asked) => size.timedOut(asked));
    if (response === 'smaller') continue;
    if (response === 'beyond') {
      const beyond = paginator.giveUp(cursor, nowOf(walkContext));
      context.logger.warn(
        { dataset: walkContext.dataset.name, offset: cursor.at },
        'list goes on beyond reach',
      );
      await walkContext.keep(beyond);
      return;
    }
    size.arrived();
    const limit = response.request.limit ?? request.limit;
    const step = paginator.next(cursor, limit, response.value.records.length, nowOf(walkContext));
    await writeResponse(walkContext, {
      response,
      reading: readResponseRecords(walkContext, response, '', request.offset),
      cursor: step.cursor,
    });
    cursor = step.done ? undefined : step.cursor;
  }
}

async function askOrGiveUp(
  walkContext: WalkContext,
  request: Parameters<typeof ask>[1] & { readonly limit: number },
  timedOut: (size: number) => boolean,
): Promise<WalkResponse | 'smaller' | 'beyond'> {
  try {
    return await ask(walkContext, request);
  } catch (error) {
    if (!(error instanceof ApiTimeoutError)) throw error;
    return timedOut(request.limit) ? 'smaller' : 'beyond';
  }
}
