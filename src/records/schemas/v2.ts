import { z } from 'zod';
import { parseAddress } from '../../ton/address.ts';
import { parseHash } from '../../ton/hash.ts';
import { digits, requiredInt, requiredInt64, requiredSeconds, text } from './scalar.ts';

/*
 * v2's records. Addresses, shards and hashes come out in the form in which v3 prints them, so that both can be joined.
 * Every `@type` is a tag that the member's place says already: it is read and dropped.
 */

const tag = z.string().optional();

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

const address = parsed((word) => parseAddress(word));
const hash = parsed(parseHash);
/** Empty where there is none. */
const optionalAddress = z.union([z.literal('').transform(() => null), address]).nullish();
const optionalHash = z.union([z.literal('').transform(() => null), hash]).nullish();

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

const accountAddress = z.strictObject({ '@type': tag, account_address: address });
const currency = z.strictObject({ '@type': tag, id: z.int(), amount: z.string() });
const transactionId = z.strictObject({ '@type': tag, lt: requiredInt64, hash });

const messageData = z.strictObject({
  '@type': z.string(),
  body: text,
  init_state: text,
  text,
});

const extMessage = z.strictObject({
  '@type': tag,
  hash,
  source: optionalAddress,
  destination: optionalAddress,
  value: digits,
  extra_currencies: z.array(currency).nullish(),
  fwd_fee: digits,
  ihr_fee: digits,
  created_lt: requiredInt64,
  body_hash: optionalHash,
  msg_data: messageData,
  message: text,
  message_decode_error: text,
});

export type ExtMessage = z.output<typeof extMessage>;

/** One element of the result of getTransactions, and the result of tryLocateTx. */
export const extTransaction = z.strictObject({
  '@type': tag,
  address: accountAddress,
  account: address,
  utime: requiredSeconds,
  data: text,
  transaction_id: transactionId,
  fee: digits,
  storage_fee: digits,
  other_fee: digits,
  in_msg: extMessage.nullish(),
  out_msgs: z.array(extMessage).nullish(),
});

export type ExtTransaction = z.output<typeof extTransaction>;

/** The result of getExtendedAddressInformation. The account's own state has members by its kind, all kept. */
export const fullAccountState = z.strictObject({
  '@type': tag,
  address: accountAddress,
  balance: digits,
  extra_currencies: z.array(currency).nullish(),
  last_transaction_id: transactionId,
  block_id: blockIdExt,
  sync_utime: requiredSeconds,
  account_state: z.looseObject({ '@type': z.string() }),
  revision: z.int().nullish(),
});

export type FullAccountState = z.output<typeof fullAccountState>;

/** The result of getShardBlockProof. */
export const shardBlockProof = z.strictObject({
  '@type': tag,
  from: blockIdExt,
  mc_id: blockIdExt,
  links: z.array(z.strictObject({ '@type': tag, id: blockIdExt, proof: z.string() })),
  mc_proof: z.array(
    z.strictObject({
      '@type': tag,
      to_key_block: z.boolean(),
      from: blockIdExt,
      to: blockIdExt,
      dest_proof: z.string(),
      proof: z.string(),
      state_proof: z.string(),
    }),
  ),
});

export type ShardBlockProof = z.output<typeof shardBlockProof>;

/** The result of getMasterchainInfo: the node's head. */
export const nodeHead = z.strictObject({
  '@type': tag,
  last: blockIdExt,
  state_root_hash: hash,
  init: blockIdExt,
});

export type NodeHead = z.output<typeof nodeHead>;
