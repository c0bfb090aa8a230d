import type { JettonTransfer } from '../schemas/jetton-transfer.ts';
import type { jetton_transfers } from '../../db/schema/jetton-transfers.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The row of a transfer of jettons; all its members are columns. */
export function jettonTransferRow(
  { transaction_now, ...columns }: JettonTransfer,
  extra: Extra,
): typeof jetton_transfers.$inferInsert {
  return { utime: formatTime(transaction_now), ...columns, extra: orNull(extra) };
}
