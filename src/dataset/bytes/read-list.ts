import * as z from 'zod';
import { doubledWithin } from '../declaration/doubled.ts';
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
import { passesAll, type Layout, type ValueCheck } from './object-reader.ts';
import { Page, scalarAt, type View } from './view.ts';

/** The records of a body, and the rest of it. */
export interface ReadList {
  /** Views of records that fit; any other one parsed. */
  readonly records: readonly unknown[];
  /** The body as text with an empty list. */
  readonly rest: string;
  /** Called if the records are read no more, nor the body: its memory may be used for another one. */
  readonly release: () => void;
}

interface ListBody {
  readonly bytes: Buffer;
  /** The member that holds the records. */
  readonly list: string;
  readonly record: z.ZodType;
  /** Parses JSON without loss. */
  readonly parse: (text: string) => unknown;
  /** Lets others have the thread, every few milliseconds. */
  readonly turn: () => Promise<void>;
}

/** Records that are read in some two milliseconds. */
const SLICE = 100;

/**
 * Reads the records of a body: the one way from a response to records. A record that its view cannot show is parsed alone, and
 * no other record is slower for it. Undefined if the body has no such list, or is no JSON as far as was read.
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

/** Where the list of this name opens in an object. */
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
 * Reads records of strict schemas out of the bytes of a body, without making objects of them: it checks each value where
 * it stands, and notes where that is. It reads compact JSON, as servers send it. What is otherwise, or does not fit, it
 * leaves: unknown and repeated members, escapes in text that becomes a column, fractions, long numbers.
 *
 * Objects are read by code that is compiled for their layouts. For other values than plain text it calls the methods here,
 * which say where a value ends: NOWHERE where it has to be read otherwise.
 */
class RecordReader {
  readonly page: Page;
  /** The byte that is read next. */
  private at = 0;
  private readonly bytes: Buffer;
  private readonly same: SameJson;
  private used = 0;

  constructor(bytes: Buffer, parse: ListBody['parse']) {
    this.bytes = bytes;
    this.same = new SameJson(bytes);
    this.page = new Page(bytes, parse);
  }

  /** The element of the list that begins there, and where it ends. */
  element(layout: Layout | null, start: number): [record: unknown, end: number] {
    this.at = start;
    const view = layout === null ? undefined : this.record(layout);
    if (view !== undefined) return [view, this.at];
    const end = valueEnd(this.bytes, start);
    if (end === NOWHERE) return [undefined, end];
    return [this.page.parsedAt(start, end), end];
  }

  /** The record that begins here; undefined, and `at` is anywhere in it, if it has to be parsed. */
  private record(layout: Layout): View | undefined {
    const slot = this.reserve(layout.size);
    if (this.passTo(layout.read(this, this.at, slot))) return new layout.View(this.page, slot);
    this.release(slot);
    return undefined;
  }

  /** Passes a byte, if it is the next one. */
  private passes(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  /** True where an object passes what is asked of it as a whole. */
  passesWhole({ View, checks }: Pick<Layout, 'View' | 'checks'>, slot: number): boolean {
    return passesAll(checks, new View(this.page, slot));
  }

  /** Reads a text of any kind, which the checks have to see; `place` is where its beginning is noted. */
  text(checks: readonly ValueCheck[], start: number, place: number): number {
    const end = textEnd(this.bytes, start + 1, ANY_TEXT);
    if (end === NOWHERE || !passesAll(checks, this.page.textAt(start + 1, end, 'utf8'))) return NOWHERE;
    const { slots } = this.page;
    slots[place] = start + 1;
    slots[place + 1] = end;
    return end + 1;
  }

  /** True where a number passes. */
  number(checks: readonly ValueCheck[], start: number, end: number): boolean {
    return passesAll(checks, scalarAt(this.page, start, end));
  }

  /** Reads many objects of one kind. */
  list(layout: Layout, start: number, slot: number): number {
    const views: View[] = [];
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

  /** The same, by their names. */
  map(layout: Layout, start: number, slot: number): number {
    const views: Record<string, View> = {};
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

  /** JSON that may be any is not parsed if it can be written as it stands. */
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

  /** What a schema makes of a value; undefined for one that it does not take as it came. */
  private parsed(start: number, end: number, schema: z.core.$ZodType | undefined): unknown {
    const value = this.page.parsedAt(start, end);
    if (schema === undefined) return value;
    return doubledWithin(schema, value) === undefined ? z.safeParse(schema, value).data : undefined;
  }

  /** Passes what stands between the brackets of a list or a map. */
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

  /** Where the end of what stands is noted, its place. */
  private keep(value: unknown): number {
    return ~(this.page.values.push(value) - 1);
  }

  private passTo(end: number): boolean {
    if (end === NOWHERE) return false;
    this.at = end;
    return true;
  }
}
