import * as z from 'zod';
import { doubledWithin, unwrap, mappingOf } from '../declaration/record.ts';
import {
  ANY_TEXT,
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  NOWHERE,
  OPEN,
  OPEN_LIST,
  QUOTE,
  SameJson,
  skipSpace,
  textEnd,
  valueEnd,
  ANY,
  runsOf,
} from './json-bytes.ts';
import {
  passesAll,
  type Layout,
  type ValueCheck,
  BodyPage,
  scalarAt,
  type RecordView,
  compileReader,
  type LayoutMember,
  viewClassOf,
  type MemberKind,
} from './view.ts';

/** The records of a body, and its remainder. */
export interface ReadList {
  /** Views of records that fit their layout; the rest is parsed. */
  readonly records: readonly unknown[];
  /** The body as text with an empty list. */
  readonly rest: string;
  /** Called when neither the records nor the body are needed any more: their memory may be reused. */
  readonly release: () => void;
}

interface ListBody {
  readonly bytes: Buffer;
  /** The member that holds the records. */
  readonly list: string;
  readonly record: z.ZodType;
  /** Parses JSON without loss. */
  readonly parse: (text: string) => unknown;
  /** Yields the thread every few milliseconds. */
  readonly turn: () => Promise<void>;
}

/** Records that take about two milliseconds. */
const SLICE = 100;

/**
 * Reads the records of a body. All responses of streams are read here. A record that a view cannot show is
 * parsed alone and does not slow the others down. Undefined if the body has no such list, or is not valid
 * JSON as far as it was read.
 */
export async function readList({
  bytes,
  list,
  record,
  parse,
  turn,
}: ListBody): Promise<ReadList | undefined> {
  const start = startOfList(bytes, list);
  if (start === NOWHERE) return undefined;
  const reader = new RecordReader(bytes, parse);
  const layout = layoutOf(record);
  const records: unknown[] = [];
  let at = skipSpace(bytes, start + 1);
  while (bytes[at] !== CLOSE_LIST || records.length > 0) {
    if (records.length % SLICE === SLICE - 1) await turn();
    const [read, end] = reader.element(layout, at);
    if (end === NOWHERE) return undefined;
    records.push(read);
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_LIST) break;
    if (bytes[at] !== COMMA) return undefined;
    at = skipSpace(bytes, at + 1);
  }
  const rest = bytes.toString('utf8', 0, start + 1) + bytes.toString('utf8', at);
  return {
    records,
    rest,
    release: () => {
      reader.page.release();
    },
  };
}

/** The start of the list with this name in an object. */
function startOfList(bytes: Buffer, list: string): number {
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN) return NOWHERE;
  do {
    const name = skipSpace(bytes, at + 1);
    const end = bytes[name] === QUOTE ? valueEnd(bytes, name) : NOWHERE;
    const colon = end === NOWHERE ? end : skipSpace(bytes, end);
    if (bytes[colon] !== COLON) return NOWHERE;
    const value = skipSpace(bytes, colon + 1);
    if (bytes[value] === OPEN_LIST && isName(bytes.toString('utf8', name, end), list)) return value;
    at = valueEnd(bytes, value);
    if (at !== NOWHERE) at = skipSpace(bytes, at);
  } while (bytes[at] === COMMA);
  return NOWHERE;
}

/** A server may escape any character. */
function isName(json: string, name: string): boolean {
  if (!json.includes('\\')) return json === JSON.stringify(name);
  return z.string().parse(JSON.parse(json)) === name;
}

/**
 * Reads records of strict schemas from the bytes of a body, without creating objects. It checks each value in place and
 * notes its position. It reads compact JSON, which servers send. It does not read other forms or values that do not
 * fit: unknown and duplicate members, escapes in text that becomes a column, fractions, long numbers.
 *
 * The code that reads objects is compiled from their layouts. For values other than plain text it calls these methods.
 * They return the end of a value, or NOWHERE if it has to be parsed.
 */
class RecordReader {
  readonly page: BodyPage;
  /** The next byte. */
  private at = 0;
  private readonly bytes: Buffer;
  private readonly same: SameJson;
  private used = 0;

  constructor(bytes: Buffer, parse: ListBody['parse']) {
    this.bytes = bytes;
    this.same = new SameJson(bytes);
    this.page = new BodyPage(bytes, parse);
  }

