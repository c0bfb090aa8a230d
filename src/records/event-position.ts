import { z } from 'zod';
import { requiredSeconds } from './members/scalar.ts';

/** Where an event of the elector or of a pool lies: at the transaction that it is. */
export const eventPosition = z
  .looseObject({ utime: requiredSeconds, tx_lt: z.string().catch('0'), tx_hash: z.string() })
  .transform((raw) => ({ utime: raw.utime, lt: raw.tx_lt, id: raw.tx_hash }));
