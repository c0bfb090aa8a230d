/**
 * How the strings of a response stand in memory: as text, or as its UTF-8 bytes, a character for each. Bytes cost a tenth
 * to make, and go to Postgres as they came.
 */
export type Strings = 'text' | 'bytes';

/** A value whose strings are bytes, with strings that are text. */
export function asText(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value, 'latin1').toString('utf8');
  if (Array.isArray(value)) return value.map(asText);
  return isPlainObject(value) ? objectAsText(value) : value;
}

/** Numbers that a double cannot hold are objects of a class, and ASCII. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

export function objectAsText(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [String(asText(name)), asText(member)]),
  );
}
