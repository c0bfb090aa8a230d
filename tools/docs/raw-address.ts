import type { Replacements } from '../../src/lake/open-lake.ts';

/** For engines without that function: raw addresses in the form of the tables, and friendly ones unchanged. */
export const RAW_ADDRESS: Replacements[number] = [
  /\betl\.raw_address\(((?:[^()]|\([^()]*\))*)\)/g,
  `case when $1 like '%:%' then upper($1) else $1 end`,
];
