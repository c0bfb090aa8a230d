import { z } from 'zod';
import { flag, text } from './scalar.ts';
import { freeForm } from './free-form.ts';

/** An entry of an `address_book`, with its key as `address`. */
export const bookEntry = z.strictObject({
  address: z.string(),
  user_friendly: text,
  domain: text,
  interfaces: z.array(z.string()).nullish(),
});

export type BookEntry = z.output<typeof bookEntry>;

const tokenInfo = z.strictObject({
  valid: flag,
  type: text,
  name: text,
  symbol: text,
  description: text,
  image: text,
  nft_index: text,
  is_nsfw: flag,
  is_scam: flag,
  extra: freeForm,
});

/** An entry of a `metadata` map, with its key as `address`. */
export const metadataEntry = z.strictObject({
  address: z.string(),
  is_indexed: z.boolean(),
  token_info: z.array(tokenInfo).nullish(),
});

export type MetadataEntry = z.output<typeof metadataEntry>;
