import type { ZodType } from 'zod';
import { giveMemory, takeMemory } from '../../spare-memory.ts';
import { LETTER_F, LETTER_T, MINUS, QUOTE, ZERO } from './json-bytes.ts';

/** How the value of a member is read: `json` stands for all parsed values. */
export type MemberKind = 'text' | 'scalar' | 'object' | 'list' | 'map' | 'json';

/** The facts of a member that a view needs. */
export interface ViewedMember {
  readonly name: string;
  /** Its slot relative to its object. */
  readonly slot: number;
  readonly kind: MemberKind;
  /** For text: `latin1` if it is ASCII only, which is read faster. */
  readonly encoding: 'utf8' | 'latin1';
  /** The layout of an object, or of each element of a list or a map. */
  readonly layout: { readonly View: ViewClass } | undefined;
}

/**
 * A body whose records were read in place. It is a class and grows its slots in one step. Otherwise V8 would discard
 * the code that it compiled for the first page when a second page comes, or a page that needs more slots.
 */
export class Page {
  readonly bytes: Buffer;
  /** The same bytes, for access to several bytes at a time. */
  readonly words: DataView;
  /**
   * For each slot the start and the end of its value: without quotes for text, with them for JSON. No value
   * starts at 0, so 0 means that it was not sent. A negative end is the complement of an index of `values`.
   */
  slots: Int32Array;
  /** Lists, maps, and parsed JSON. */
  readonly values: unknown[] = [];

  private readonly parse: (json: string) => unknown;

  constructor(bytes: Buffer, parse: (json: string) => unknown) {
    this.bytes = bytes;
    this.parse = parse;
    this.words = wordsOf(bytes);
    // A value takes about ten bytes for each of its two numbers.
    this.slots = takeSlots(Math.max(2 ** 10, bytes.length >> 3));
  }

  growSlots(length: number): void {
    const before = this.slots;
    this.slots = takeSlots(length);
    this.slots.set(before);
    giveMemory(before.buffer);
  }

  /** Called when no view is needed any more: the memory of the body and the slots may be reused. */
  release(): void {
    giveMemory(this.slots.buffer);
    giveMemory(this.bytes.buffer);
    this.slots = NO_SLOTS;
  }

  textAt(start: number, end: number, encoding: ViewedMember['encoding']): string {
    return this.bytes.toString(encoding, start, end);
  }

  /** The value at a position, parsed without loss: within a list, numbers are parsed exactly. */
  parsedAt(start: number, end: number): unknown {
    const list = this.parse(`[${this.textAt(start, end, 'utf8')}]`);
    return Array.isArray(list) ? list[0] : undefined;
  }
}

const NO_SLOTS = new Int32Array(0);

function takeSlots(length: number): Int32Array {
  return new Int32Array(takeMemory(length * Int32Array.BYTES_PER_ELEMENT), 0, length).fill(0);
}

export function wordsOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** The start of a null value. */
export const NULL = -1;

/**
 * A record, or an object in one, with the members of its schema: they are read in place, and are no own properties.
 * `rawOf` returns all of its JSON. The fields are only declared, because V8 is slow to define them in many subclasses.
 */
export abstract class View {
  abstract readonly $schema: object;
  declare readonly $page: Page;
  declare readonly $slot: number;

  constructor(page: Page, slot: number) {
    this.$page = page;
    this.$slot = slot;
  }
}

export type ViewClass = new (page: Page, slot: number) => View;

/** The class of the views of a schema's objects. */
export function viewClassOf(schema: object, members: readonly ViewedMember[]): ViewClass {
  const Own = class extends View {
    declare readonly $schema: object;
  };
  Object.defineProperty(Own.prototype, '$schema', { value: schema });
  for (const member of members) {
    const get = function (this: View) {
      return valueOf(this, member.slot, member);
    };
    Object.defineProperty(Own.prototype, member.name, { get, enumerable: true });
  }
  return Own;
}

/** The value of a member whose slot is `behind` slots after its object's. */
export function valueOf(
  { $page, $slot }: View,
  behind: number,
  { kind, layout, encoding }: ViewedMember,
): unknown {
  const slot = $slot + behind;
  const start = $page.slots[2 * slot] ?? 0;
  if (start <= 0) return start === NULL ? null : undefined;
  if (kind === 'object' && layout !== undefined) return new layout.View($page, slot);
  const end = $page.slots[2 * slot + 1] ?? 0;
  if (end < 0) return $page.values[~end];
  if (kind === 'scalar') return scalarAt($page, start, end);
  const text = $page.textAt(start, end, encoding);
  return kind === 'text' ? text : JSON.parse(text);
}

/** A string, a short integer, or a Boolean. */
export function scalarAt(page: Page, start: number, end: number): unknown {
  const { bytes } = page;
  if (bytes[start - 1] === QUOTE) return page.textAt(start, end, 'utf8');
  const first = bytes[start] ?? 0;
  if (first === LETTER_T || first === LETTER_F) return first === LETTER_T;
  let value = 0;
  for (let at = first === MINUS ? start + 1 : start; at < end; at += 1)
    value = value * 10 + (bytes[at] ?? 0) - ZERO;
  return first === MINUS ? -value : value;
}

/** True if the record is a view of this schema, which accepts it unchanged. */
export function isViewOf<Rec>(schema: ZodType<Rec>, record: unknown): record is Rec {
  return record instanceof View && record.$schema === schema;
}

/** A record as it was received. */
export function rawOf(record: unknown): unknown {
  if (!(record instanceof View)) return record;
  const { start, end } = placeOf(record);
  return record.$page.parsedAt(start, end);
}

/** The position of a view's object in its body. */
function placeOf({ $page: { slots }, $slot }: View): { start: number; end: number } {
  return { start: slots[2 * $slot] ?? 0, end: slots[2 * $slot + 1] ?? 0 };
}
