import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { parseHash } from '../../src/ton/address.ts';

const BYTES = Buffer.from(Array.from({ length: 32 }, (_, index) => (index * 37 + 251) % 256));
const BASE64 = BYTES.toString('base64');

describe('a hash', () => {
  test.each([
    ['hex', BYTES.toString('hex')],
    ['upper-case hex', BYTES.toString('hex').toUpperCase()],
    ['0x before hex', `0x${BYTES.toString('hex')}`],
    ['base64', BASE64],
    ['base64 without padding', BASE64.replace('=', '')],
    ['base64url', BYTES.toString('base64url')],
    ['base64url with padding', `${BYTES.toString('base64url')}=`],
    ['space around it', ` ${BASE64}\n`],
  ])('is read from %s', (_, text) => {
    expect(BASE64).toMatch(/[+/]/);
    expect(parseHash(text)).toBe(BASE64);
  });

  test.each([
    ['nothing', ''],
    ['63 hex digits', BYTES.toString('hex').slice(1)],
    ['31 bytes', BYTES.subarray(1).toString('base64')],
    ['33 bytes', Buffer.concat([BYTES, BYTES.subarray(0, 1)]).toString('base64')],
    ['bits behind the 256th', `${BASE64.slice(0, 42)}B=`],
    ['another character', `${BASE64.slice(0, 42)}!=`],
  ])('is not read from %s', (_, text) => {
    expect(() => parseHash(text)).toThrow(UsageError);
  });
});
