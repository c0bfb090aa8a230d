import { createHash } from 'node:crypto';
import { stringify } from 'lossless-json';
import * as z from 'zod';
import type { core, ZodType } from 'zod';
import { BadResponseError } from '../../errors.ts';
import { formatTime } from '../../range.ts';

/** Converts a value into the form that its schema accepts. Returns unreadable values unchanged. */
type FormReader = (value: unknown) => unknown;

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
  return (value) => {
    const names = isObject(value) ? Object.keys(value) : [];
    return withMembers(
      value,
      names.map((name) => [name, reader]),
    );
  };
}

function listReader(reader: FormReader | null): FormReader | null {
  return reader && ((value) => (Array.isArray(value) ? value.map(reader) : value));
}

/** A copy if a member has changed, else the same object. */
function withMembers(value: unknown, members: readonly (readonly [string, FormReader])[]): unknown {
  if (!isObject(value) || Array.isArray(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [name, reader] of members) {
    if (!Object.hasOwn(value, name)) continue;
    const member = reader(value[name]);
    if (member !== value[name]) (copy ??= { ...value })[name] = member;
  }
  return copy ?? value;
}

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
      for (const element of next) if (isObject(element)) unread.push(element);
    } else if (isPlainObject(next)) {
      for (const name in next) {
        names += 1;
        const member = next[name];
        if (isObject(member)) unread.push(member);
      }
    }
  }
  return names;
}

/** Numbers that a double cannot hold are objects of a class. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && Object.getPrototypeOf(value) === Object.prototype;
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
  const inner: unknown = isObject(parsed) ? Reflect.get(parsed, key) : undefined;
  return { parsed: inner, names: bracket === '{' ? new Set() : undefined, key: 0 };
}

function unescaped(name: string): string {
  const text: unknown = name.includes('\\') ? JSON.parse(`"${name}"`) : name;
  return typeof text === 'string' ? text : name;
}

function enter(level: Level, name: string): void {
  level.key = name;
  if (level.names?.has(name) === true && isObject(level.parsed)) {
    isAnyNoted = true;
    noted.set(level.parsed, (noted.get(level.parsed) ?? new Set()).add(name));
  }
  level.names?.add(name);
}

/** The duplicate members of an object; undefined if there are none. */
export function doubledIn(value: unknown): ReadonlySet<string> | undefined {
  return isAnyNoted && isObject(value) ? noted.get(value) : undefined;
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
  if (!isAnyNoted || !isObject(value)) return undefined;
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

/** Members of a record that no column holds, by dotted path (`description.compute_ph.new_member`). */
export type Extra = Readonly<Record<string, unknown>>;

/** No unknown members, as in nearly every record. */
export const NOTHING: Extra = {};

/** The result of parsing one record with its schema. */
export type RecordReading<Rec> =
  | { readonly ok: true; readonly record: Rec; readonly extra: Extra }
  | { readonly ok: false; readonly path: string; readonly reason: string };

/** Why an amount does not fit. If it is a whole number, only its column is too small. */
export const NO_AMOUNT = 'is not a string of at most 38 digits';

/**
 * Parses one record with a strict schema. Members that the schema does not name are removed and returned as
 * `extra`: the API has grown, and the record is valid. So are optional amounts that no column can hold: anybody can
 * deploy a contract that answers with one. Any other mismatch is returned with its path.
 */
export function readRecord<Rec>(
  schema: ZodType<Rec>,
  { raw, canonical }: { readonly raw: unknown; readonly canonical: unknown },
): RecordReading<Rec> {
  const twice = doubledWithin(schema, raw);
  if (twice !== undefined) return { ok: false, path: dotted(twice), reason: TWICE };
  const first = schema.safeParse(canonical);
  if (first.success) return { ok: true, record: first.data, extra: NOTHING };
  const { issues } = first.error;
  const movable = issues.map((issue) => movableOf(issue, canonical));
  const mismatch = issues.find((_, at) => movable[at] === undefined);
  if (mismatch !== undefined) return refusal(mismatch);
  const copy = structuredClone(canonical);
  const extra: Record<string, unknown> = {};
  for (const path of movable.flatMap((paths) => paths ?? [])) takeOut(copy, path, extra);
  const second = schema.safeParse(copy);
  if (second.success) return { ok: true, record: second.data, extra };
  return refusal(issues.find(({ code }) => code !== 'unrecognized_keys') ?? second.error.issues[0]);
}

/** The paths of members that need no column; undefined for any other mismatch. */
function movableOf(issue: core.$ZodIssue, canonical: unknown): PropertyKey[][] | undefined {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
  const isWide = issue.message === NO_AMOUNT && /^-?\d+$/.test(String(memberAt(canonical, path)));
  return isWide ? [path] : undefined;
}

function refusal(issue: core.$ZodIssue | undefined): RecordReading<never> {
  return { ok: false, path: dotted(issue?.path ?? []), reason: issue?.message ?? 'does not fit its schema' };
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function takeOut(holder: unknown, path: readonly PropertyKey[], into: Record<string, unknown>): void {
  const parent = memberAt(holder, path.slice(0, -1));
  const key = path.at(-1);
  if (!isObject(parent) || key === undefined) return;
  into[dotted(path)] = parent[key];
  Reflect.deleteProperty(parent, key);
}

/** The member of a parsed value at a path; undefined if there is none. */
export function memberAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}

/** True of an object or an array. */
export function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}

