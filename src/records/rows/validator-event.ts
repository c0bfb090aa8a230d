import type { ValidatorEvent } from '../schemas/validator-event.ts';
import type { validator_events } from '../../db/schema/validator-events.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The row of an event of the elector; all its members are columns. */
export function validatorEventRow(
  { utime, ...columns }: ValidatorEvent,
  extra: Extra,
): typeof validator_events.$inferInsert {
  return { utime: formatTime(utime), ...columns, extra: orNull(extra) };
}