  /** The element of the list that begins at `start`, and its end. */
  element(layout: Layout | null, start: number): [record: unknown, end: number] {
    this.at = start;
    const view = layout === null ? undefined : this.record(layout);
    if (view !== undefined) return [view, this.at];
    const end = valueEnd(this.bytes, start);
    if (end === NOWHERE) return [undefined, end];
    return [this.page.parsedAt(start, end), end];
  }

  /** The record that begins at `at`. Undefined if it has to be parsed; then `at` is somewhere within it. */
  private record(layout: Layout): RecordView | undefined {
    const slot = this.reserve(layout.size);
    if (this.passTo(layout.read(this, this.at, slot))) return new layout.View(this.page, slot);
    this.release(slot);
    return undefined;
  }

  /** Skips a byte if it is the next one. */
  private passes(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  /** True if an object passes the checks of the whole. */
  passesWhole({ View, checks }: Pick<Layout, 'View' | 'checks'>, slot: number): boolean {
    return passesAll(checks, new View(this.page, slot));
  }

  /** Reads a text whose checks need all of it. `valueSlot`: the index of its start in `slots`. */
  text(checks: readonly ValueCheck[], start: number, valueSlot: number): number {
    const end = textEnd(this.bytes, start + 1, ANY_TEXT);
    if (end === NOWHERE || !passesAll(checks, this.page.textAt(start + 1, end, 'utf8'))) return NOWHERE;
    const { slots } = this.page;
    slots[valueSlot] = start + 1;
    slots[valueSlot + 1] = end;
    return end + 1;
  }

  /** True if a number passes. */
  number(checks: readonly ValueCheck[], start: number, end: number): boolean {
    return passesAll(checks, scalarAt(this.page, start, end));
  }

  /** Reads a list of objects of one kind. */
  list(layout: Layout, start: number, slot: number): number {
    const views: RecordView[] = [];
    this.at = start;
    const next = () => {
      const view = this.record(layout);
      if (view !== undefined) views.push(view);
      return view !== undefined;
    };
    if (!this.passes(OPEN_LIST) || !this.parts(CLOSE_LIST, next)) return NOWHERE;
    this.note(slot, start, this.keep(views));
    return this.at;
  }

  /** Reads a map of objects of one kind. */
  map(layout: Layout, start: number, slot: number): number {
    const views: Record<string, RecordView> = {};
    this.at = start;
    const next = () => {
      const name = this.name();
      const view = name === undefined || name in views ? undefined : this.record(layout);
      if (name !== undefined && view !== undefined) views[name] = view;
      return view !== undefined;
    };
    if (!this.passes(OPEN) || !this.parts(CLOSE, next)) return NOWHERE;
    this.note(slot, start, this.keep(views));
    return this.at;
  }

  /** JSON that may be anything is not parsed if it can be copied unchanged. */
  json(schema: z.core.$ZodType | undefined, start: number, slot: number): number {
    const same = schema === undefined ? this.same.endOf(start) : NOWHERE;
    if (same !== NOWHERE) {
      this.note(slot, start, same);
      return same;
    }
    const end = valueEnd(this.bytes, start);
    const value = end === NOWHERE ? undefined : this.parsed(start, end, schema);
    this.note(slot, start, this.keep(value));
    return value === undefined ? NOWHERE : end;
  }

  /** The value that a schema returns; undefined if the schema does not accept it. */
  private parsed(start: number, end: number, schema: z.core.$ZodType | undefined): unknown {
    const value = this.page.parsedAt(start, end);
    if (schema === undefined) return value;
    return doubledWithin(schema, value) === undefined ? z.safeParse(schema, value).data : undefined;
  }

  /** Reads the elements between the brackets of a list or a map. */
  private parts(close: number, next: () => boolean): boolean {
    if (this.passes(close)) return true;
    do {
      if (!next()) return false;
    } while (this.passes(COMMA));
    return this.passes(close);
  }

  /** The name of a member of a map. */
  private name(): string | undefined {
    const start = this.at + 1;
    const end = this.passes(QUOTE) ? textEnd(this.bytes, start, ANY_TEXT) : NOWHERE;
    const isName = this.passTo(end === NOWHERE ? end : end + 1) && this.passes(COLON);
    return isName ? this.page.textAt(start, end, 'utf8') : undefined;
  }

  private reserve(size: number): number {
    const slot = this.used;
    this.used += size;
    const { length } = this.page.slots;
    if (2 * this.used > length) this.page.growSlots(2 * Math.max(length, this.used));
    return slot;
  }

  private release(slot: number): void {
    this.page.slots.fill(0, 2 * slot, 2 * this.used);
    this.used = slot;
  }

  private note(slot: number, start: number, end: number): void {
    const { slots } = this.page;
    slots[2 * slot] = start;
    slots[2 * slot + 1] = end;
  }

  /** Stores a value and returns the number that is noted in place of its end. */
  private keep(value: unknown): number {
    return ~(this.page.values.push(value) - 1);
  }

  private passTo(end: number): boolean {
    if (end === NOWHERE) return false;
    this.at = end;
    return true;
  }
}

/*
 * Derives from a schema which bytes its records may have. Besides zod, this is the only check of records. It
 * accepts no value that the schema would refuse or change. Some values that the schema accepts are not
 * accepted here; these are parsed and checked by the schema.
 */

const layouts = new WeakMap<object, Layout | null>();

/** The layout of a strict object; null for another schema, whose records are all parsed. */
export function layoutOf(schema: z.core.$ZodType): Layout | null {
  let layout = layouts.get(schema);
  if (layout === undefined) {
    layout = schema instanceof z.ZodObject ? makeLayout(schema) : null;
    layouts.set(schema, layout);
  }
  return layout;
}

function makeLayout(schema: z.ZodObject): Layout | null {
  const own = ownChecks(schema);
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  if (!isStrict || own === undefined || own.patterns.length > 0) return null;
  const shape: z.core.$ZodShape = schema.shape;
  const members: LayoutMember[] = [];
  const required: LayoutMember[] = [];
  let size = 1;
  for (const [name, inner] of Object.entries(shape)) {
    const takesNull = isTakenAsIs(inner, null);
    const member = {
      name,
      slot: size,
      takesNull,
      ...(isBare(inner) ? readingOf(inner) : wholeReading(inner)),
    };
    members.push(member);
    if (!isTakenAsIs(inner, undefined)) required.push(member);
    // A list or map takes one slot here; each of its elements has slots of its own.
    size += member.kind === 'object' && member.layout !== undefined ? member.layout.size : 1;
  }
  const byName = new Map(members.map((member) => [member.name, member]));
  const View = viewClassOf(schema, members);
  const parts = { View, members, required, size, checks: own.custom };
  return { ...parts, byName, read: compileReader(parts) };
}

/** True if the schema accepts null or undefined unchanged. */
function isTakenAsIs(schema: z.core.$ZodType, value: null | undefined): boolean {
  const { success, data } = z.safeParse(schema, value);
  return success && data === value;
}

/** The member at a path, and its slot relative to its record; undefined if it is within a parsed value. */
export function find(
  { byName }: Layout,
  [name = '', ...path]: readonly string[],
): { readonly member: LayoutMember; readonly slot: number } | undefined {
  const member = byName.get(name);
  if (member === undefined || path.length === 0) return member && { member, slot: member.slot };
  const inner = member.kind === 'object' && member.layout ? find(member.layout, path) : undefined;
  return inner && { ...inner, slot: member.slot + inner.slot };
}

type Reading = Pick<LayoutMember, 'kind' | 'encoding' | 'runs' | 'checks' | 'layout' | 'schema'>;

const NO_READING: Omit<Reading, 'kind'> = {
  encoding: 'utf8',
  runs: [],
  checks: [],
  layout: undefined,
  schema: undefined,
};

/** True if the wrappers that allow null or undefined have no checks of their own. */
function isBare(schema: z.core.$ZodType): boolean {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return !isWrapper || (!hasChecks(schema) && isBare(schema.unwrap()));
}

function hasChecks({ _zod }: z.core.$ZodType): boolean {
  return (_zod.def.checks ?? []).length > 0;
}

function readingOf(member: z.core.$ZodType): Reading {
  const inner = unwrap(member);
  return (
    textReading(inner) ??
    (hasPlaces(member) ? partsReading(inner) : undefined) ??
    scalarReading(inner) ??
    wholeReading(inner)
  );
}

/**
 * True if the members of a member have columns or rows of their own; otherwise the member is one JSON value of its row.
 */
function hasPlaces(member: z.core.$ZodType): boolean {
  const kind = mappingOf(member)?.kind;
  return kind === 'spread' || kind === 'elsewhere';
}

/** A JSON value, which its schema checks unless the schema accepts anything. */
function wholeReading(schema: z.core.$ZodType): Reading {
  const inner = unwrap(schema);
  const isAny = inner instanceof z.ZodUnknown && !hasChecks(inner) && isBare(schema);
  return { ...NO_READING, kind: 'json', schema: isAny ? undefined : schema };
}

function textReading(inner: z.core.$ZodType): Reading | undefined {
  const own = inner instanceof z.ZodString ? ownChecks(inner) : undefined;
  if (own === undefined || own.patterns.length > 1) return undefined;
  const [pattern] = own.patterns;
  const runs = pattern === undefined ? ANY : runsOf(pattern);
  return runs && { ...NO_READING, ...runs, kind: 'text', checks: own.custom };
}

/** An object, or a list or map of objects of one kind. */
function partsReading(inner: z.core.$ZodType): Reading | undefined {
  const [kind, part] = partOf(inner);
  const layout = part && layoutOf(part);
  return layout == null ? undefined : { ...NO_READING, kind, layout };
}

function partOf(inner: z.core.$ZodType): [MemberKind, z.core.$ZodType | undefined] {
  if (inner instanceof z.ZodObject) return ['object', inner];
  if (inner instanceof z.ZodArray && !hasChecks(inner)) return ['list', inner.element];
  const isMap = inner instanceof z.ZodRecord && inner.keyType instanceof z.ZodString;
  return ['map', isMap && !hasChecks(inner) && !hasChecks(inner.keyType) ? inner.valueType : undefined];
}

/** The checks of `.regex()` and `.refine()`; undefined if the schema has other checks. */
function ownChecks(schema: z.ZodType): { patterns: RegExp[]; custom: ValueCheck[] } | undefined {
  const [patterns, custom]: [RegExp[], ValueCheck[]] = [[], []];
  for (const { _zod } of schema.def.checks ?? []) {
    const { def } = _zod;
    if ('pattern' in def && def.pattern instanceof RegExp) patterns.push(def.pattern);
    else if (def.check === 'custom' && 'fn' in def && isCheck(def.fn)) custom.push(def.fn);
    else return undefined;
  }
  return { patterns, custom };
}

function isCheck(value: unknown): value is ValueCheck {
  return typeof value === 'function';
}

/** One JSON token, or text with checks that need the whole text. */
function scalarReading(inner: z.core.$ZodType): Reading | undefined {
  const checks = scalarChecks(inner);
  return checks && { ...NO_READING, kind: 'scalar', checks };
}

function scalarChecks(schema: z.core.$ZodType): ValueCheck[] | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  const own = typeCheck(schema);
  const further = (schema.def.checks ?? []).map(({ _zod: { def } }) => furtherCheck(def));
  const known = further.filter((check) => check !== undefined);
  return own === undefined || known.length < further.length ? undefined : [own, ...known];
}

