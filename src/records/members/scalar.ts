import * as z from 'zod';
import { withFastForm } from '../../dataset/declaration/fast-form.ts';
import { asMoment } from '../../dataset/declaration/place.ts';
import { formatTime, readSeconds } from '../../range.ts';

/*
 * The API's scalars. Where its document and its servers differ in form, both forms are accepted and the servers' form
 * comes out. Every bound here is Postgres': a value that a column could not take must fail its own record, not the
 * whole page that it came in.
 */

const INT64_DIGITS = /^-?\d{1,19}$/;
const INT64_MAX = 2n ** 63n - 1n;
const UINT32_MAX = 2 ** 32 - 1;
const FINALITIES = ['pending', 'confirmed', 'finalized'];

export const text = z.string().nullish();
export const texts = z.array(z.string()).nullish();
export const flag = z.boolean().nullish();

/** 32 bits, signed, as Go's int32. */
export const requiredInt = z.int32();
export const int = requiredInt.nullish();

/** A whole number that fits a JavaScript number. */
export const count = z.int().nullish();

/** 64 bits as a string of digits: logical times, gas. */
export const requiredInt64 = z.string().regex(INT64_DIGITS).refine(fitsInt64, 'is not a number of 64 bits');
export const int64 = requiredInt64.nullish();

/** Nanotons and other amounts as a string of digits, of any length that `numeric` takes. */
export const requiredDigits = z.string().regex(/^-?\d{1,1000}$/, 'is not a string of digits');
export const digits = requiredDigits.nullish();

/** Unix seconds, a number or a string of digits; `timeOf` reads both. */
export const requiredSeconds = asMoment(
  z
    .union([z.number(), z.string()])
    .refine((value) => readSeconds(value) !== undefined, 'is not a unix time of 32 bits'),
);
export const seconds = requiredSeconds.nullish();

export type Seconds = z.output<typeof requiredSeconds>;

/** Amounts of extra currencies by currency id. `{}` is not null: it says that there were none. */
export const extraCurrencies = z.record(z.string(), requiredDigits).nullish();

/** A message's operation code: `0x` and 8 lower-case hex digits, or the document's integer; comes out as the former. */
export const opcode = withFastForm(
  z
    .union([
      z.string().regex(/^0x[0-9a-fA-F]{1,8}$/),
      z
        .int()
        .min(-(2 ** 31))
        .max(UINT32_MAX),
    ])
    .transform((code) => `0x${(Number(code) >>> 0).toString(16).padStart(8, '0')}`),
  (value) => typeof value === 'string' && /^0x[0-9a-f]{8}$/.test(value),
).nullish();

/** How final a record is: the servers' word, or the document's integer; comes out as the word. */
export const finality = withFastForm(
  z
    .union([z.string(), z.int()])
    .transform((value) => (typeof value === 'string' ? value : (FINALITIES[value] ?? String(value)))),
  (value) => typeof value === 'string',
).nullish();

/** JSON whose shape is not the API's own, kept as it came; it may be left out. */
export const freeForm = z.unknown().optional();

/** ISO 8601 of unix seconds. */
export function timeOf(time: Seconds): string {
  return formatTime(Number(time));
}

/** ISO 8601 of `seconds`; null where they were not sent. */
export function momentOf(time: z.output<typeof seconds>): string | null {
  return time == null ? null : timeOf(time);
}

/**
 * Only in the one form that Postgres prints: the text of a key is hashed. Asked of strings too that the expression before it has
 * refused: those are no numbers, and must not be made one.
 */
function fitsInt64(value: string): boolean {
  if (value.startsWith('-0') || (value.startsWith('0') && value.length > 1)) return false;
  if (value.length < 19 || !INT64_DIGITS.test(value)) return true;
  const number = BigInt(value);
  return number <= INT64_MAX && number >= -INT64_MAX - 1n;
}
