import { z } from 'zod';
import { requiredSeconds } from './members/scalar.ts';

/** Where a transfer or burn lies: at the transaction that it is. */
export const transferPosition = z
  .looseObject({
    transaction_now: requiredSeconds,
    transaction_lt: z.string().catch('0'),
    transaction_hash: z.string(),
  })
  .transform((raw) => ({ utime: raw.transaction_now, lt: raw.transaction_lt, id: raw.transaction_hash }));

/** Where an event of the elector or of a pool lies: at the transaction that it is. */
export const eventPosition = z
  .looseObject({ utime: requiredSeconds, tx_lt: z.string().catch('0'), tx_hash: z.string() })
  .transform((raw) => ({ utime: raw.utime, lt: raw.tx_lt, id: raw.tx_hash }));
