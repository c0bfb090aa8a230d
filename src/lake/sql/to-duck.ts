import { inWords, OF_POSTGRES_ALONE, type Words } from './words.ts';

/** A view as the SQL of Postgres has it. */
interface DuckView {
  /** With its schema. */
  readonly name: string;
  readonly query: string;
}

/** The views of a file of SQL, in their order. */
export function viewsIn(sql: string): DuckView[] {
  const found = sql.matchAll(/^create or replace view (\w+\.\w+) as\n([\s\S]*?);$/gm);
  return [...found].map(([, name = '', query = '']) => ({ name, query }));
}

/** What Postgres says otherwise than DuckDB. */
const WORDS: Words = [
  ...OF_POSTGRES_ALONE,
  // Without digits behind the point, as amounts are; bare it is of 18 digits, three of them there.
  [/::numeric\b/g, '::decimal(38,0)'],
];

/** All of a day: the places of its name are what is looked up day by day. */
const OF_DAY = /\b(\w)\.utime >= d\.starts and \1\.utime < d\.ends\b/g;

/** A query of Postgres in the words of DuckDB. `tables` have a column that names the day, and with it the folder. */
export function toDuck(query: string, tables: ReadonlySet<string>): string {
  const text = inWords(query, WORDS);
  const isOfTables = [...text.matchAll(/\bton\.(\w+) \w\b/g)].every(([, name = '']) => tables.has(name));
  return text.replace(OF_DAY, isOfTables ? '$1.day = d.day' : '$1.utime::date = d.day');
}
