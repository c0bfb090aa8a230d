import * as z from 'zod';
import { BadResponseError } from '../../errors.ts';
import { doubledWithin, TWICE } from './record.ts';

/** Converts a value into the form that its schema accepts. Returns unreadable values unchanged. */
export type FormReader = (value: unknown) => unknown;

/** Keyed by the definitions of schemas, which their copies share. */
const ownReaders = new WeakMap<object, FormReader>();
const readers = new WeakMap<object, FormReader | null>();

/**
 * Declares other forms of a schema's values that servers may send, and their conversion into the one form that the
 * schema accepts and the tables store. So a schema checks one form only, and values in that form need no conversion.
 */
export function withOtherForms<S extends z.ZodType>(schema: S, read: FormReader): S {
  ownReaders.set(schema.def, read);
  return schema;
}

/** Accepts the schema's values, null, or a missing member. An empty string also means null. */
export function optional<S extends z.ZodType>(schema: S): z.ZodOptional<z.ZodNullable<S>> {
  return withOtherForms(schema.nullish(), (value) => (value === '' ? null : value));
}

/** The value with all known parts converted to the form that their schema accepts. */
export function canonicalOf(schema: z.core.$ZodType, value: unknown): unknown {
  const read = readerOf(schema);
  return read === null ? value : read(value);
}

/** Parses a value whose parts may be in other forms. Throws if it does not fit or has a duplicate member. */
export function parseCanonical<T>(schema: z.ZodType<T>, value: unknown): T {
  const twice = doubledWithin(schema, value);
  if (twice !== undefined) throw new BadResponseError(`${twice.map(String).join('.')} ${TWICE}`);
  return schema.parse(canonicalOf(schema, value));
}

/** Null for a schema without other forms in any part. */
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

/** A copy if a member has changed, else the same object. */
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
