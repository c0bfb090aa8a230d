import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAddress, parseHash } from '../../src/ton/address.ts';
import { readConfig, SETTING_NAMES } from '../../src/settings/config.ts';
import { UsageError, type EtlError } from '../../src/errors.ts';
import { parseDuration, parseRange, parseTime } from '../../src/range.ts';
import { readFault } from '../../src/simulator/faults.ts';
import { splitSql } from '../../src/commands/prompt.ts';
import { openCli, type Cli } from '../support/program/cli.ts';

const NOW = 1_790_000_000;
/** Misspelled times, durations, addresses and the like. */
const nearly = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '2026-02-30',
    '-0h',
    '-70000000000w',
    `${'9'.repeat(400)}d`,
    '1e9',
    '99999999999999',
    '-',
    '--',
    'now now',
    '2026-11-01T25:00Z',
    '٣',
    '0x',
  ),
  fc.stringMatching(/^[-+]?\d{1,20}[a-zA-Z]{0,2}$/),
  fc.stringMatching(/^\d{4}-\d{2}-\d{2}T?[\d:]{0,8}Z?$/),
  fc.stringMatching(/^-?\d:[0-9a-fA-F]{60,66}$/),
  fc.base64String({ maxLength: 60 }),
);

/** Expects a value or an error of this program, and returns the value. */
function understood<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    expect((error as EtlError).message).not.toBe('');
    return undefined;
  }
}

describe('whatever is written is understood or refused in a sentence:', () => {
  test('times', () => {
    fc.assert(
      fc.property(nearly, (text) => {
        const time = understood(() => parseTime(text, NOW));
        if (time !== undefined) expect(Number.isSafeInteger(time)).toBe(true);
      }),
    );
  });

  test('durations', () => {
    fc.assert(
      fc.property(nearly, (text) => {
        const seconds = understood(() => parseDuration(text));
        if (seconds !== undefined) expect(seconds).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test('ranges', () => {
    fc.assert(
      fc.property(nearly, nearly, (from, to) => {
        const range = understood(() => parseRange(from, to, NOW));
        if (range !== undefined) expect(range.from).toBeLessThan(range.to);
      }),
    );
  });

  test('addresses', () => {
    fc.assert(
      fc.property(nearly, (text) => {
        const address = understood(() => parseAddress(text));
        if (address !== undefined) expect(parseAddress(address)).toBe(address);
      }),
    );
  });

  test('hashes', () => {
    fc.assert(
      fc.property(nearly, (text) => {
        const hash = understood(() => parseHash(text));
        if (hash !== undefined) expect(parseHash(hash)).toBe(hash);
      }),
    );
  });

  test('faults', () => {
    const text = fc.oneof(
      nearly,
      fc
        .tuple(fc.constantFrom('storm', 'reset', 'holes', 'reclassify'), nearly)
        .map(([name, value]) => `${name}=${value}`),
    );
    fc.assert(
      fc.property(text, (word) => {
        understood(() => readFault(word));
      }),
    );
  });

  test('statements', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("'", ';', '"', '$', '-', '/', '*', '\\', 'a', 'b', '\n', ' ') }),
        (text) => {
          const { statements, rest } = splitSql(text);
          expect([...statements, rest].join('').length).toBeLessThanOrEqual(text.length);
        },
      ),
    );
  });

  test('settings, without repeating a secret', () => {
    const settings = fc.dictionary(fc.constantFrom(...SETTING_NAMES), nearly, {
      maxKeys: SETTING_NAMES.length,
    });
    fc.assert(
      fc.property(settings, (given) => {
        try {
          readConfig(
            { ...given, DATABASE_URL: 'mysql://me:pass-word-itself@x', TONCENTER_API_KEY: 'the-key-itself' },
            '/nowhere',
          );
          expect.unreachable('a URL of another kind of database was taken');
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          expect((error as EtlError).message).not.toMatch(/the-key-itself|pass-word-itself/);
        }
      }),
    );
    fc.assert(
      fc.property(settings, (given) => {
        understood(() => readConfig(given, '/nowhere'));
      }),
    );
  });
});

describe('command lines', () => {
  let cli: Cli;
  beforeAll(async () => {
    cli = await openCli();
  });
  afterAll(() => cli.close());

  const words = fc.oneof(
    fc.constantFrom(
      '--from',
      '--to',
      '--only',
      '--json',
      '--deep',
      '--repair',
      '--deadline',
      '--record',
      '--bundle',
      '--at',
      '--help',
    ),
    fc.constantFrom('now', '-6h', 'all', 'core', '1%', '0', '-1', '/nowhere/at/all', '', '\u{1F4A5}'),
    fc.string({ maxLength: 12 }).filter((text) => !text.includes('\0')),
  );
  const commands = fc.constantFrom(
    'backfill',
    'status',
    'verify',
    'why',
    'watch',
    'datasets',
    'sql',
    'quarantine',
    'doctor',
    'plan',
    'migrate',
    '',
  );

  test('end with an exit code that is documented, and without a stack trace', async () => {
    const lines = fc.sample(fc.tuple(commands, fc.array(words, { maxLength: 5 })), { numRuns: 10, seed: 7 });
    const results = await Promise.all(
      lines.map(([command, rest]) =>
        cli.run([command, ...rest], { DATABASE_URL: 'postgres://127.0.0.1:1/x', ETL_ATTEMPTS: '1' }),
      ),
    );
    for (const [index, { code, stderr, stdout }] of results.entries()) {
      const line = JSON.stringify(lines[index]);
      expect([0, 2, 3, 75], `${line}: ${stderr}`).toContain(code);
      expect(stderr + stdout, line).not.toMatch(/^ {4}at .*:\d+:\d+\)?$/m);
    }
  });
});
