import * as z from 'zod';

/*
 * Which column stores a member of a record. By default, it is the column of the member's own name. Anything else is
 * declared around the member's schema, with these functions, and nowhere else.
 */

/** How a member is stored that has no column of its own name. */
export type ColumnMapping =
  | { readonly kind: 'column'; readonly name: string }
  /** Its members are columns of the same row, with this prefix. */
  | { readonly kind: 'spread'; readonly prefix: string; readonly notesEmpty: boolean }
  /** No column: it has rows of its own, or other columns contain it. */
  | { readonly kind: 'elsewhere' }
  /** No column, because it is never sent: kept in `extra` if it comes. */
  | { readonly kind: 'extra' };

const mappings = new WeakMap<object, ColumnMapping>();
const moments = new WeakSet();

/** The member is stored in this column. */
export const column = <S extends z.ZodType>(name: string, schema: S): S =>
  withMapping(schema, { kind: 'column', name });

/** The members of the member are columns of the same row, with `prefix` before their names. */
export const spread = <S extends z.ZodType>(prefix: string, schema: S): S =>
  withMapping(schema, { kind: 'spread', prefix, notesEmpty: false });

/** Like `spread`. If it was sent empty, `extra` notes that, because no column shows it. */
export const phase = <S extends z.ZodType>(prefix: string, schema: S): S =>
  withMapping(schema, { kind: 'spread', prefix, notesEmpty: true });

/** The member has no column in the row: it has rows of its own, or other columns contain it. */
export const elsewhere = <S extends z.ZodType>(schema: S): S => withMapping(schema, { kind: 'elsewhere' });

/** The member has no column, because no server is known to send it. It is kept in `extra` if it comes. */
export const inExtra = <S extends z.ZodType>(schema: S): S => withMapping(schema, { kind: 'extra' });

export function mappingOf(schema: z.core.$ZodType): ColumnMapping | undefined {
  return mappings.get(schema);
}

/** Marks a schema of unix seconds, which are stored as timestamps. */
export function asMoment<S extends z.ZodType>(schema: S): S {
  moments.add(schema.def);
  return schema;
}

export function isMoment(schema: z.core.$ZodType): boolean {
  return moments.has(schema._zod.def);
}

/** Creates a copy, because one schema is used for many members. */
function withMapping<S extends z.ZodType>(schema: S, mapping: ColumnMapping): S {
  const copy = schema.clone();
  mappings.set(copy, mapping);
  return copy;
}

/** A schema without the wrappers that allow null or undefined. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrap(schema.unwrap())
    : schema;
}
