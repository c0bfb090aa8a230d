import { describe, expect, it } from 'vitest';
import { z, type ZodType } from 'zod';
import { block } from '../../src/api/schemas/block.ts';
import { message } from '../../src/api/schemas/message.ts';
import { transaction } from '../../src/api/schemas/transaction.ts';
import { hasOpenapi, readOpenapi } from '../support/shared-data.ts';
import { sampleBlock, sampleMessage, sampleTransaction } from '../support/sample-records.ts';

interface Described {
  readonly properties?: Record<string, Described>;
  readonly items?: Described;
  readonly allOf?: readonly Described[];
  readonly $ref?: string;
}

/** The OpenAPI document's schemas, with the one question that is asked of them: which members are there? */
const openapi = z.looseObject({
  components: z.looseObject({ schemas: z.record(z.string(), z.custom<Described>()) }),
});

function documentedMembers(name: string): string[] {
  const { schemas } = openapi.parse(readOpenapi()).components;
  const membersOf = (schema: Described | undefined, path: string): string[] => {
    if (schema === undefined) return [];
    const inner = schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!];
    if (inner !== schema) return membersOf(inner, path);
    if (schema.allOf !== undefined) return schema.allOf.flatMap((part) => membersOf(part, path));
    if (schema.items !== undefined) return membersOf(schema.items, `${path}[]`);
    const own = Object.entries(schema.properties ?? {});
    return own.flatMap(([member, type]) => {
      const at = path === '' ? member : `${path}.${member}`;
      return [at, ...membersOf(type, at)];
    });
  };
  return membersOf(schemas[name], '');
}

/** Every member that a record has, by path, those inside free-form JSON left out. */
function membersOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => membersOf(element, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  if (/decoded$|currencies$/.test(path)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [at, ...membersOf(member, at)];
  });
}

const cases: [string, Record<string, unknown>, ZodType][] = [
  ['Block', sampleBlock(), block],
  ['Message', sampleMessage(), message],
  ['Transaction', sampleTransaction(), transaction],
];

describe('the schemas of the API', () => {
  it.each(cases)('name every member of the synthetic %s', (_name, sample, schema) => {
    expect(schema.safeParse(sample).error).toBeUndefined();
  });

  it.skipIf(!hasOpenapi).each(cases)('and the synthetic %s has every documented member', (name, sample) => {
    const sent = new Set(membersOf(sample));
    expect(documentedMembers(name).filter((member) => !sent.has(member))).toEqual([]);
  });

  it.skipIf(!hasOpenapi).each(cases)('and no member of %s but the documented ones', (name, sample) => {
    const documented = new Set(documentedMembers(name));
    expect([...new Set(membersOf(sample))].filter((member) => !documented.has(member))).toEqual([]);
  });
});
