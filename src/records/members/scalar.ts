import { LosslessNumber } from 'lossless-json';
import * as z from 'zod';
import { NO_AMOUNT, optional, withOtherForms } from '../../dataset/declaration/record.ts';
import { asMoment } from '../../dataset/declaration/row-layout.ts';
import { formatTime, readSeconds } from '../../range.ts';

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

/** ISO 8601 of `seconds`; null if they were not sent. */
export function momentOf(time: z.output<typeof seconds>): string | null {
  return time == null ? null : timeOf(time);
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
