import { getTableConfig } from 'drizzle-orm/pg-core';
import { describe, expect, test } from 'vitest';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import type { AnyJob, Dataset } from '../../src/dataset/dataset.ts';
import { loadTables } from '../../src/postgres/load-tables.ts';
import { factsOf } from '../../src/tables/describe.ts';
import { openapiResponse, openapiSchemas, referenceOf, type Described } from '../support/openapi.ts';
import { hasOpenapi } from '../support/shared-data.ts';

const MEMBER = String.raw`[a-z_]+(?:\[\d?\]|\{\})?`;
const PATH = String.raw`${MEMBER}(?:\.${MEMBER})*`;
const DEEP = String.raw`${MEMBER}\.${PATH}`;
/** `From blocks[].gen_utime`, `The length of actions[].accounts`, `From in_msg.hash, out_msgs[].hash`. */
const NAMED = new RegExp(String.raw`\b(?:From|The index in|The length of) (${PATH}(?:, ${DEEP})*)`, 'g');

/** How a column without a member is derived, in the words of its comment. */
const DERIVED =
  /Members of .* that this version|written by the program|of the transaction in whose out_msgs it stands|node/;

/** Free-form JSON: its contents are not described. */
const FREE_FORM = /^(?:details|extra|decoded\w*|\w*currencies)$/;

/** Every path within a response of an endpoint; paths in a tree come once. `{}` stands for each value of a map. */
function pathsOf(endpoint: string): string[] {
  const schemas = openapiSchemas(endpoint.startsWith('/api/v2') ? 'v2' : 'v3');
  const walk = (schema: Described | undefined, path: string, within: readonly string[]): string[] => {
    if (schema === undefined) return [];
    const reference = referenceOf(schema);
    if (reference !== undefined)
      return within.includes(reference) ? [] : walk(schemas[reference], path, [...within, reference]);
    if (schema.items !== undefined) return [`${path}[]`, ...walk(schema.items, `${path}[]`, within)];
    const values = walk(schema.additionalProperties, `${path}{}`, within);
    const members = Object.entries(schema.properties ?? {}).flatMap(([member, type]) => {
      const at = path === '' ? member : `${path}.${member}`;
      return [at, ...walk(type, at, within)];
    });
    return [...values, ...members];
  };
  return walk(openapiResponse(endpoint), '', []);
}

/** The responses whose records become rows of a table, and maps that come with other responses. */
function answeredFor(table: string, datasets: readonly Dataset<AnyJob>[]): string[] {
  const own = datasets.filter(({ job }) => Object.hasOwn(job.tables, table));
  const maps = own.flatMap(({ job }) => (job.kind === 'collection' ? (job.piggybackedAs ?? []) : []));
  const paths = endpointsOf(own).flatMap(pathsOf);
  return [...paths, ...maps.flatMap((map) => [map, ...paths.map((path) => `${map}${path}`)])];
}

function endpointsOf(datasets: readonly Dataset<AnyJob>[]): string[] {
  return datasets.flatMap(({ job }) =>
    job.kind === 'stream'
      ? [job.path]
      : job.walks.map(({ endpoint }) => ('path' in endpoint ? endpoint.path : `/api/v2/${endpoint.method}`)),
  );
}

function namedIn(comment: string): string[] {
  return [...comment.matchAll(NAMED)].flatMap(([, list = '']) => list.replaceAll('[0]', '[]').split(', '));
}

/** True if a path is one of the response, or the end of one: comments begin at the record, or within it. */
function isIn(answered: readonly string[], path: string): boolean {
  const ends = (of: string) => answered.some((known) => known === of || known.endsWith(`.${of}`));
  if (ends(path)) return true;
  const members = path.split('.');
  const free = members.findIndex((member) => FREE_FORM.test(member));
  return free !== -1 && ends(members.slice(0, free + 1).join('.'));
}

describe.skipIf(!hasOpenapi)('the comment of every column of the data', async () => {
  const datasets = await loadDatasets();
  const tables = (await loadTables()).filter((table) => getTableConfig(table).schema === 'ton');

  test.each(tables.map((table) => ({ name: getTableConfig(table).name, table })))(
    "of $name names a member that the table's own endpoint has, or says how it is derived",
    ({ name, table }) => {
      const answered = answeredFor(name, datasets);
      expect(answered.length).toBeGreaterThan(0);
      const wrong = Object.entries(factsOf(table).columns).flatMap(([column, comment]) => {
        const paths = namedIn(comment);
        const missing = paths.filter((path) => !isIn(answered, path));
        const found = paths.some((path) => isIn(answered, path)) || DERIVED.test(comment);
        return missing.length > 0 || !found ? [`${column}: ${missing.join(', ')} in "${comment}"`] : [];
      });
      expect(wrong).toEqual([]);
    },
  );
});
