import { z } from 'zod';
import type { SampleWalk } from '../../dataset/walk.ts';
import { ask, readRecords, write } from './ask.ts';
import { nowOf, type WalkContext } from './walk-context.ts';

const Cursor = z.object({ taken: z.number() });

/** Takes one sample, unless the last one is not old enough. */
export async function walkSample(walkContext: WalkContext<SampleWalk>): Promise<void> {
  const now = nowOf(walkContext);
  const stored = Cursor.safeParse(walkContext.stored).data;
  if (stored !== undefined && now - stored.taken < walkContext.walk.everySeconds) return;
  const answer = await ask(walkContext, {});
  await write(walkContext, { answer, reading: readRecords(walkContext, answer, ''), cursor: { taken: now } });
}
