import type { JettonBurn } from '../schemas/jetton-burn.ts';
import type { jetton_burns } from '../../db/schema/jetton-burns.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The row of a burn of jettons; all its members are columns. */
export function jettonBurnRow(
  { transaction_now, ...columns }: JettonBurn,
  extra: Extra,
): typeof jetton_burns.$inferInsert {
  return { utime: formatTime(transaction_now), ...columns, extra: orNull(extra) };
}
