import { applyReplacements, POSTGRES_ONLY, type Replacements } from '../../src/lake/open-lake.ts';
import { RAW_ADDRESS, VALUE, WITHOUT_BOUNDS } from './engine-words.ts';

/** SQL that differs between Postgres and ClickHouse. */
const WORDS: Replacements = [
  [/^ *--.*\n/gm, ''],
  ...POSTGRES_ONLY,
  WITHOUT_BOUNDS,
  RAW_ADDRESS,
  [/\betl\.to_numeric\(((?:[^()]|\([^()]*\))*)\)/g, 'toDecimal128OrNull($1, 0)'],
  [/::numeric\b/g, '::Nullable(Decimal(38, 0))'],
  // A cast cuts digits off.
  [
    new RegExp(`(${VALUE.source})::decimal\\((\\d+), ?([1-9]\\d*)\\)`, 'g'),
    'round($1, $3)::Nullable(Decimal($2, $3))',
  ],
  [/::decimal\((\d+), ?0\)/g, '::Nullable(Decimal($1, 0))'],
  // A quotient of decimals has the decimals of the dividend.
  [/\b100 \* /g, '100::Decimal(38, 9) * '],
  [/::text\b/g, '::Nullable(String)'],
  [/::bigint\b/g, '::Nullable(Int64)'],
  [/::int\b/g, '::Nullable(Int32)'],
  [/'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)Z'/g, `toDateTime64('$1', 6, 'UTC')`],
  [/'infinity'/g, `toDateTime64('2299-12-31 00:00:00', 6, 'UTC')`],
  [/\(array_agg\((\S+) order by (\S+) desc, (\S+) desc\)\)\[1\]/g, 'argMax(tuple($1), tuple($2, $3)).1'],
  [/\(array_agg\((\S+) order by (\S+), (\S+)\)\)\[1\]/g, 'argMin(tuple($1), tuple($2, $3)).1'],
  // It counts elements from 1.
  [/(\w\.\w+)->'(\w+)'->0->>'(\w+)'/g, `JSONExtract($1, '$2', 1, '$3', 'Nullable(String)')`],
  [/(\w\.\w+)->'(\w+)'->\(-1\)->>'(\w+)'/g, `JSONExtract($1, '$2', -1, '$3', 'Nullable(String)')`],
  [/(\w\.\w+)->'(\w+)'->>'(\w+)'/g, `JSONExtract($1, '$2', '$3', 'Nullable(String)')`],
  [/((?:\w\.)?\w+) ?->> ?'(\w+)'/g, `JSONExtract($1, '$2', 'Nullable(String)')`],
  // Counts are unsigned in ClickHouse, and a signed and an unsigned value have no common type.
  [/case when (\S+) = 0 then -(\S+) else \1 end/g, 'if($1 = 0, -$2, toInt64($1))'],
  // Reports of a day that the query names: ClickHouse has no lateral.
  [/\bfrom (\w+)\nwhere day = '([\d-]+)'(?: and )?/g, `from $1(day = '$2')\nwhere `],
  [/\nwhere \n/g, '\n'],
  [/\nwhere $/g, ''],
  [/\bfrom (?:etl\.open_days|ton\.days) d,\nlateral \(/g, 'from (select {day:Date} as day) d cross join ('],
  [/\) (\w),\nlateral \(/g, ') $1 cross join ('],
  [/\b(\w)\.utime >= d\.starts and \1\.utime < d\.ends\b/g, `toDate($1.utime, 'UTC') = {day:Date}`],
  [/(\([\w, ]+\) = \([\w, ]+\)) as\b/g, 'toBool($1) as'],
  [/\bd\.ends\b/g, `toDateTime64({day:Date} + 1, 6, 'UTC')`],
  [/\bd\.starts\b/g, `toDateTime64({day:Date}, 6, 'UTC')`],
  [/\nwhere d\.relation = '\w+'/g, ''],
];

/** Translates a query of Postgres to ClickHouse. A report by day has the parameter `day`. */
export function toClickHouse(query: string): string {
  return applyReplacements(query, WORDS);
}
