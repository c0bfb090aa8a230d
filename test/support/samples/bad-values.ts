import fc from 'fast-check';
import { expect } from 'vitest';
import { linesOfRows } from '../../../src/write/lines.ts';
import { targetOf } from '../../../src/write/target.ts';
import type { Rows, Tables } from '../../../src/dataset/declaration/record.ts';

/** JSON texts that a server should not send, but may. */
const VALUES = [
  ...[
    'null',
    'true',
    '""',
    '"\\u0000"',
    '"\\ud83d"',
    '"a\\tb\\nc\\\\."',
    '"\\\\N"',
    '[]',
    '{}',
    '[[{}]]',
    '{"":{"":null}}',
  ],
  ...[
    '0',
    '-1',
    '1e999',
    '-0.0',
    '1.5',
    '4294967296',
    '9007199254740993',
    '170141183460469231731687303715884105728',
  ],
  ...[
    '"9223372036854775808"',
    '"-5"',
    '"1e5"',
    '"٣"',
    '"0x"',
    '"NaN"',
    '"Infinity"',
    '"2026-11-01"',
    `"${'9'.repeat(1500)}"`,
  ],
  `"${'x'.repeat(5000)}"`,
];
/** A scalar that is a member's value; the value of a member that identifies rows is left alone. */
const SCALAR =
  /(?<!"(?:hash|root_hash|tx_hash|transaction_hash|trace_id|action_id|complaint_hash)"):(?:"(?:[^"\\]|\\.)*"|-?[\d.eE+]+|true|false|null)(?=[,}])/g;

/** Scalars to replace, by number, and their replacements. */
export const harm = fc.array(
  fc.tuple(fc.nat(), fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...VALUES) }, fc.json())),
  {
    minLength: 1,
    maxLength: 4,
  },
);

/** The text with some of its scalars replaced. */
export function harmed(text: string, changes: readonly (readonly [number, string])[]): string {
  const places = [...text.matchAll(SCALAR)];
  const chosen = new Map(changes.map(([index, value]) => [index % places.length, value]));
  let at = -1;
  return text.replace(SCALAR, (scalar) => {
    at += 1;
    const value = chosen.get(at);
    return value === undefined ? scalar : `:${value}`;
  });
}

/** Expects for every row a line with as many values as its table has columns. */
export function expectWritable(tables: Tables, rows: Rows): void {
  for (const [name, table] of Object.entries(tables)) {
    const columns = targetOf(table).staging.columns;
    const own = rows[name] ?? [];
    const written = linesOfRows(table, own);
    const lines = Buffer.concat([...written.pieces()])
      .toString()
      .split('\n')
      .slice(0, -1);
    expect(lines).toHaveLength(written.count);
    for (const line of lines) expect(line.split('\t')).toHaveLength(columns.length);
    expect(lines.join('')).not.toContain('\0');
  }
}
