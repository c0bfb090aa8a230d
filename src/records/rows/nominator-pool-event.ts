import type { NominatorPoolEvent } from '../schemas/nominator-pool-event.ts';
import type { nominator_pool_events } from '../../db/schema/nominator-pool-events.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';
import { momentOf } from './moment.ts';

/** The row of an event of a nominator pool; all its members are columns. */
export function nominatorPoolEventRow(
  { utime, cycle_start, ...columns }: NominatorPoolEvent,
  extra: Extra,
): typeof nominator_pool_events.$inferInsert {
  return {
    utime: formatTime(utime),
    ...columns,
    cycle_start: momentOf(cycle_start),
    extra: orNull(extra),
  };
}
