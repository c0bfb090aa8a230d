import { passesAll, type ValueCheck } from '../declaration/check.ts';
import { countNames, surveyJson } from '../doubled.ts';
import { CLOSE, CLOSE_LIST, COLON, COMMA, NOWHERE, OPEN, OPEN_LIST, QUOTE, valueEnd } from './json-bytes.ts';
import type { Layout } from './object-layout.ts';
import { ANY_TEXT, textEnd } from './runs.ts';
import { SameJson } from './same-json.ts';
import { Page, scalarAt, type View } from './view.ts';

/**
 * Reads records of strict schemas out of the bytes of a body, without making objects of them: it checks each value where
 * it stands, and notes where that is. It reads compact JSON, as servers send it. What is otherwise, or does not fit, it
 * leaves: unknown and repeated members, escapes in text that becomes a column, fractions, long numbers.
 *
 * Objects are read by code that is compiled for their layouts. For other values than plain text it calls the methods here,
 * which say where a value ends: NOWHERE where it has to be read otherwise.
 */
export class RecordReader {
  readonly page: Page;
  /** The byte that is read next. */
  at = 0;
  private readonly bytes: Buffer;
  private readonly same: SameJson;
  private used = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.same = new SameJson(bytes);
    this.page = new Page(bytes);
  }

  /** The record that begins here; undefined, and `at` is anywhere in it, where it has to be read otherwise. */
  record(layout: Layout): View | undefined {
    const slot = this.reserve(layout.size);
    if (this.passTo(layout.read(this, this.at, slot))) return new layout.View(this.page, slot);
    this.release(slot);
    return undefined;
  }

  /** Passes a byte, where it is the next one. */
  passes(byte: number): boolean {
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
    if (end === NOWHERE || !passesAll(checks, this.page.textAt(start + 1, end))) return NOWHERE;
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

  /** JSON that may be any is not parsed where it can be written as it stands. */
  json(checks: readonly ValueCheck[], start: number, slot: number): number {
    const same = checks.length === 0 ? this.same.endOf(start) : NOWHERE;
    if (same !== NOWHERE) {
      this.note(slot, start, same);
      return same;
    }
    const end = valueEnd(this.bytes, start, true);
    const text = end === NOWHERE ? '' : this.page.textAt(start, end);
    const value = end === NOWHERE ? undefined : parsed(text);
    this.note(slot, start, this.keep(value));
    if (value === undefined || !passesAll(checks, value)) return NOWHERE;
    const isSingle = surveyJson(text).names === countNames(value);
    return isSingle ? end : NOWHERE;
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
    return isName ? this.page.textAt(start, end) : undefined;
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

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
