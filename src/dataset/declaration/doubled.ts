import * as z from 'zod';
import { unwrap } from './place.ts';

/*
 * Members that come twice in one object. JSON.parse keeps the last one and says nothing, so what the first one held would
 * be lost. Where a body has them is remembered here, and whoever reads such a member by its name refuses it.
 */

/** What a text of JSON holds, counted without parsing it. */
interface Survey {
  /** Names of members. */
  readonly names: number;
  /** Members, elements and brackets: each is an object in memory, or a place in one. */
  readonly values: number;
}

const [QUOTE, BACKSLASH, COLON] = [34, 92, 58];
/** For each character that matters outside of texts: 1 for a quote, 2 for the colon behind a name, 3 for what begins a value. */
const KINDS = new Uint8Array(2 ** 7);
KINDS[QUOTE] = 1;
KINDS[COLON] = 2;
for (const byte of Buffer.from(',[{')) KINDS[byte] = 3;

/** Of text, or of its bytes, a character for each. */
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

/** A longer text is searched by the machine's own means, which take as long to begin as some characters take here. */
const SHORT_TEXT = 32;

/** The place of the quote that ends a text: the first one that no backslash escapes. */
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

/** The names of members in parsed JSON: fewer than in its text where some came twice. It may be deep, so the walk uses no stack. */
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

/** What is wrong with a member that came twice. */
export const TWICE = 'comes twice in one object';

const noted = new WeakMap<object, Set<string>>();
let isAnyNoted = false;

/** A bracket that is open: what was parsed of it, and where in it the reading is. */
interface Level {
  readonly parsed: unknown;
  readonly names: Set<string> | undefined;
  place: string | number;
}

const TOKEN = /[[\]{},]|"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/gs;

/** Remembers of each object of a parsed text which members came twice. */
export function noteDoubled(text: string, parsed: unknown): void {
  const levels: Level[] = [{ parsed: [parsed], names: undefined, place: 0 }];
  for (const [token, name = '', colon] of text.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (level === undefined) return;
    if (token === '{' || token === '[') levels.push(openedIn(level, token));
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && typeof level.place === 'number') level.place += 1;
    else if (colon !== undefined) enter(level, unescaped(name));
  }
}

function openedIn({ parsed, place }: Level, bracket: string): Level {
  const inner: unknown = isHolder(parsed) ? Reflect.get(parsed, place) : undefined;
  return { parsed: inner, names: bracket === '{' ? new Set() : undefined, place: 0 };
}

function unescaped(name: string): string {
  const text: unknown = name.includes('\\') ? JSON.parse(`"${name}"`) : name;
  return typeof text === 'string' ? text : name;
}

function enter(level: Level, name: string): void {
  level.place = name;
  if (level.names?.has(name) === true && isHolder(level.parsed)) {
    isAnyNoted = true;
    noted.set(level.parsed, (noted.get(level.parsed) ?? new Set()).add(name));
  }
  level.names?.add(name);
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The members of an object that came twice; undefined for none. */
export function doubledIn(value: unknown): ReadonlySet<string> | undefined {
  return isAnyNoted && isHolder(value) ? noted.get(value) : undefined;
}

/** A copy has come as what it is a copy of. */
export function noteCopy(copy: object, source: object): void {
  const names = isAnyNoted ? noted.get(source) : undefined;
  if (names !== undefined) noted.set(copy, names);
}

/** The path of a member that the schema names and that came twice; undefined for none. Of what may be any, nothing is read by name. */
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
