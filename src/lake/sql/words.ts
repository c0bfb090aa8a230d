/** What an engine says otherwise than Postgres, in the order in which it is replaced. */
export type Words = readonly (readonly [RegExp, string])[];

/** What no other engine says. */
export const OF_POSTGRES_ALONE: Words = [
  // Only there to keep the planner of Postgres from another way.
  [/ offset 0\b/g, ''],
  [/ collate "C"/g, ''],
];

/** For engines without that function: raw addresses in the form of the tables, and friendly ones as they are. */
export const RAW_ADDRESS: Words[number] = [
  /\betl\.raw_address\(((?:[^()]|\([^()]*\))*)\)/g,
  `case when $1 like '%:%' then upper($1) else $1 end`,
];

/** A query in other words. */
export function inWords(query: string, words: Words): string {
  return words.reduce((said, [from, to]) => said.replace(from, to), query);
}
