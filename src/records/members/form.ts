import * as z from 'zod';
import { withFastForm } from '../../dataset/declaration/fast-form.ts';
import { ACCOUNT } from '../../ton/address.ts';
import { MASTERCHAIN, SHARD } from '../../ton/shard.ts';

/*
 * Forms of TON's own names, as the servers print them. What does not fit is no such thing, however plausible it looks:
 * its record goes to quarantine, and it never becomes a key, a scope, a subject or a partition.
 */

const DIGIT = '[A-Za-z0-9+/]';
/** The 43rd digit, whose lowest two bits are 0. */
const LAST_DIGIT = '[AEIMQUYcgkosw048]';

/** For each unit of a string: 1 for a digit of base64, 3 for one that may be the last of a hash. */
const DIGITS = Uint8Array.from({ length: 2 ** 7 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  return Number(new RegExp(DIGIT).test(character)) + 2 * Number(new RegExp(LAST_DIGIT).test(character));
});

/** 256 bits in base64 with padding. */
export const hash = withFastForm(
  z.string().regex(new RegExp(`^${DIGIT}{42}${LAST_DIGIT}=$`), 'is not a hash: 44 characters of base64'),
  isHash,
);
export const optionalHash = hash.nullish();

export const account = z.string().regex(ACCOUNT, 'is not an account: workchain:HEX');

/**
 * An address that a message or a contract names. It need not be an account: any workchain, an external address
 * (`ext$LENGTH:HEX`), one of variable length (`var$WC:LENGTH:HEX`), none (`addr_none`, or an empty string where the server
 * joins columns).
 */
export const ADDRESS =
  /^(?:-?\d{1,10}:[0-9A-F]{64}|ext\$\d+:[0-9A-Fa-f]*|var\$-?\d+:\d+:[0-9A-Fa-f]*|addr_none|)$/;
export const address = z.string().regex(ADDRESS, 'is not an address: workchain:HEX, ext$, var$ or addr_none');
export const optionalAddress = address.nullish();

/** The masterchain and the one workchain that its configuration knows. */
export const workchain = z.literal([MASTERCHAIN, 0], { error: 'is not a workchain: -1 or 0' });

export const shard = z.string().regex(SHARD, 'is not a shard: up to 16 hex digits');

/** The number of a block within its shard. */
export const seqno = z.int32().min(0, 'is not a seqno: 0 or more');

export const accountStatus = z.enum(['nonexist', 'uninit', 'frozen', 'active']);

const HEX_KEY = /^[0-9A-Fa-f]{64}$/;

/** A public key or an ADNL address: 64 hex digits in upper case. */
export const optionalKey = z
  .string()
  .regex(/^[0-9A-F]{64}$/, 'is not a key: 64 hex digits')
  .nullish();

/** 256 bits in hex or, as build 1.3 has them, in base64; comes out as 64 hex digits in upper case. */
export const hexKey = z
  .string()
  .transform((text) =>
    (HEX_KEY.test(text) ? text : Buffer.from(text, 'base64').toString('hex')).toUpperCase(),
  )
  .refine((text) => HEX_KEY.test(text), 'is neither 64 hex digits nor 44 characters of base64')
  .nullish();

/** As the expression, in half the time: a third of a record are hashes. */
function isHash(value: unknown): boolean {
  if (typeof value !== 'string' || value.length !== 44 || value.charCodeAt(43) !== 61) return false;
  let all = 1;
  for (let at = 0; at < 42; at++) all &= DIGITS[value.charCodeAt(at)] ?? 0;
  return all === 1 && DIGITS[value.charCodeAt(42)] === 3;
}
