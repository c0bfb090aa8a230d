import { getTableConfig } from 'drizzle-orm/pg-core';
import { describe, expect, test } from 'vitest';
import { loadTables } from '../../src/db/load-tables.ts';
import { factsOf } from '../../src/db/schema/describe.ts';
import { openapiSchemas, referenceOf, type Described } from '../support/openapi.ts';
import { hasOpenapi } from '../support/shared-data.ts';

const PATH = String.raw`[a-z_]+(?:\[\])?(?:\.[a-z_]+(?:\[\])?)*`;
const DEEP = String.raw`[a-z_]+(?:\[\])?\.${PATH}`;
/** `From blocks[].gen_utime`, `The length of actions[].accounts`, `From in_msg.hash, out_msgs[].hash`. */
const NAMED = new RegExp(String.raw`\b(?:From|The index in|The length of) (${PATH}(?:, ${DEEP})*)`, 'g');

/** How a column is derived that no member gives, in the words of its comment. */
const DERIVED =
  /Members of .* that this version|written by the program|of the transaction in whose out_msgs it stands|node/;

/** JSON without a fixed shape: what lies within is not described. */
const FREE_FORM = /^(?:details|decoded\w*|\w*currencies)$/;

/** Every path that a schema of the API's document has, from itself on; what lies in a tree once. */
function pathsOf(name: string): string[] {
  const schemas = openapiSchemas();
  const walk = (schema: Described | undefined, path: string, within: readonly string[]): string[] => {
    if (schema === undefined) return [];
    const reference = referenceOf(schema);
    if (reference !== undefined)
      return within.includes(reference) ? [] : walk(schemas[reference], path, [...within, reference]);
    if (schema.items !== undefined) return [`${path}[]`, ...walk(schema.items, `${path}[]`, within)];
    return Object.entries(schema.properties ?? {}).flatMap(([member, type]) => {
      const at = path === '' ? member : `${path}.${member}`;
      return [at, ...walk(type, at, within)];
    });
  };
  return walk(schemas[name], '', [name]);
}

function namedIn(comment: string): string[] {
  return [...comment.matchAll(NAMED)].flatMap(([, list = '']) => list.split(', '));
}

describe.skipIf(!hasOpenapi)('the comment of every column of the data', async () => {
  const known = hasOpenapi ? new Set(Object.keys(openapiSchemas()).flatMap(pathsOf)) : new Set<string>();
  const exists = (path: string): boolean => {
    if (known.has(path)) return true;
    const members = path.split('.');
    const free = members.findIndex((member) => FREE_FORM.test(member));
    return free !== -1 && known.has(members.slice(0, free + 1).join('.'));
  };
  const tables = (await loadTables()).filter((table) => getTableConfig(table).schema === 'ton');

  test.each(tables.map((table) => ({ name: getTableConfig(table).name, table })))(
    'of $name names a member that the API has, or says how it is derived',
    ({ table }) => {
      const wrong = Object.entries(factsOf(table).columns).flatMap(([column, comment]) => {
        const paths = namedIn(comment);
        const missing = paths.filter((path) => !exists(path));
        const found = paths.some(exists) || DERIVED.test(comment);
        return missing.length > 0 || !found ? [`${column}: ${missing.join(', ')} in "${comment}"`] : [];
      });
      expect(wrong).toEqual([]);
    },
  );
});
