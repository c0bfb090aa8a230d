import { applyReplacements, POSTGRES_ONLY, type Replacements } from '../../src/lake/open-lake.ts';
import { RAW_ADDRESS, WITHOUT_BOUNDS } from './engine-words.ts';

/** SQL that differs between Postgres and Spark. */
const WORDS: Replacements = [
  [/^ *--.*\n/gm, ''],
  ...POSTGRES_ONLY,
  WITHOUT_BOUNDS,
  RAW_ADDRESS,
  [/\betl\.to_numeric\(((?:[^()]|\([^()]*\))*)\)/g, 'try_cast($1 as decimal(38,0))'],
  [/::numeric\b/g, '::decimal(38,0)'],
  [/::text\b/g, '::string'],
  // A quotient of decimals has six decimals, and would be rounded twice.
  [/\b100 \* /g, '100D * '],
  [/, 'UTC'\)/g, ')'],
  [/\bto_timestamp\(/g, 'timestamp_seconds('],
  [/'infinity'/g, `timestamp'9999-12-31 00:00:00Z'`],
  [/extract\(epoch from (\S+) - (\S+)\)/g, '(unix_seconds($1) - unix_seconds($2))'],
  [/\(array_agg\((\S+) order by (\S+) desc, (\S+) desc\)\)\[1\]/g, 'max_by($1, struct($2, $3))'],
  [/\(array_agg\((\S+) order by (\S+), (\S+)\)\)\[1\]/g, 'min_by($1, struct($2, $3))'],
  [
    /array_agg\((\S+) order by (\S+)\)/g,
    'nullif(transform(array_sort(collect_list(struct($2 as place, $1 as value))), one -> one.value), array())',
  ],
  [/(\w\.\w+)->'(\w+)'->(\d)->>'(\w+)'/g, `get_json_object($1, '$$.$2[$3].$4')`],
  [
    /(\w\.\w+)->'(\w+)'->\(-1\)->>'(\w+)'/g,
    `try_element_at(from_json(get_json_object($1, '$$.$2'), 'array<struct<$3:string>>'), -1).$3`,
  ],
  [/(\w\.\w+)->'(\w+)'->>'(\w+)'/g, `get_json_object($1, '$$.$2.$3')`],
  [/((?:\w\.)?\w+) ?->> ?'(\w+)'/g, `get_json_object($1, '$$.$2')`],
  // All of a day.
  [/\b(\w)\.utime >= d\.starts and \1\.utime < d\.ends\b/g, 'to_date($1.utime) = d.day'],
];

/** Translates a query of Postgres to Spark. */
export function toSpark(query: string): string {
  return applyReplacements(query, WORDS);
}