function typeCheck(schema: z.ZodType): ValueCheck | undefined {
  if (schema instanceof z.ZodUnion) return unionCheck(schema.options);
  if (schema instanceof z.ZodNumberFormat) return NUMBERS[schema.format ?? ''];
  if (schema instanceof z.ZodNumber) return Number.isFinite;
  if (schema instanceof z.ZodLiteral) return oneOf(schema.values);
  if (schema instanceof z.ZodEnum) return oneOf(new Set(schema.options));
  if (schema instanceof z.ZodString) return (value) => typeof value === 'string';
  return schema instanceof z.ZodBoolean ? (value) => typeof value === 'boolean' : undefined;
}

function oneOf(values: ReadonlySet<unknown>): ValueCheck {
  return (value) => values.has(value);
}

function unionCheck(options: readonly z.core.$ZodType[]): ValueCheck | undefined {
  const each = options.map((option) => scalarChecks(option));
  const known = each.filter((checks) => checks !== undefined);
  if (known.length < each.length) return undefined;
  return (value) => {
    for (const checks of known) if (passesAll(checks, value)) return true;
    return false;
  };
}

const NUMBERS: Readonly<Record<string, ValueCheck>> = {
  int32: (value) => Number.isInteger(value) && Number(value) >= -(2 ** 31) && Number(value) < 2 ** 31,
  safeint: Number.isSafeInteger,
};

/** The checks of `.regex()`, `.min()`, `.max()` and `.refine()`. */
function furtherCheck(def: z.core.$ZodCheckDef): ValueCheck | undefined {
  if ('pattern' in def && def.pattern instanceof RegExp) {
    const { pattern } = def;
    return (value) => pattern.test(String(value));
  }
  if (def.check === 'custom' && 'fn' in def && isCheck(def.fn)) return def.fn;
  if (!('inclusive' in def && def.inclusive === true && 'value' in def)) return undefined;
  const bound = Number(def.value);
  if (def.check === 'greater_than') return (value) => Number(value) >= bound;
  return def.check === 'less_than' ? (value) => Number(value) <= bound : undefined;
}
