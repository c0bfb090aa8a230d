import { noteCopy } from './doubled.ts';

/**
 * How the strings of a response stand in memory: as text, or as its UTF-8 bytes, a character for each. Bytes cost a tenth
 * to make, and go to Postgres as they came.
 */
export type Strings = 'text' | 'bytes';

type JsonMembers = Record<string, unknown>;

/** A value whose strings are bytes, with strings that are text. It may be deep, so the walk uses no stack. */
export function asText(value: unknown): unknown {
  const unfilled: [copy: object, source: object][] = [];
  const copyOf = (member: unknown): unknown => {
    if (typeof member === 'string') return textOf(member);
    if (!Array.isArray(member) && !isPlainObject(member)) return member;
    const copy: object = Array.isArray(member) ? [] : {};
    unfilled.push([copy, member]);
    return copy;
  };
  const whole = copyOf(value);
  for (let next = unfilled.pop(); next !== undefined; next = unfilled.pop()) {
    const [copy, source] = next;
    for (const [name, member] of Object.entries(source)) {
      const property = { value: copyOf(member), writable: true, enumerable: true, configurable: true };
      Object.defineProperty(copy, textOf(name), property);
    }
    noteCopy(copy, source);
  }
  return whole;
}

/** The values of a row, whose names are ASCII. */
export function rowAsText(row: object): Readonly<JsonMembers> {
  return Object.fromEntries(Object.entries(row).map(([name, member]) => [name, asText(member)]));
}

function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Numbers that a double cannot hold are objects of a class, and ASCII. */
function isPlainObject(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
