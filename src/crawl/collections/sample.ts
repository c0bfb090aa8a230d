import { z } from 'zod';
import type { SampleWalk } from '../../dataset/walk.ts';
import { ask } from './ask.ts';
import { readAnswerRecords } from './read-answer-records.ts';
import { writeAnswer } from './write-answer.ts';
import { nowOf, type WalkContext } from './walk-context.ts';

const Cursor = z.object({ taken: z.number() });

/** Takes one sample, unless the last one is not old enough. */
export async function walkSample(walkContext: WalkContext<SampleWalk>): Promise<void> {
  const now = nowOf(walkContext);
  const stored = Cursor.safeParse(walkContext.stored).data;
  if (stored !== undefined && now - stored.taken < walkContext.walk.everySeconds) return;
  const answer = await ask(walkContext, {});
  await writeAnswer(walkContext, {
    answer,
    reading: readAnswerRecords(walkContext, answer, ''),
    cursor: { taken: now },
  });
}
