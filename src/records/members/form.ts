import * as z from 'zod';
import { canonicalOf, optional, withOtherForms } from '../../dataset/declaration/record.ts';
import { ACCOUNT, readAddress } from '../../ton/address.ts';
import { readHash } from '../../ton/hash.ts';
import { MASTERCHAIN, readShard, SHARD } from '../../ton/shard.ts';
import { requiredInt, requiredCount, requiredDigits, requiredInt64 } from './scalar.ts';

/*
 * Forms of TON's own names, as the servers of v3 print them and the tables hold them. Other forms with only one meaning
 * are read, too: raw addresses in lower case and friendly ones, hashes in hex and base64url, and shards in decimal, as
 * in v2. Any other value is rejected, however plausible it looks: its record goes to quarantine, and it never becomes a
 * key, a scope, a subject or a partition.
 */

/** 256 bits in base64 with padding, so the lowest two bits of the last digit are 0; also in hex or base64url. */
export const hash = withOtherForms(
  z.string().regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, 'is not a hash: 44 characters of base64'),
  ofText(readHash),
);
export const optionalHash = optional(hash);

/** An account in raw form; also in lower case or friendly. */
export const account = withOtherForms(
  z.string().regex(ACCOUNT, 'is not an account: workchain:HEX'),
  ofText(readAddress),
);

/**
 * An address that a message or a contract names. It need not be an account. It may be in any workchain, external
 * (`ext$LENGTH:HEX`), of variable length (`var$WC:LENGTH:HEX`), or missing (`addr_none`, or an empty string if the
 * server joins columns).
 */
export const ADDRESS =
  /^(?:-?\d{1,10}:[0-9A-F]{64}|ext\$\d+:[0-9A-Fa-f]*|var\$-?\d+:\d+:[0-9A-Fa-f]*|addr_none|)$/;
export const address = withOtherForms(
  z.string().regex(ADDRESS, 'is not an address: workchain:HEX, ext$, var$ or addr_none'),
  ofText(readAddress),
);
export const optionalAddress = address.nullish();
/** As in v2: an empty string means that there is none. */
export const addressOrNone = optional(
  withOtherForms(
    address.refine((word) => word !== '', 'is empty'),
    ofText(readAddress),
  ),
);
export const addresses = z.array(address).nullish();

/** The masterchain and the one workchain that its configuration knows. */
export const workchain = withOtherForms(
  z.literal([MASTERCHAIN, 0], { error: 'is not a workchain: -1 or 0' }),
  (value) => canonicalOf(requiredInt, value),
);

/** A shard in hex without padding; also in another form of hex, or in decimal. */
export const shard = withOtherForms(
  z.string().regex(SHARD, 'is not a shard: up to 16 hex digits'),
  (value) =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
      ? (readShard(value) ?? value)
      : value,
);

/** The number of a block within its shard. */
export const seqno = withOtherForms(z.int32().min(0, 'is not a seqno: 0 or more'), (value) =>
  canonicalOf(requiredInt, value),
);

const STATUSES = ['nonexist', 'uninit', 'frozen', 'active'] as const;
/** Also as in v2, and in upper case. */
export const accountStatus = withOtherForms(
  z.enum(STATUSES),
  ofText((word) => {
    const lower = word.toLowerCase();
    return lower === 'uninitialized' ? 'uninit' : lower;
  }),
);

/**
 * A public key or an ADNL address: 64 hex digits in upper case; also in base64, which build 1.3 uses for some of them.
 */
export const optionalKey = optional(
  withOtherForms(
    z.string().regex(/^[0-9A-F]{64}$/, 'is not a key: 64 hex digits'),
    ofText((word) => {
      const hash = readHash(word);
      return hash && Buffer.from(hash, 'base64').toString('hex').toUpperCase();
    }),
  ),
);

/** Applies `read` to a text; other values stay the same. */
function ofText(read: (word: string) => string | undefined): (value: unknown) => unknown {
  return (value) => (typeof value === 'string' ? (read(value) ?? value) : value);
}

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
