import { applyReplacements, POSTGRES_ONLY, type Replacements } from '../../src/lake/open-lake.ts';
import { RAW_ADDRESS, VALUE, WITHOUT_BOUNDS } from './engine-words.ts';

/** SQL that differs between Postgres and Trino. */
const WORDS: Replacements = [
  [/^ *--.*\n/gm, ''],
  ...POSTGRES_ONLY,
  WITHOUT_BOUNDS,
  RAW_ADDRESS,
  [/, 'UTC'\)/g, ')'],
  [/'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)Z'/g, `timestamp '$1 UTC'`],
  [/'(\d{4}-\d\d-\d\d)'/g, `date '$1'`],
  [/\bto_timestamp\(/g, 'from_unixtime('],
  [/'infinity'/g, `timestamp '9999-12-31 00:00:00 UTC'`],
  [/extract\(epoch from (\S+) - (\S+)\)/g, '(to_unixtime($1) - to_unixtime($2))'],
  [/(\w\.\w+)->'(\w+)'->(\d)->>'(\w+)'/g, `json_extract_scalar($1, '$$.$2[$3].$4')`],
  [/(\w\.\w+)->'(\w+)'->\(-1\)->>'(\w+)'/g, `json_value($1, 'lax $$.$2[last].$3')`],
  [/(\w\.\w+)->'(\w+)'->>'(\w+)'/g, `json_extract_scalar($1, '$$.$2.$3')`],
  [/((?:\w\.)?\w+) ?->> ?'(\w+)'/g, `json_extract_scalar($1, '$$.$2')`],
  [/\betl\.to_numeric\(((?:[^()]|\([^()]*\))*)\)/g, 'try_cast($1 as decimal(38, 0))'],
  // A quotient has no more decimals than what it is made of.
  [/\b100 \* /g, `decimal '100.000000000' * `],
  [new RegExp(`(${VALUE.source}) is not true\\b`, 'g'), 'not coalesce($1, false)'],
  [/([\w.]+) is not false\b/g, 'coalesce($1, true)'],
  [/([\w.]+) is false\b/g, 'not coalesce($1, true)'],
  // For decimals without digits after the decimal point.
  [/\bnano_to_ton\(((?:[^()]|\([^()]*\))*)\)/g, `($1 * decimal '0.000000001')`],
];

const TYPES: Readonly<Record<string, string>> = {
  numeric: 'decimal(38, 0)',
  text: 'varchar',
  int: 'integer',
};

const CASTS = new RegExp(`(${VALUE.source})::(\\w+)(\\(\\d+, ?\\d+\\))?`, 'g');

/** Translates a query of Postgres to Trino. */
export function toTrino(query: string): string {
  return applyReplacements(query, WORDS).replaceAll(
    CASTS,
    (_, value: string, type: string, digits = '') => `cast(${value} as ${TYPES[type] ?? type}${digits})`,
  );
}
