import { z } from 'zod';
import { freeForm } from './free-form.ts';
import { digits, flag, requiredInt64, requiredSeconds, text } from './scalar.ts';

/**
 * One element of `jetton_transfers` of GET /api/v3/jetton/transfers: a transfer that left its sender's jetton wallet.
 * Servers leave out those of aborted transactions. Payloads are bags of cells in base64, `decoded_…` what the server's
 * decoder made of them.
 */
export const jettonTransfer = z.strictObject({
  query_id: digits,
  source: text,
  destination: text,
  amount: digits,
  source_wallet: text,
  jetton_master: text,
  transaction_hash: z.string(),
  transaction_lt: requiredInt64,
  transaction_now: requiredSeconds,
  transaction_aborted: flag,
  response_destination: text,
  custom_payload: text,
  decoded_custom_payload: freeForm,
  forward_ton_amount: digits,
  forward_payload: text,
  decoded_forward_payload: freeForm,
  trace_id: text,
});

export type JettonTransfer = z.output<typeof jettonTransfer>;
