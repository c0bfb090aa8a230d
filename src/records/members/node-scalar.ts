import * as z from 'zod';
import { parseAddress } from '../../ton/address.ts';
import { parseHash } from '../../ton/hash.ts';
import { requiredInt, requiredInt64 } from './scalar.ts';

/*
 * v2's records. Addresses, shards and hashes come out in the form in which v3 prints them, so that both can be joined.
 * Every `@type` is a tag that the member's place says already: it is read and dropped.
 */

export const tag = z.string().optional();

/** Runs a parser of this program within a schema. */
function parsed(parse: (word: string) => string) {
  return z.string().transform((word, context) => {
    try {
      return parse(word);
    } catch {
      context.addIssue({ code: 'custom', message: 'cannot be read' });
      return z.NEVER;
    }
  });
}

export const address = parsed((word) => parseAddress(word));
export const hash = parsed(parseHash);
/** Empty where there is none. */
export const optionalAddress = z.union([z.literal('').transform(() => null), address]).nullish();
export const optionalHash = z.union([z.literal('').transform(() => null), hash]).nullish();

/** A signed number, as upper-case hex without sign. */
const shard = z
  .string()
  .regex(/^-?\d{1,20}$/)
  .transform((number) => BigInt.asUintN(64, BigInt(number)).toString(16).toUpperCase());

export const blockIdExt = z.strictObject({
  '@type': tag,
  workchain: requiredInt,
  shard,
  seqno: requiredInt,
  root_hash: hash,
  file_hash: hash,
});

export const accountAddress = z.strictObject({ '@type': tag, account_address: address });
export const currency = z.strictObject({ '@type': tag, id: z.int(), amount: z.string() });
export const transactionId = z.strictObject({ '@type': tag, lt: requiredInt64, hash });
