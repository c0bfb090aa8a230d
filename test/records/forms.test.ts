import { describe, expect, test } from 'vitest';
import type * as z from 'zod';
import { canonicalOf } from '../../src/dataset/declaration/record.ts';
import * as form from '../../src/records/members/form.ts';
import * as scalar from '../../src/records/members/scalar.ts';
import { formatAddress, readAddress } from '../../src/ton/address.ts';
import { readShard } from '../../src/ton/shard.ts';

const RAW = `-1:${'0AF'.repeat(21)}0`;
const HASH = Buffer.alloc(32, 0xfb).toString('base64');
const HEX = 'fb'.repeat(32);

/** The value that a schema reads from another form; undefined if it refuses it. */
function read(schema: z.ZodType, value: unknown): unknown {
  const { success, data } = schema.safeParse(canonicalOf(schema, value));
  return success ? (data ?? null) : undefined;
}

const SAME: readonly (readonly [
  name: string,
  schema: z.ZodType,
  canonical: unknown,
  forms: readonly unknown[],
])[] = [
  [
    'an account',
    form.account,
    RAW,
    [
      RAW.toLowerCase(),
      formatAddress(RAW),
      formatAddress(RAW, { bounceable: false }),
      formatAddress(RAW, { testnet: true }),
      Buffer.from(formatAddress(RAW), 'base64url').toString('base64'),
    ],
  ],
  ['an address', form.address, RAW, [RAW.toLowerCase(), formatAddress(RAW)]],
  [
    'a hash',
    form.hash,
    HASH,
    [
      HEX,
      HEX.toUpperCase(),
      `0x${HEX}`,
      HASH.replace('=', ''),
      HASH.replaceAll('+', '-').replaceAll('/', '_'),
    ],
  ],
  ['a key', form.optionalKey, HEX.toUpperCase(), [HEX, `0x${HEX}`, HASH, HASH.replace('=', '')]],
  [
    'a shard',
    form.shard,
    '8000000000000000',
    ['-9223372036854775808', '9223372036854775808', -(2n ** 63n), '0x8000000000000000'],
  ],
  ['a deep shard', form.shard, '20000000000000', ['9007199254740992', 2 ** 53, '0020000000000000']],
  ['a workchain', form.workchain, -1, ['-1']],
  ['a seqno', form.seqno, 7, ['7', '007']],
  ['a status', form.accountStatus, 'uninit', ['uninitialized', 'UNINIT']],
  ['a logical time', scalar.int64, '17', [17, 17n, '017']],
  ['an amount', scalar.digits, '123456789012345678901', [123456789012345678901n]],
  ['a number', scalar.int, -5, ['-5']],
  ['a flag', scalar.flag, true, [1, '1', 'true']],
  ['an opcode', scalar.opcode, '0x0f8a7ea5', [260734629, '260734629', '0xF8A7EA5', '0x0F8A7EA5']],
  ['an opcode below 0', scalar.opcode, '0xffffffff', [-1, '-1', 4294967295]],
  ['a finality', scalar.finality, 'confirmed', [1, '1']],
  [
    'currencies',
    scalar.extraCurrencies,
    { 100: '5' },
    [{ 100: 5 }, [{ id: 100, amount: '5' }], [{ '@type': 'x', id: '100', amount: 5 }]],
  ],
  ['nothing', scalar.digits, null, ['', undefined]],
  ['no hash', form.optionalHash, null, ['']],
  ['no v2 address', form.addressOrNone, null, ['']],
];

test.each(SAME)('%s in another form is stored in the standard form', (_name, schema, canonical, forms) => {
  expect(read(schema, canonical)).toEqual(canonical);
  for (const other of forms) expect([other, read(schema, other)]).toEqual([other, canonical]);
});

describe('an ambiguous value is refused:', () => {
  test.each([
    ['64 hex digits without a workchain', form.account, HEX],
    [
      'a friendly address with a wrong checksum',
      form.account,
      `${formatAddress(RAW).slice(0, 47)}${formatAddress(RAW).endsWith('A') ? 'B' : 'A'}`,
    ],
    ['eight digits that may be an opcode in hex', scalar.opcode, '12345678'],
    ['an opcode in hex without 0x', scalar.opcode, '0f8a7ea5'],
    ['a number that has lost digits', scalar.digits, 1e21],
    ['a fraction', scalar.int64, 1.5],
    ['an empty flag', scalar.flag, ''],
    ['a number where a flag is expected', scalar.flag, 2],
    [
      'a repeated currency',
      scalar.extraCurrencies,
      [
        { id: 1, amount: '1' },
        { id: 1, amount: '2' },
      ],
    ],
    ['a workchain of 32 bits without sign', form.workchain, '4294967295'],
  ] as const)('%s', (_name, schema, value) => {
    expect(read(schema, value)).toBeUndefined();
  });
});

test('a shard is never read from an invalid text', () => {
  for (const word of ['', '0', 'G', '-9223372036854775809', '18446744073709551616', '0x', '1.5', ' 8'])
    expect(readShard(word)).toBeUndefined();
  for (const word of ['', `5${HEX}`, `0:${HEX}0`, `0:${HEX.slice(1)}`, ' '])
    expect(readAddress(word)).toBeUndefined();
});
