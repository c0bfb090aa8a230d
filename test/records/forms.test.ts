import { describe, expect, test } from 'vitest';
import type * as z from 'zod';
import { canonicalOf } from '../../src/dataset/declaration/record.ts';
import * as members from '../../src/records/members.ts';
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
    members.account,
    RAW,
    [
      RAW.toLowerCase(),
      formatAddress(RAW),
      formatAddress(RAW, { bounceable: false }),
      formatAddress(RAW, { testnet: true }),
      Buffer.from(formatAddress(RAW), 'base64url').toString('base64'),
    ],
  ],
  ['an address', members.address, RAW, [RAW.toLowerCase(), formatAddress(RAW)]],
  [
    'a hash',
    members.hash,
    HASH,
    [
      HEX,
      HEX.toUpperCase(),
      `0x${HEX}`,
      HASH.replace('=', ''),
      HASH.replaceAll('+', '-').replaceAll('/', '_'),
    ],
  ],
  ['a key', members.optionalKey, HEX.toUpperCase(), [HEX, `0x${HEX}`, HASH, HASH.replace('=', '')]],
  [
    'a shard',
    members.shard,
    '8000000000000000',
    ['-9223372036854775808', '9223372036854775808', -(2n ** 63n), '0x8000000000000000'],
  ],
  ['a deep shard', members.shard, '20000000000000', ['9007199254740992', 2 ** 53, '0020000000000000']],
  ['a workchain', members.workchain, -1, ['-1']],
  ['a seqno', members.seqno, 7, ['7', '007']],
  ['a status', members.accountStatus, 'uninit', ['uninitialized', 'UNINIT']],
  ['a logical time', members.int64, '17', [17, 17n, '017']],
  ['an amount', members.digits, '123456789012345678901', [123456789012345678901n]],
  ['a number', members.int, -5, ['-5']],
  ['a flag', members.flag, true, [1, '1', 'true']],
  ['an opcode', members.opcode, '0x0f8a7ea5', [260734629, '260734629', '0xF8A7EA5', '0x0F8A7EA5']],
  ['an opcode below 0', members.opcode, '0xffffffff', [-1, '-1', 4294967295]],
  ['a finality', members.finality, 'confirmed', [1, '1']],
  [
    'currencies',
    members.extraCurrencies,
    { 100: '5' },
    [{ 100: 5 }, [{ id: 100, amount: '5' }], [{ '@type': 'x', id: '100', amount: 5 }]],
  ],
  ['nothing', members.digits, null, ['', undefined]],
  ['no hash', members.optionalHash, null, ['']],
  ['no v2 address', members.addressOrNone, null, ['']],
];

test.each(SAME)('%s in another form is stored in the standard form', (_name, schema, canonical, forms) => {
  expect(read(schema, canonical)).toEqual(canonical);
  for (const other of forms) expect([other, read(schema, other)]).toEqual([other, canonical]);
});

describe('an ambiguous value is refused:', () => {
  test.each([
    ['64 hex digits without a workchain', members.account, HEX],
    [
      'a friendly address with a wrong checksum',
      members.account,
      `${formatAddress(RAW).slice(0, 47)}${formatAddress(RAW).endsWith('A') ? 'B' : 'A'}`,
    ],
    ['eight digits that may be an opcode in hex', members.opcode, '12345678'],
    ['an opcode in hex without 0x', members.opcode, '0f8a7ea5'],
    ['a number that has lost digits', members.digits, 1e21],
    ['a fraction', members.int64, 1.5],
    ['an empty flag', members.flag, ''],
    ['a number where a flag is expected', members.flag, 2],
    [
      'a repeated currency',
      members.extraCurrencies,
      [
        { id: 1, amount: '1' },
        { id: 1, amount: '2' },
      ],
    ],
    ['a workchain of 32 bits without sign', members.workchain, '4294967295'],
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
