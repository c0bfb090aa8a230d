import { z } from 'zod';
import type { SampleWalk } from '../../dataset/walk.ts';
import { ask, readRecords, write } from './ask.ts';
import { nowOf, type WalkContext } from './walk-context.ts';

const Cursor = z.object({ taken: z.number() });

/** Takes one sample, unless the last one is not old enough. */
export async function walkSample(errand: WalkContext<SampleWalk>): Promise<void> {
  const now = nowOf(errand);
  const stored = Cursor.safeParse(errand.stored).data;
  if (stored !== undefined && now - stored.taken < errand.walk.everySeconds) return;
  const answer = await ask(errand, {});
  await write(errand, { answer, reading: readRecords(errand, answer, ''), cursor: { taken: now } });
}
