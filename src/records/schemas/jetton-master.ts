import { z } from 'zod';
import { digits, flag, requiredInt64, text } from './scalar.ts';
import { freeForm } from './free-form.ts';

/** One element of `jetton_masters` of GET /api/v3/jetton/masters. */
export const jettonMaster = z.strictObject({
  address: z.string(),
  total_supply: digits,
  mintable: flag,
  admin_address: text,
  jetton_content: freeForm,
  jetton_wallet_code_hash: text,
  code_hash: text,
  data_hash: text,
  last_transaction_lt: requiredInt64,
});

export type JettonMaster = z.output<typeof jettonMaster>;
