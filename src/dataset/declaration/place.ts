import * as z from 'zod';

/*
 * Where the members of a record go. A member stands in the column of its own name; what else becomes of it is said here,
 * around its schema, and nowhere else.
 */

/** What becomes of a member, where it is no column of its own name. */
export type MemberPlace =
  | { readonly kind: 'column'; readonly name: string }
  /** Its members are columns of the same row, with this before their names. */
  | { readonly kind: 'spread'; readonly prefix: string; readonly notesEmpty: boolean }
  /** No column: rows of its own, or said by other columns. */
  | { readonly kind: 'elsewhere' }
  /** No column, because it is never sent: kept in `extra` if it comes. */
  | { readonly kind: 'extra' };

const places = new WeakMap<object, MemberPlace>();
const moments = new WeakSet();

/** The member stands in this column. */
export const column = <S extends z.ZodType>(name: string, schema: S): S =>
  placed(schema, { kind: 'column', name });

/** The members of the member stand in columns of the same row, with `prefix` before their names. */
export const spread = <S extends z.ZodType>(prefix: string, schema: S): S =>
  placed(schema, { kind: 'spread', prefix, notesEmpty: false });

/** As `spread`; that it was sent with nothing in it is noted in `extra`, for no column tells it. */
export const phase = <S extends z.ZodType>(prefix: string, schema: S): S =>
  placed(schema, { kind: 'spread', prefix, notesEmpty: true });

/** The member is in no column of the row: it has rows of its own, or other columns say it. */
export const elsewhere = <S extends z.ZodType>(schema: S): S => placed(schema, { kind: 'elsewhere' });

/** The member has no column, for no server is known to send it; it is kept in `extra` if it comes. */
export const inExtra = <S extends z.ZodType>(schema: S): S => placed(schema, { kind: 'extra' });

export function placeOf(schema: z.core.$ZodType): MemberPlace | undefined {
  return places.get(schema);
}

/** Says of a schema that it reads unix seconds, which stand in columns as moments. */
export function asMoment<S extends z.ZodType>(schema: S): S {
  moments.add(schema.def);
  return schema;
}

export function isMoment(schema: z.core.$ZodType): boolean {
  return moments.has(schema._zod.def);
}

/** A copy: one schema is used for many members. */
function placed<S extends z.ZodType>(schema: S, place: MemberPlace): S {
  const copy = schema.clone();
  places.set(copy, place);
  return copy;
}

/** A schema without what lets its value be null or left out. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrap(schema.unwrap())
    : schema;
}
