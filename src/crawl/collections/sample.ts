import * as z from 'zod';
import type { SampleWalk } from '../../dataset/walk.ts';
import { ask } from './ask.ts';
import { readResponseRecords } from './read-response-records.ts';
import { writeResponse } from './write-response.ts';
import { nowOf, type WalkContext } from './walk-context.ts';

const Cursor = z.object({ taken: z.number() });

/** Takes one sample, unless the last one is not old enough. */
export async function walkSample(walkContext: WalkContext<SampleWalk>): Promise<void> {
  const now = nowOf(walkContext);
  const stored = Cursor.safeParse(walkContext.stored).data;
  if (stored !== undefined && now - stored.taken < walkContext.walk.everySeconds) return;
  const response = await ask(walkContext, {});
  await writeResponse(walkContext, {
    response,
    reading: readResponseRecords(walkContext, response, ''),
    cursor: { taken: now },
  });
}
