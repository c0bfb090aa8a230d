import * as z from 'zod';
import { account, hash, shard } from './form.ts';
import { requiredCount, requiredDigits, requiredInt, requiredInt64 } from './scalar.ts';

/*
 * Records of v2. The schemas of v3 read their members, so that both can be joined. A `@type` only repeats the position
 * of its member: it is read and dropped.
 */

export const tag = z.string().optional();

export const blockIdExt = z.strictObject({
  '@type': tag,
  workchain: requiredInt,
  shard,
  seqno: requiredInt,
  root_hash: hash,
  file_hash: hash,
});

export const accountAddress = z.strictObject({ '@type': tag, account_address: account });
export const currency = z.strictObject({ '@type': tag, id: requiredCount, amount: requiredDigits });
export const transactionId = z.strictObject({ '@type': tag, lt: requiredInt64, hash });