/** `extra` as a row stores it: null if it is empty. */
export function orNull(extra: Extra): Extra | null {
  return Object.keys(extra).length === 0 ? null : extra;
}

/** The part of `extra` below `prefix` (one or two names), without the prefix; null if there is none. */
export function extraWithin(extra: Extra, prefix: string): Extra | null {
  if (extra === NOTHING) return null;
  const inside = byPrefix(extra).get(prefix) ?? [];
  return orNull(Object.fromEntries(inside.map(([path, value]) => [path.slice(prefix.length + 1), value])));
}

const grouped = new WeakMap<Extra, ReadonlyMap<string, readonly [string, unknown][]>>();

/** Groups the paths by their first name and by their first two: a record of thousands of parts looks up each group. */
function byPrefix(extra: Extra): ReadonlyMap<string, readonly [string, unknown][]> {
  const known = grouped.get(extra);
  if (known !== undefined) return known;
  const groups = new Map<string, [string, unknown][]>();
  for (const [path, value] of Object.entries(extra)) {
    const [first = '', second] = path.split('.', 2);
    for (const prefix of [first, `${first}.${second}`]) {
      if (!path.startsWith(`${prefix}.`)) continue;
      const group = groups.get(prefix);
      if (group === undefined) groups.set(prefix, [[path, value]]);
      else group.push([path, value]);
    }
  }
  grouped.set(extra, groups);
  return groups;
}

/** `extra` without the paths below the prefixes; null if nothing is left. */
export function extraOutside(extra: Extra, prefixes: readonly string[]): Extra | null {
  if (extra === NOTHING) return null;
  const outside = Object.entries(extra).filter(
    ([path]) => !prefixes.some((prefix) => path.startsWith(`${prefix}.`)),
  );
  return orNull(Object.fromEntries(outside));
}

/** Identifies a record without an id of its own: the SHA-256 of its JSON, in base64. */
export function hashOf(raw: unknown): string {
  return createHash('sha256')
    .update(stringify(raw) ?? '')
    .digest('base64');
}

/** A schema without the wrappers that allow null or undefined. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrap(schema.unwrap())
    : schema;
}

/** The part of a Drizzle table that a job needs: the type of inserted rows. */
export interface Table {
  readonly $inferInsert: object;
}

/** A column of a table that stores a member of a record. */
export interface MemberColumn {
  readonly name: string;
  readonly path: readonly string[];
  /** Unix seconds, whose column takes ISO text. */
  readonly isMoment: boolean;
}

/** A member without a column: kept in `extra` if it comes, or if it comes without any of its own `members`. */
export interface Noted {
  readonly path: readonly string[];
  readonly members?: readonly string[];
}

/**
 * How records of one kind become rows of one table. Values that are not members of the record are given with each row.
 */
export interface RowLayout<T extends Table = Table, Rec = unknown> {
  readonly table: T;
  readonly record: z.ZodType<Rec>;
  readonly columns: readonly MemberColumn[];
  readonly noted: readonly Noted[];
  /** The column of block time, if it is a member of the record. */
  readonly time: MemberColumn | undefined;
}

/** The values of columns that are not members of the record, and of `extra`, if the table has that column. */
export type Given<T extends Table> = Partial<T['$inferInsert']>;

/** Receives one row. */
export type Put = <T extends Table, Rec>(
  rowLayout: RowLayout<T, Rec>,
  record: Rec,
  given: Given<T>,
  extra?: Extra | null,
) => void;

type Row = Readonly<Record<string, unknown>>;

/** How a record with this schema becomes a row of a table. Its members are computed when the first record comes. */
export function rowLayoutOf<T extends Table, Rec>(table: T, record: z.ZodType<Rec>): RowLayout<T, Rec> {
  let found: FoundColumns | undefined;
  const members = () => (found ??= membersOf(record));
  return {
    table,
    record,
    get columns() {
      return members().columns;
    },
    get noted() {
      return members().noted;
    },
    get time() {
      return members().time;
    },
  };
}

/** For rows whose columns are all given. */
export function givenLayout<T extends Table>(table: T): RowLayout<T, null> {
  return { table, record: z.null(), columns: [], noted: [], time: undefined };
}

