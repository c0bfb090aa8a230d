import { z } from 'zod';
import { freeForm } from './free-form.ts';
import { digits, flag, requiredInt64, requiredSeconds, text } from './scalar.ts';

/** One element of `jetton_burns` of GET /api/v3/jetton/burns, those of aborted transactions included. */
export const jettonBurn = z.strictObject({
  query_id: digits,
  owner: text,
  jetton_wallet: text,
  jetton_master: text,
  transaction_hash: z.string(),
  transaction_lt: requiredInt64,
  transaction_now: requiredSeconds,
  transaction_aborted: flag,
  amount: digits,
  response_destination: text,
  custom_payload: text,
  decoded_custom_payload: freeForm,
  trace_id: text,
});

export type JettonBurn = z.output<typeof jettonBurn>;
