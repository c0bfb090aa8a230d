import { z } from 'zod';
import { count, digits, requiredInt64, text } from './scalar.ts';

/** One element of `jetton_wallets` of GET /api/v3/jetton/wallets. */
export const jettonWallet = z.strictObject({
  address: z.string(),
  balance: digits,
  owner: text,
  jetton: text,
  last_transaction_lt: requiredInt64,
  code_hash: text,
  data_hash: text,
  mintless_info: z
    .strictObject({
      amount: digits,
      start_from: count,
      expire_at: count,
      custom_payload_api_uri: z.array(z.string()).nullish(),
    })
    .nullish(),
});

export type JettonWallet = z.output<typeof jettonWallet>;