/** The `rows` of a job whose records are one row each, with every column a member. */
export function oneRow<Rec>(table: Table, schema: z.ZodType<Rec>) {
  const rowLayout = rowLayoutOf(table, schema);
  return (record: Rec, extra: Extra, put: Put): void => put(rowLayout, record, {}, extra);
}

/** The row of a record as an object. `extra` is omitted if the table lacks that column. */
export function rowOf(
  rowLayout: Pick<RowLayout, 'columns' | 'noted'>,
  record: unknown,
  given: object,
  extra?: Extra | null,
): Row {
  const row: Record<string, unknown> = {};
  for (const { name, path, isMoment } of rowLayout.columns) {
    const value = memberAt(record, path);
    row[name] = isMoment && value != null ? formatTime(Number(value)) : value;
  }
  return { ...row, ...given, ...(extra !== undefined && { extra: fullExtra(rowLayout, record, extra) }) };
}

/** Block time of a row; undefined if the table has none. */
export function timeOfRow({ time }: Pick<RowLayout, 'time'>, record: unknown, given: object) {
  if ('utime' in given && typeof given.utime === 'string') return given.utime;
  return time && formatTime(Number(memberAt(record, time.path)));
}

/** The members of a record without a column, and those that its schema does not name; null if there are none. */
export function fullExtra(
  { noted }: Pick<RowLayout, 'noted'>,
  record: unknown,
  extra: Extra | null,
): Extra | null {
  const all: Record<string, unknown> = { ...extra };
  for (const { path, members } of noted) {
    const value = memberAt(record, path);
    if (value == null) continue;
    if (members === undefined) all[path.join('.')] = value;
    else if (members.every((name) => memberAt(value, [name]) == null)) all[path.join('.')] = {};
  }
  return orNull(all);
}

type FoundColumns = Pick<RowLayout, 'columns' | 'noted' | 'time'>;

function membersOf(record: z.ZodType): FoundColumns {
  const columns: MemberColumn[] = [];
  const noted: Noted[] = [];
  collect(record, { path: [], prefix: '' }, { columns, noted });
  return { columns, noted, time: columns.find(({ name }) => name === 'utime') };
}

function collect(
  schema: z.core.$ZodType,
  { path: above, prefix }: { readonly path: readonly string[]; readonly prefix: string },
  found: { readonly columns: MemberColumn[]; readonly noted: Noted[] },
): void {
  const object = unwrap(schema);
  if (!(object instanceof z.ZodObject)) return;
  const shape: z.core.$ZodShape = object.shape;
  for (const [name, member] of Object.entries(shape)) {
    const path = [...above, name];
    const mapping = mappingOf(member) ?? { kind: 'column', name: `${prefix}${name}` };
    if (mapping.kind === 'column')
      found.columns.push({ name: mapping.name, path, isMoment: isMoment(unwrap(member)) });
    if (mapping.kind === 'extra') found.noted.push({ path });
    if (mapping.kind !== 'spread') continue;
    if (mapping.notesEmpty) found.noted.push({ path, members: namesIn(member) });
    collect(member, { path, prefix: mapping.prefix }, found);
  }
}

function namesIn(schema: z.core.$ZodType): string[] {
  const object = unwrap(schema);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

export type Tables = Readonly<Record<string, Table>>;

/** Rows by table name, as they are written. */
export type Rows = Readonly<Record<string, readonly object[] | undefined>>;

/** Collects rows as objects, by the names of their tables. */
export function collectRows(tables: Tables, visit: (put: Put) => void): Rows {
  const names = new Map<Table, string>(Object.entries(tables).map(([name, table]) => [table, name]));
  const rows: Record<string, object[]> = Object.fromEntries(Object.keys(tables).map((name) => [name, []]));
  visit(
    <T extends Table, Rec>(layout: RowLayout<T, Rec>, record: Rec, given: Given<T>, extra?: Extra | null) => {
      const name = names.get(layout.table);
      if (name === undefined) throw new TypeError('a row for a table that its job does not name');
      rows[name]?.push(rowOf(layout, record, given, extra));
    },
  );
  return rows;
}

/*
 * Which column stores a member of a record. By default, it is the column of the member's own name. Anything else is
 * declared around the member's schema, with these functions, and nowhere else.
 */

/** How a member is stored that has no column of its own name. */
type ColumnMapping =
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

function isMoment(schema: z.core.$ZodType): boolean {
  return moments.has(schema._zod.def);
}

/** Creates a copy, because one schema is used for many members. */
function withMapping<S extends z.ZodType>(schema: S, mapping: ColumnMapping): S {
  const copy = schema.clone();
  mappings.set(copy, mapping);
  return copy;
}
