import * as z from 'zod';
import { doubledWithin } from '../declaration/record.ts';
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
} from './json-bytes.ts';
import { layoutOf } from './layout.ts';
import { passesAll, type Layout, type ValueCheck, BodyPage, scalarAt, type RecordView } from './view.ts';

/** The records of a body, and its remainder. */
export interface ReadList {
  /** Views of records that fit their layout; the others are parsed. */
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
