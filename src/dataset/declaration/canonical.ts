import * as z from 'zod';
import { BadResponseError } from '../../errors.ts';
import { doubledWithin, TWICE } from './doubled.ts';

/** Puts a value into the form that its schema takes; returns what it cannot read as it is. */
export type FormReader = (value: unknown) => unknown;

/** By the definitions of schemas, which their copies share. */
const ownReaders = new WeakMap<object, FormReader>();
const readers = new WeakMap<object, FormReader | null>();

/**
 * Says of a schema which other forms of its values servers may send, and how they become the one form that it takes and
 * that the tables hold. So a schema checks one form only, and its values need no second look where a server sends that.
 */
export function withOtherForms<S extends z.ZodType>(schema: S, read: FormReader): S {
  ownReaders.set(schema.def, read);
  return schema;
}

/** What a schema takes or null, which may be left out; an empty string says null, too. */
export function optional<S extends z.ZodType>(schema: S): z.ZodOptional<z.ZodNullable<S>> {
  return withOtherForms(schema.nullish(), (value) => (value === '' ? null : value));
}

/** A value as it came, with all within it that its schema knows in the form that the schema takes. */
export function canonicalOf(schema: z.core.$ZodType, value: unknown): unknown {
  const read = readerOf(schema);
  return read === null ? value : read(value);
}

/** Parses a value whose parts may be in other forms. Throws an error for what does not fit, or has a member twice. */
export function parseCanonical<T>(schema: z.ZodType<T>, value: unknown): T {
  const twice = doubledWithin(schema, value);
  if (twice !== undefined) throw new BadResponseError(`${twice.map(String).join('.')} ${TWICE}`);
  return schema.parse(canonicalOf(schema, value));
}

/** Null for a schema of which no part has other forms. */
function readerOf(schema: z.core.$ZodType): FormReader | null {
  let reader = readers.get(schema);
  if (reader === undefined) {
    reader = compose(partsReader(schema), ownReaders.get(schema._zod.def));
    readers.set(schema, reader);
  }
  return reader;
}

function compose(inner: FormReader | null, own: FormReader | undefined): FormReader | null {
  if (inner === null || own === undefined) return inner ?? own ?? null;
  return (value) => own(inner(value));
}

function partsReader(schema: z.core.$ZodType): FormReader | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return orNothing(schema.unwrap());
  if (schema instanceof z.ZodObject) return objectReader(schema);
  if (schema instanceof z.ZodArray) return listReader(readerOf(schema.element));
  if (schema instanceof z.ZodRecord) return mapReader(readerOf(schema.valueType));
  if (schema instanceof z.ZodCatch) return readerOf(schema.def.innerType);
  return schema instanceof z.ZodPipe ? readerOf(schema.in) : null;
}

function orNothing(schema: z.core.$ZodType): FormReader | null {
  const reader = readerOf(schema);
  return reader && ((value) => (value === null || value === undefined ? value : reader(value)));
}

function objectReader(schema: z.ZodObject): FormReader | null {
  const shape: z.core.$ZodShape = schema.shape;
  const members = Object.entries(shape).flatMap(([name, member]): [string, FormReader][] => {
    const reader = readerOf(member);
    return reader === null ? [] : [[name, reader]];
  });
  return members.length === 0 ? null : (value) => withMembers(value, members);
}

function mapReader(reader: FormReader | null): FormReader | null {
  if (reader === null) return null;
  return (value) =>
    isObject(value)
      ? withMembers(
          value,
          Object.keys(value).map((name) => [name, reader]),
        )
      : value;
}

function listReader(reader: FormReader | null): FormReader | null {
  return reader && ((value) => (Array.isArray(value) ? value.map(reader) : value));
}

/** A copy where a member has changed. */
function withMembers(value: unknown, members: readonly (readonly [string, FormReader])[]): unknown {
  if (!isObject(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [name, reader] of members) {
    if (!Object.hasOwn(value, name)) continue;
    const member = reader(value[name]);
    if (member !== value[name]) (copy ??= { ...value })[name] = member;
  }
  return copy ?? value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
