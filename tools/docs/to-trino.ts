import { applyReplacements, POSTGRES_ONLY, type Replacements } from '../../src/lake/open-lake.ts';
import { RAW_ADDRESS } from './raw-address.ts';

/** SQL that differs between Postgres and Trino. */
const WORDS: Replacements = [
  [/^ *--.*\n/gm, ''],
  ...POSTGRES_ONLY,
  RAW_ADDRESS,
  [/, 'UTC'\)/g, ')'],
  [/'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)Z'/g, `timestamp '$1 UTC'`],
  [/'(\d{4}-\d\d-\d\d)'/g, `date '$1'`],
  [/\bto_timestamp\(/g, 'from_unixtime('],
  [/'infinity'/g, `timestamp '9999-12-31 00:00:00 UTC'`],
  [/extract\(epoch from (\S+) - (\S+)\)/g, '(to_unixtime($1) - to_unixtime($2))'],
  [/(\w\.\w+)->'(\w+)'->>'(\w+)'/g, `json_extract_scalar($1, '$$.$2.$3')`],
  [/(\w\.\w+)->>'(\w+)'/g, `json_extract_scalar($1, '$$.$2')`],
  [/\betl\.to_numeric\(((?:[^()]|\([^()]*\))*)\)/g, 'try_cast($1 as decimal(38, 0))'],
  [/(null|\w*\((?:[^()]|\([^()]*\))*\))::numeric\b/g, 'cast($1 as decimal(38, 0))'],
  [/(null)::text\b/g, 'cast($1 as varchar)'],
  [/(null)::bigint\b/g, 'cast($1 as bigint)'],
  [/(\w+\([^()]*\)(?: over \([^()]*\))?)::int\b/g, 'cast($1 as integer)'],
  [/([\w.]+) is not true\b/g, 'not coalesce($1, false)'],
  [/([\w.]+) is not false\b/g, 'coalesce($1, true)'],
  [/([\w.]+) is false\b/g, 'not coalesce($1, true)'],
  // For decimals without digits after the decimal point.
  [/\bnano_to_ton\(((?:[^()]|\([^()]*\))*)\)/g, `($1 * decimal '0.000000001')`],
];

/** Translates a query of Postgres to Trino. */
export function toTrino(query: string): string {
  return applyReplacements(query, WORDS);
}
