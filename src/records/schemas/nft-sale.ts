import { z } from 'zod';
import { int64, seconds, text } from './scalar.ts';
import { freeForm } from './free-form.ts';
import { nftItem } from './nft-item.ts';

/** One element of `nft_sales` of GET /api/v3/nft/sales. */
export const nftSale = z.strictObject({
  type: z.string(),
  address: z.string(),
  nft_address: text,
  nft_owner_address: text,
  marketplace_address: text,
  created_at: seconds,
  last_transaction_lt: int64,
  code_hash: text,
  data_hash: text,
  details: freeForm,
  nft_item: nftItem.nullish(),
});

export type NftSale = z.output<typeof nftSale>;
