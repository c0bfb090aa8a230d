import { UsageError } from '../errors.ts';

const HEX = /^(?:0x)?([0-9a-f]{64})$/i;
/** 43 digits hold 258 bits, so the lowest two bits of the last digit must be 0. */
const BASE64 = /^[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?$/;

/**
 * A 256-bit hash in base64 with padding, as the API prints it and the tables store it, from hex (with or
 * without 0x), base64 or base64url. Undefined for anything else.
 */
export function readHash(text: string): string | undefined {
  const hex = HEX.exec(text)?.[1];
  if (hex !== undefined) return Buffer.from(hex, 'hex').toString('base64');
  // Node decodes both alphabets.
  return BASE64.test(text) ? Buffer.from(text, 'base64').toString('base64') : undefined;
}

/**
 * Like `readHash`, for user input.
 * @throws UsageError for anything else
 */
export function parseHash(text: string): string {
  const hash = readHash(text.trim());
  if (hash !== undefined) return hash;
  throw new UsageError(`"${text}" is not a hash`, {
    hint: 'A hash is 64 hex digits (0x may stand before them), or 44 characters of base64 or base64url.',
  });
}
