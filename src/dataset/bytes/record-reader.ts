import type { ValueCheck } from '../declaration/check.ts';
import {
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  LETTER_N,
  NOWHERE,
  OPEN,
  OPEN_LIST,
  plainEnd,
  QUOTE,
  valueEnd,
} from './json-bytes.ts';
import type { Layout, Member } from './layout.ts';
import { ANY_TEXT, textEnd } from './runs.ts';
import { SameJson } from './same-json.ts';
import { NULL, scalarAt, wordsOf, type Page, type View } from './view.ts';

/** An object without members, as amounts of extra currencies mostly are. */
const EMPTY: object = Object.freeze({});

/**
 * Reads records of strict schemas out of the bytes of a body, without making objects of them: it checks each value where
 * it stands, and notes where that is. It reads compact JSON, as servers send it. What is otherwise, or does not fit, it
 * leaves: unknown and repeated members, escapes in text that becomes a column, fractions, long numbers.
 */
export class RecordReader {
  readonly page: Page;
  /** The byte that is read next. */
  at = 0;
  private readonly bytes: Uint8Array;
  private readonly words: DataView;
  private readonly same: SameJson;
  private used = 0;

  constructor(bytes: Uint8Array, text: string) {
    this.bytes = bytes;
    this.same = new SameJson(bytes);
    this.words = wordsOf(bytes);
    // A value takes some ten bytes for each of its two numbers.
    this.page = {
      bytes,
      words: this.words,
      text,
      slots: new Int32Array(Math.max(2 ** 10, bytes.length >> 3)),
      values: [],
    };
  }

  /** The record that begins here; undefined, and `at` is anywhere in it, where it has to be read otherwise. */
  record(layout: Layout): View | undefined {
    const slot = this.reserve(layout.size);
    if (this.object(layout, slot)) return new layout.View(this.page, slot);
    this.release(slot);
    return undefined;
  }

  /** Passes a byte, where it is the next one. */
  passes(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  private reserve(size: number): number {
    const slot = this.used;
    this.used += size;
    const { slots } = this.page;
    if (2 * this.used > slots.length) {
      this.page.slots = new Int32Array(2 * Math.max(slots.length, this.used));
      this.page.slots.set(slots);
    }
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

  private isNoted(slot: number): boolean {
    return this.page.slots[2 * slot] !== 0;
  }

  private object(layout: Layout, slot: number): boolean {
    const start = this.at;
    if (!this.passes(OPEN)) return false;
    if (!this.passes(CLOSE) && !this.members(layout, slot)) return false;
    for (const member of layout.required) if (!this.isNoted(slot + member.slot)) return false;
    this.note(slot, start, this.at);
    const { checks } = layout;
    return checks.length === 0 || passesAll(checks, new layout.View(this.page, slot));
  }

  private members(layout: Layout, slot: number): boolean {
    let before: Member | undefined;
    let expected = layout.first;
    do {
      const member = expected !== undefined && this.isAt(expected) ? expected : this.find(layout, before);
      if (member === undefined || this.isNoted(slot + member.slot)) return false;
      this.at += member.key.length;
      if (!this.value(member, slot + member.slot)) return false;
      before = member;
      expected = member.next;
    } while (this.passes(COMMA));
    return this.passes(CLOSE);
  }

  private isAt({ key }: Member): boolean {
    return key.isAt(this.words, this.at);
  }

  /** The member that comes here, and is expected here the next time. */
  private find(layout: Layout, before: Member | undefined): Member | undefined {
    const { text } = this.page;
    const member = layout.byName.get(text.slice(this.at + 1, text.indexOf('"', this.at + 1)));
    if (member === undefined || !this.isAt(member)) return undefined;
    if (before === undefined) layout.first = member;
    else before.next = member;
    return member;
  }

  private value(member: Member, slot: number): boolean {
    if (this.bytes[this.at] === LETTER_N) return member.takesNull && this.nothing(slot);
    const { kind, layout } = member;
    if (layout !== undefined) return this.nested(kind, layout, slot);
    if (kind === 'text') return this.string(member, slot);
    return kind === 'scalar' ? this.scalar(member, slot) : this.json(member, slot);
  }

  private nested(kind: Member['kind'], layout: Layout, slot: number): boolean {
    if (kind === 'object') return this.object(layout, slot);
    return kind === 'list' ? this.list(layout, slot) : this.map(layout, slot);
  }

  private nothing(slot: number): boolean {
    this.note(slot, NULL, NULL);
    return this.passTo(plainEnd(this.bytes, this.at));
  }

  private passTo(end: number): boolean {
    if (end === NOWHERE) return false;
    this.at = end;
    return true;
  }

  private string({ runs, checks }: Member, slot: number): boolean {
    if (!this.passes(QUOTE)) return false;
    const start = this.at;
    const end = textEnd(this.bytes, start, runs);
    if (end === NOWHERE) return false;
    this.note(slot, start, end);
    this.at = end + 1;
    return checks.length === 0 || passesAll(checks, this.page.text.slice(start, end));
  }

  private scalar({ checks }: Member, slot: number): boolean {
    const isText = this.passes(QUOTE);
    const start = this.at;
    const end = isText ? textEnd(this.bytes, start, ANY_TEXT) : plainEnd(this.bytes, start);
    if (end === NOWHERE) return false;
    this.note(slot, start, end);
    this.at = isText ? end + 1 : end;
    return passesAll(checks, scalarAt(this.page, start, end));
  }

  private list(layout: Layout, slot: number): boolean {
    const start = this.at;
    const views: View[] = [];
    const next = () => {
      const view = this.record(layout);
      if (view !== undefined) views.push(view);
      return view !== undefined;
    };
    if (!this.passes(OPEN_LIST) || !this.parts(CLOSE_LIST, next)) return false;
    this.note(slot, start, this.keep(views));
    return true;
  }

  private map(layout: Layout, slot: number): boolean {
    const start = this.at;
    const views: Record<string, View> = {};
    const next = () => {
      const name = this.name();
      const view = name === undefined || name in views ? undefined : this.record(layout);
      if (name !== undefined && view !== undefined) views[name] = view;
      return view !== undefined;
    };
    if (!this.passes(OPEN) || !this.parts(CLOSE, next)) return false;
    this.note(slot, start, this.keep(views));
    return true;
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
    return isName ? this.page.text.slice(start, end) : undefined;
  }

  /** Where the end of what stands is noted, its place. */
  private keep(value: unknown): number {
    return ~(this.page.values.push(value) - 1);
  }

  /** JSON that may be any is not parsed where it can be written as it stands; an object without members neither. */
  private json({ checks }: Member, slot: number): boolean {
    const { bytes } = this;
    const start = this.at;
    const isEmpty = bytes[start] === OPEN && bytes[start + 1] === CLOSE;
    const end = isEmpty ? start + 2 : checks.length === 0 ? this.same.endOf(start) : NOWHERE;
    if (end === NOWHERE) return this.parsed(checks, slot);
    this.note(slot, start, end);
    this.at = end;
    return passesAll(checks, EMPTY);
  }

  private parsed(checks: Member['checks'], slot: number): boolean {
    const start = this.at;
    if (!this.passTo(valueEnd(this.bytes, start, true))) return false;
    const value = parsed(this.page.text.slice(start, this.at));
    this.note(slot, start, this.keep(value));
    return value !== undefined && passesAll(checks, value);
  }
}

function passesAll(checks: readonly ValueCheck[], value: unknown): boolean {
  for (const check of checks) if (!check(value)) return false;
  return true;
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
