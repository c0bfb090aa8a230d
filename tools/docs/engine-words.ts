import type { Replacements } from '../../src/lake/open-lake.ts';

/** These engines have bounds of their own for numbers. */
export const WITHOUT_BOUNDS: Replacements[number] = [/\betl\.as_(?:raw|ton|units)(?=\()/g, ''];

/** For engines without that function: raw addresses in the form of the tables, and friendly ones unchanged. */
export const RAW_ADDRESS: Replacements[number] = [
  /\betl\.raw_address\(((?:[^()]|\([^()]*\))*)\)/g,
  `case when $1 like '%:%' then upper($1) else $1 end`,
];

/** A value that is cast: a name, or parentheses within parentheses with what stands before them. */
export const VALUE = /(?:\w+\([^()]*\) over )?[\w.]*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[\w.]+/;
