import { z } from 'zod';
import { freeForm } from './free-form.ts';
import { digits, flag, requiredInt64, requiredSeconds, text } from './scalar.ts';

/** One element of `nft_transfers` of GET /api/v3/nft/transfers, those of aborted transactions included. */
export const nftTransfer = z.strictObject({
  query_id: digits,
  nft_address: text,
  nft_collection: text,
  transaction_hash: z.string(),
  transaction_lt: requiredInt64,
  transaction_now: requiredSeconds,
  transaction_aborted: flag,
  old_owner: text,
  new_owner: text,
  response_destination: text,
  custom_payload: text,
  decoded_custom_payload: freeForm,
  forward_amount: digits,
  forward_payload: text,
  decoded_forward_payload: freeForm,
  trace_id: text,
});

export type NftTransfer = z.output<typeof nftTransfer>;
