import * as z from 'zod';
import { unwrap } from './column-mapping.ts';

/*
 * Duplicate members in one object. JSON.parse silently keeps the last one and drops the first. Duplicates are
 * remembered here, and code that reads such a member by its name refuses it.
 */

/** Counts of a JSON text, computed without parsing it. */
interface Survey {
  /** Names of members. */
  readonly names: number;
  /** Members, elements and brackets: each takes an object or a slot in memory. */
  readonly values: number;
}

const [QUOTE, BACKSLASH, COLON] = [34, 92, 58];
/**
 * For each character that matters outside of strings: 1 for a quote, 2 for the colon after a name, 3 for the
 * start of a value.
 */
const KINDS = new Uint8Array(2 ** 7);
KINDS[QUOTE] = 1;
KINDS[COLON] = 2;
for (const byte of Buffer.from(',[{')) KINDS[byte] = 3;

/** Counts in a text, or in bytes decoded as one character each. */
export function surveyJson(json: string): Survey {
  let [names, values] = [0, 1];
  for (let at = 0; at < json.length; at += 1) {
    const kind = KINDS[json.charCodeAt(at)] ?? 0;
    if (kind === 0) continue;
    if (kind === 1) at = textEnd(json, at + 1);
    else if (kind === 2) names += 1;
    else values += 1;
  }
  return { names, values };
}

/** Longer strings are searched by `indexOf`, which takes as long to start as this loop takes for some characters. */
const SHORT_TEXT = 32;

/** The index of the quote that ends a string: the first one that no backslash escapes. */
function textEnd(json: string, start: number): number {
  for (let at = start; at < json.length; at += 1) {
    for (const until = at + SHORT_TEXT; at < until; at += 1) {
      const character = json.charCodeAt(at);
      if (character === QUOTE) return at;
      if (character === BACKSLASH) at += 1;
    }
    const quote = json.indexOf('"', at);
    if (quote < 0) break;
    let before = quote;
    while (before > at && json.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 0) return quote;
    at = quote;
  }
  return json.length;
}

/**
 * The number of member names in parsed JSON, which is less than in the text if there are duplicates. The
 * value may be deeply nested, so this uses no recursion.
 */
export function countNames(parsed: unknown): number {
  let names = 0;
  const unread: unknown[] = [parsed];
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    if (Array.isArray(next)) {
      for (const element of next) if (isHolder(element)) unread.push(element);
    } else if (isPlainObject(next)) {
      for (const name in next) {
        names += 1;
        const member = next[name];
        if (isHolder(member)) unread.push(member);
      }
    }
  }
  return names;
}

/** Numbers that a double cannot hold are objects of a class. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isHolder(value) && Object.getPrototypeOf(value) === Object.prototype;
}

/** The reason for refusing a duplicate member. */
export const TWICE = 'is a duplicate member';

const noted = new WeakMap<object, Set<string>>();
let isAnyNoted = false;

/** An open bracket: its parsed value, and the current position in it. */
interface Level {
  readonly parsed: unknown;
  readonly names: Set<string> | undefined;
  key: string | number;
}

const TOKEN = /[[\]{},]|"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/gs;

/** Remembers the duplicate members of each object of a parsed text. */
export function noteDoubled(text: string, parsed: unknown): void {
  const levels: Level[] = [{ parsed: [parsed], names: undefined, key: 0 }];
  for (const [token, name = '', colon] of text.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (level === undefined) return;
    if (token === '{' || token === '[') levels.push(openedIn(level, token));
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && typeof level.key === 'number') level.key += 1;
    else if (colon !== undefined) enter(level, unescaped(name));
  }
}

function openedIn({ parsed, key }: Level, bracket: string): Level {
  const inner: unknown = isHolder(parsed) ? Reflect.get(parsed, key) : undefined;
  return { parsed: inner, names: bracket === '{' ? new Set() : undefined, key: 0 };
}

function unescaped(name: string): string {
  const text: unknown = name.includes('\\') ? JSON.parse(`"${name}"`) : name;
  return typeof text === 'string' ? text : name;
}

function enter(level: Level, name: string): void {
  level.key = name;
  if (level.names?.has(name) === true && isHolder(level.parsed)) {
    isAnyNoted = true;
    noted.set(level.parsed, (noted.get(level.parsed) ?? new Set()).add(name));
  }
  level.names?.add(name);
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The duplicate members of an object; undefined if there are none. */
export function doubledIn(value: unknown): ReadonlySet<string> | undefined {
  return isAnyNoted && isHolder(value) ? noted.get(value) : undefined;
}

/** Copies the note of duplicate members to a copy of an object. */
export function noteCopy(copy: object, source: object): void {
  const names = isAnyNoted ? noted.get(source) : undefined;
  if (names !== undefined) noted.set(copy, names);
}

/**
 * The path of a duplicate member that the schema names; undefined if there is none. In a part that may be
 * anything, no member is read by name.
 */
export function doubledWithin(schema: z.core.$ZodType, value: unknown): PropertyKey[] | undefined {
  if (!isAnyNoted || !isHolder(value)) return undefined;
  const inner = unwrap(schema);
  if (inner instanceof z.ZodPipe) return doubledWithin(inner.in, value);
  for (const [name, part] of partsOf(inner, value)) {
    if (doubledIn(value)?.has(name) === true) return [name];
    const within = doubledWithin(part, Reflect.get(value, name));
    if (within !== undefined) return [name, ...within];
  }
  return undefined;
}

function partsOf(schema: z.core.$ZodType, value: object): [string, z.core.$ZodType][] {
  if (schema instanceof z.ZodObject) {
    const shape: z.core.$ZodShape = schema.shape;
    return Object.entries(shape);
  }
  const part = schema instanceof z.ZodArray ? schema.element : undefined;
  const each = schema instanceof z.ZodRecord ? schema.valueType : part;
  return each === undefined ? [] : Object.keys(value).map((name) => [name, each]);
}
