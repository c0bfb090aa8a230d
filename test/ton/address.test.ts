import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from '../../src/ton/address.ts';
import { UsageError } from '../../src/errors.ts';

/** The elector, in the forms that explorers show. */
const ELECTOR = `-1:${'3'.repeat(64)}`;
const ELECTOR_FRIENDLY = 'Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF';

/** Tether's jetton master. */
const USDT = '0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE';
const USDT_FRIENDLY = 'EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs';

function reasonFor(text: string, testnet?: boolean): string {
  try {
    return `accepted as ${parseAddress(text, testnet === undefined ? {} : { testnet })}`;
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
}

describe('an address', () => {
  it('is read from every form in use', () => {
    expect(parseAddress(ELECTOR_FRIENDLY)).toBe(ELECTOR);
    expect(parseAddress(USDT_FRIENDLY)).toBe(USDT);
    expect(parseAddress(USDT_FRIENDLY.replaceAll('_', '/').replaceAll('-', '+'))).toBe(USDT);
    expect(parseAddress(USDT.toLowerCase())).toBe(USDT);
    expect(parseAddress(USDT.slice(2).toLowerCase())).toBe(USDT);
    expect(parseAddress(`  ${USDT}\n`)).toBe(USDT);
  });

  it('is printed in the form of wallets', () => {
    expect(formatAddress(ELECTOR)).toBe(ELECTOR_FRIENDLY);
    expect(formatAddress(USDT)).toBe(USDT_FRIENDLY);
    expect(formatAddress(USDT, { bounceable: false })).toMatch(/^UQ/);
    expect(formatAddress(USDT, { testnet: true })).toMatch(/^kQ/);
    expect(formatAddress(USDT, { bounceable: false, testnet: true })).toMatch(/^0Q/);
  });

  it('round-trips', () => {
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const forms = fc.record({ bounceable: fc.boolean(), testnet: fc.boolean() });
    fc.assert(
      fc.property(fc.constantFrom(-1, 0, 1), hash, forms, (workchain, bytes, form) => {
        const raw = `${workchain}:${Buffer.from(bytes).toString('hex').toUpperCase()}`;
        expect(parseAddress(formatAddress(raw, form))).toBe(raw);
      }),
    );
  });

  it('is refused with any one character changed', () => {
    for (let index = 0; index < USDT_FRIENDLY.length; index += 1) {
      const other = USDT_FRIENDLY[index] === 'A' ? 'B' : 'A';
      const mistyped = USDT_FRIENDLY.slice(0, index) + other + USDT_FRIENDLY.slice(index + 1);
      expect(reasonFor(mistyped)).toMatch(/checksum is wrong/);
    }
  });

  it('of a test network is refused on other networks, but only if the network is known', () => {
    const testOnly = formatAddress(USDT, { testnet: true });
    expect(reasonFor(testOnly, false)).toMatch(/marked for test networks only/);
    expect(parseAddress(testOnly, { testnet: true })).toBe(USDT);
    expect(parseAddress(testOnly)).toBe(USDT);
    expect(parseAddress(USDT_FRIENDLY, { testnet: true })).toBe(USDT);
  });

  it('is refused with the reason if it is invalid', () => {
    expect(reasonFor('hello')).toMatch(/has 5 characters/);
    expect(reasonFor('')).toMatch(/has 0 characters/);
    expect(reasonFor(USDT.slice(0, -1))).toMatch(/no form of an address/);
    expect(reasonFor(`9999999999:${'0'.repeat(64)}`)).toMatch(/no workchain 9999999999/);
    expect(reasonFor('A'.repeat(48))).toMatch(/first byte, 0x0, is of no known kind/);
  });
});
