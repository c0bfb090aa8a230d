import { LosslessNumber } from 'lossless-json';
import * as z from 'zod';
import {
  NO_AMOUNT,
  optional,
  withOtherForms,
  canonicalOf,
  asMoment,
  column,
  elsewhere,
} from '../dataset/declaration/record.ts';
import { formatTime, readSeconds } from '../range.ts';
import { ACCOUNT, readAddress, readHash } from '../ton/address.ts';
import { MASTERCHAIN, readShard, SHARD } from '../ton/shard.ts';

/*
 * The API's scalars. Each schema accepts the one form that its columns hold, which is mostly the servers' form, and
 * converts other forms that the document or another server may use. An ambiguous form is rejected: its record goes to
 * quarantine. Every bound here is one of Postgres: a value that a column cannot take must fail its own record, not its
 * whole page.
 */

const INT64_DIGITS = /^-?\d{1,19}$/;
const INT64_MAX = 2n ** 63n - 1n;
const UINT32_MAX = 2 ** 32 - 1;
const FINALITIES = ['pending', 'confirmed', 'finalized'];

const requiredText = withOtherForms(z.string(), (value) => digitsOf(value) ?? value);
export const text = requiredText.nullish();
export const texts = z.array(z.string()).nullish();

/** A boolean; also 0 and 1, and both as text. */
export const requiredFlag = withOtherForms(z.boolean(), (value) => FLAGS.get(value) ?? value);
export const flag = requiredFlag.nullish();

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>(
  [false, true].flatMap((flag) =>
    [Number(flag), String(Number(flag)), String(flag)].map((form): [unknown, boolean] => [form, flag]),
  ),
);

/** 32 bits, signed, as Go's int32; also as a string of digits. */
export const requiredInt = withOtherForms(z.int32(), numberOf);
export const int = optional(requiredInt);

/** A whole number that fits a JavaScript number; also as a string of digits. */
export const requiredCount = withOtherForms(z.int(), numberOf);
export const count = optional(requiredCount);

/** A number that may have a fraction; also as text, or in a notation that JavaScript does not use. */
export const real = optional(
  withOtherForms(z.number('is not a number'), (value) =>
    value instanceof LosslessNumber || (typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value))
      ? Number(String(value))
      : value,
  ),
);

/** 64 bits as a string of digits: logical times, gas. Also as a number, and with leading zeros. */
export const requiredInt64 = withOtherForms(
  z.string().regex(INT64_DIGITS).refine(fitsInt64, 'is not a number of 64 bits'),
  (value) => {
    const digits = digitsOf(value) ?? value;
    return typeof digits === 'string' && /^-?0\d{1,18}$/.test(digits) ? BigInt(digits).toString() : digits;
  },
);
export const int64 = optional(requiredInt64);

/** Nanotons and other amounts as a string of at most 38 digits; also as a number. */
export const requiredDigits = withOtherForms(
  z.string().regex(/^-?\d{1,38}$/, NO_AMOUNT),
  (value) => digitsOf(value) ?? value,
);
export const digits = optional(requiredDigits);

/** A whole number of up to 256 bits as a string of digits; also as a number. */
const requiredWideDigits = withOtherForms(
  z.string().regex(/^-?\d{1,1000}$/, 'is not a string of digits'),
  (value) => digitsOf(value) ?? value,
);
export const wideDigits = optional(requiredWideDigits);

/** Unix seconds, a number or a string of digits; `timeOf` reads both. */
export const requiredSeconds = asMoment(
  z
    .union([z.number(), z.string()])
    .refine((value) => readSeconds(value) !== undefined, 'is not a unix time of 32 bits'),
);
export const seconds = optional(requiredSeconds);

export type Seconds = z.output<typeof requiredSeconds>;

/** Amounts of extra currencies by currency id; also as a list. `{}` is not null: it means that there were none. */
export const extraCurrencies = withOtherForms(
  z.record(z.string(), requiredWideDigits).nullish(),
  currenciesOf,
);

/**
 * A message's operation code: `0x` and 8 lower-case hex digits. Also with other digits after 0x, as an integer, or as
 * the integer's digits. Exactly 8 digits are rejected, because they may be hex.
 */
export const opcode = optional(
  withOtherForms(z.string().regex(/^0x[0-9a-f]{8}$/, 'is not an opcode: 0x and 8 hex digits'), opcodeOf),
);

/** How final a record is: the servers' word; also the document's integer. */
export const finality = withOtherForms(z.string().refine(isNoInteger, 'is not a word'), (value) => {
  const text = digitsOf(value) ?? value;
  return typeof text === 'string' && /^\d$/.test(text) ? (FINALITIES[Number(text)] ?? text) : text;
}).nullish();

/** False for the document's integers, which are converted to the servers' words. */
function isNoInteger(word: string): boolean {
  return !/^[0-2]$/.test(word);
}

/** JSON whose shape the API does not define, stored unchanged; it may be omitted. */
export const freeForm = z.unknown().optional();

/** ISO 8601 of unix seconds. */
export function timeOf(time: Seconds): string {
  return formatTime(Number(time));
}

/**
 * True for the one form that Postgres prints, because the text of a key is hashed. It is also called for strings that
 * the regular expression has rejected: these are not numbers, and must not be converted.
 */
function fitsInt64(value: string): boolean {
  if (value.startsWith('-0') || (value.startsWith('0') && value.length > 1)) return false;
  if (value.length < 19 || !INT64_DIGITS.test(value)) return true;
  const number = BigInt(value);
  return number <= INT64_MAX && number >= -INT64_MAX - 1n;
}

/** The digits of a whole number that has not lost precision. */
function digitsOf(value: unknown): string | undefined {
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : undefined;
}

/** The number of a string of digits; other values stay the same. */
function numberOf(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

function opcodeOf(value: unknown): unknown {
  const text = digitsOf(value) ?? value;
  if (typeof text !== 'string') return value;
  const isCode = /^0x[\da-f]{1,8}$/i.test(text) || (/^-?\d{1,10}$/.test(text) && !isAmbiguous(value));
  const code = isCode ? Number(text) : Number.NaN;
  return code >= -(2 ** 31) && code <= UINT32_MAX ? `0x${(code >>> 0).toString(16).padStart(8, '0')}` : value;
}

function isAmbiguous(code: unknown): boolean {
  return typeof code === 'string' && /^\d{8}$/.test(code);
}

const Currencies = z.array(z.object({ id: z.union([z.int(), z.string()]), amount: z.unknown() }));

/** Converts a list of currencies to a map, unless one occurs twice. */
function currenciesOf(value: unknown): unknown {
  const list = Array.isArray(value) ? Currencies.safeParse(value).data : undefined;
  if (list === undefined) return value;
  const map = Object.fromEntries(list.map(({ id, amount }) => [id, digitsOf(amount) ?? amount]));
  return Object.keys(map).length === list.length ? map : value;
}

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

export const tag = elsewhere(z.string().optional());

export const blockIdExt = z.strictObject({
  '@type': tag,
  workchain: requiredInt,
  shard,
  seqno: requiredInt,
  root_hash: hash,
  file_hash: hash,
});

export const accountAddress = z.strictObject({
  '@type': tag,
  account_address: column('address', account),
});
export const currency = z.strictObject({ '@type': tag, id: requiredCount, amount: requiredDigits });
export const transactionId = z.strictObject({ '@type': tag, lt: requiredInt64, hash });
