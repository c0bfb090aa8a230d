import { compileFunction } from 'node:vm';
import * as z from 'zod';
import type { ZodType } from 'zod';
import {
  LETTER_F,
  LETTER_T,
  MINUS,
  QUOTE,
  ZERO,
  CLOSE,
  COMMA,
  LETTER_N,
  NOWHERE,
  OPEN,
  plainEnd,
  runEnd,
  textEnd,
  type Run,
} from './json-bytes.ts';

/** True if a value passes. */
export type ValueCheck = (value: unknown) => boolean;

export function passesAll(checks: readonly ValueCheck[], value: unknown): boolean {
  for (const check of checks) if (!check(value)) return false;
  return true;
}

/** A member of a record in a body. */
export interface LayoutMember {
  readonly name: string;
  /** Its slot relative to its object. */
  readonly slot: number;
  readonly kind: MemberKind;
  /** For text: `latin1` if it is ASCII only, which is read faster. */
  readonly encoding: 'utf8' | 'latin1';
  readonly takesNull: boolean;
  /** The patterns that a text may match: each is a sequence of runs. */
  readonly runs: readonly (readonly Run[])[];
  /** Further checks of a text, or the checks of a scalar. */
  readonly checks: readonly ValueCheck[];
  /** The schema of a value that is parsed; undefined if it accepts anything. */
  readonly schema: z.core.$ZodType | undefined;
  /** The layout of an object, or of each element of a list or a map. */
  readonly layout: Layout | undefined;
}

/** The slots of an object: its own slot first, then those of its members in order. */
export interface Layout {
  readonly View: ViewClass;
  readonly members: readonly LayoutMember[];
  readonly byName: ReadonlyMap<string, LayoutMember>;
  /** Required members. */
  readonly required: readonly LayoutMember[];
  /** The number of slots. */
  readonly size: number;
  /** The checks of the whole object. */
  readonly checks: readonly ValueCheck[];
  readonly read: ReadObject;
}

/**
 * Notes the positions of an object's values and returns its end; NOWHERE if the object must be parsed as JSON.
 * The reader is a `RecordReader`.
 */
type ReadObject = (reader: { readonly page: BodyPage }, start: number, slot: number) => number;

/** A layout without its compiled reader. */
type Unread = Omit<Layout, 'read' | 'byName'>;

const NULL_TEXT = Buffer.from('null');
const FAIL = `return ${NOWHERE}`;

/** Compiles the reader of a layout's objects. It is a third faster than code that looks up each member at run time. */
export function compileReader(layout: Unread): ReadObject {
  const source = new ObjectSource();
  const made = compile(source.object(layout), source.scope);
  if (!isReader(made)) throw new TypeError('the reader of an object cannot be compiled');
  return made;
}

function isReader(made: unknown): made is ReadObject {
  return typeof made === 'function';
}

/**
 * Generates a function that reads the object at `start`; `r` is the `RecordReader`. In it, `at` is the offset of the
 * next byte, `v` that of a value, and `e` the end of a text. `valueSlot` is the index in `slots` of a value's start. Of
 * the schema, the source contains only the names of members, encoded as numbers. Everything else is in the scope.
 */
class ObjectSource {
  readonly scope: Record<string, unknown> = { plainEnd, runEnd, textEnd };
  private last = 0;

  /** Members in an order other than the schema's cost more rounds of the loop. Unknown members end it in NOWHERE. */
  object(layout: Unread): string {
    const required = layout.required.map(({ slot }) => `slots[own + ${2 * slot}] === 0`);
    const whole = layout.checks.length === 0 ? [] : [`!r.passesWhole(${this.name(layout)}, slot)`];
    return `(r, start, slot) => {
      const { page } = r, { bytes, words } = page, size = bytes.length, own = 2 * slot;
      let { slots } = page, at = start + 1, v = 0, e = 0, valueSlot = 0;
      if (bytes[start] !== ${OPEN}) ${FAIL};
      if (bytes[at] !== ${CLOSE}) for (;;) {
        const before = at;
        ${layout.members.map((member) => this.member(member)).join('\n')}
        if (at === before) ${FAIL};
      }
      if (bytes[at] !== ${CLOSE}${required.map((isMissing) => ` || ${isMissing}`).join('')}) ${FAIL};
      at += 1;
      slots[own] = start; slots[own + 1] = at;
      ${whole.map((fails) => `if (${fails}) ${FAIL};`).join('')}
      return at;
    }`;
  }

  /** A member that is already noted is not read again, so a duplicate counts as an unknown member. */
  private member(member: LayoutMember): string {
    const { length, words } = keyOf(member.name);
    const isWord = words.map(({ behind, word }) => `words.getInt32(at + ${behind}, true) === ${word}`);
    const valueSlot = `own + ${2 * member.slot}`;
    const nothing = member.takesNull ? this.nothing() : `${FAIL};`;
    return `if (at + ${length} <= size && ${isWord.join(' && ')} && slots[${valueSlot}] === 0) {
      v = at + ${length};
      valueSlot = ${valueSlot};
      if (bytes[v] === ${LETTER_N}) { ${nothing} } else { ${this.value(member)} }
      if (bytes[at] !== ${COMMA}) break;
      at += 1;
    }`;
  }

  private nothing(): string {
    const { length } = NULL_TEXT;
    return `if (v + ${length} > size || words.getInt32(v, true) !== ${NULL_TEXT.readInt32LE()}) ${FAIL};
      at = v + ${length};
      ${note(String(NULL), String(NULL))}`;
  }

  private value(member: LayoutMember): string {
    const { kind, layout, checks } = member;
    if (layout !== undefined) return this.nested(member, layout);
    if (kind === 'text') return this.text(member);
    return kind === 'scalar' ? this.scalar(checks) : this.json(member);
  }

  /** Reading nested objects may replace `page.slots` by a larger array, so it is loaded again. */
  private nested({ kind, slot }: LayoutMember, layout: Layout): string {
    const read = kind === 'object' ? `${this.name(layout.read)}(r, ` : `r.${kind}(${this.name(layout)}, `;
    return `at = ${read}v, slot + ${slot});
      if (at === ${NOWHERE}) ${FAIL};
      slots = page.slots;`;
  }

  private text({ runs, checks, encoding }: LayoutMember): string {
    const [first = [], ...others] = runs;
    const any =
      others.length === 0 ? '' : ` && (e = textEnd(bytes, v + 1, ${this.name(others)})) === ${NOWHERE}`;
    const fails = checks.map(
      (check) => ` || !${this.name(check)}(page.textAt(v + 1, e, ${JSON.stringify(encoding)}))`,
    );
    return `e = v + 1;
      if (bytes[v] !== ${QUOTE} || !(${this.row(first)})${any}${fails.join('')}) ${FAIL};
      at = e + 1;
      ${note('v + 1', 'e')}`;
  }

  /** An expression that is true if the text matches a sequence of runs. */
  private row(runs: readonly Run[]): string {
    const passes = runs.map((run) =>
      run.least === 1 && run.most === 1
        ? `${this.name(run.kind)}[bytes[e++]] === 1`
        : `(e = runEnd(bytes, e, ${this.name(run)})) !== ${NOWHERE}`,
    );
    return [...passes, `bytes[e] === ${QUOTE}`].join(' && ');
  }

  /** Whether `true` and `false` pass is checked when the code is generated. */
  private scalar(checks: readonly ValueCheck[]): string {
    const given = this.name(checks);
    const word = (letter: number, value: boolean) => `bytes[v] === ${letter} ? ${passesAll(checks, value)}`;
    return `if (bytes[v] === ${QUOTE}) {
        at = r.text(${given}, v, valueSlot);
        if (at === ${NOWHERE}) ${FAIL};
      } else {
        at = plainEnd(bytes, v);
        if (at === ${NOWHERE}) ${FAIL};
        if (!(${word(LETTER_T, true)} : ${word(LETTER_F, false)} : r.number(${given}, v, at))) ${FAIL};
        ${note('v', 'at')}
      }`;
  }

  /** An empty object is not parsed: amounts of extra currencies are mostly empty. */
  private json({ schema, slot }: LayoutMember): string {
    const whole = `at = r.json(${this.name(schema)}, v, slot + ${slot});
        if (at === ${NOWHERE}) ${FAIL};`;
    if (schema !== undefined && JSON.stringify(z.safeParse(schema, {}).data) !== '{}') return whole;
    return `if (bytes[v] === ${OPEN} && bytes[v + 1] === ${CLOSE}) {
        at = v + 2;
        ${note('v', 'at')}
      } else {
        ${whole}
      }`;
  }

  private name(value: unknown): string {
    const name = `given${++this.last}`;
    this.scope[name] = value;
    return name;
  }
}

function note(start: string, end: string): string {
  return `slots[valueSlot] = ${start}; slots[valueSlot + 1] = ${end};`;
}

const WORD = 4;

/** Four bytes of a name as a number, and their offset in the name. */
interface KeyWord {
  readonly behind: number;
  readonly word: number;
}

/** The name of a member with its quotes and colon, as in compact JSON: at least four bytes. */
function keyOf(name: string): { readonly length: number; readonly words: readonly KeyWord[] } {
  const bytes = Buffer.from(`${JSON.stringify(name)}:`);
  const words = Array.from({ length: Math.ceil(bytes.length / WORD) }, (_, index) => {
    // The last word ends with the name, and may overlap the word before it.
    const behind = Math.min(index * WORD, bytes.length - WORD);
    return { behind, word: bytes.readInt32LE(behind) };
  });
  return { length: bytes.length, words };
}

/**
 * Compiles a function whose source the program has built from its own names and constants, never from data that was
 * read. `source` is an expression; `scope` has the values that it may use, by name.
 */
export function compile(source: string, scope: Readonly<Record<string, unknown>>): unknown {
  const made = compileFunction(`'use strict'; return (${source});`, Object.keys(scope));
  const result: unknown = Reflect.apply(made, undefined, Object.values(scope));
  return result;
}

/** How the value of a member is read: `json` stands for all parsed values. */
export type MemberKind = 'text' | 'scalar' | 'object' | 'list' | 'map' | 'json';

/**
 * A body whose records were read in place. It is a class and grows its slots in one step. Otherwise V8 would discard
 * the code that it compiled for the first page when a second page comes, or a page that needs more slots.
 */
export class BodyPage {
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
    // A body has about ten bytes for each number in `slots`.
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

  textAt(start: number, end: number, encoding: LayoutMember['encoding']): string {
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
 * A record, or an object in one, with the members of its schema: they are read in place, by getters of the prototype.
 * `rawOf` returns all of its JSON. The fields are only declared, because V8 is slow to define them in many subclasses.
 */
export abstract class RecordView {
  abstract readonly $schema: object;
  declare readonly $page: BodyPage;
  declare readonly $slot: number;

  constructor(page: BodyPage, slot: number) {
    this.$page = page;
    this.$slot = slot;
  }
}

export type ViewClass = new (page: BodyPage, slot: number) => RecordView;

/** The class of the views of a schema's objects. */
export function viewClassOf(schema: object, members: readonly LayoutMember[]): ViewClass {
  const Own = class extends RecordView {
    declare readonly $schema: object;
  };
  Object.defineProperty(Own.prototype, '$schema', { value: schema });
  for (const member of members) {
    const get = function (this: RecordView) {
      return valueOf(this, member.slot, member);
    };
    Object.defineProperty(Own.prototype, member.name, { get, enumerable: true });
  }
  return Own;
}

/** The value of a member, `behind` slots after its object's own slot. */
export function valueOf(
  { $page, $slot }: RecordView,
  behind: number,
  { kind, layout, encoding }: LayoutMember,
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
export function scalarAt(page: BodyPage, start: number, end: number): unknown {
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
  return record instanceof RecordView && record.$schema === schema;
}

/** A record as it was received. */
export function rawOf(record: unknown): unknown {
  if (!(record instanceof RecordView)) return record;
  const { $page, $slot } = record;
  return $page.parsedAt($page.slots[2 * $slot] ?? 0, $page.slots[2 * $slot + 1] ?? 0);
}

/** Smaller buffers are not worth keeping. */
const SMALLEST = 2 ** 16;

/** Free memory that can be reused, by its length. The garbage collector may take it. */
const spare = new Map<number, WeakRef<ArrayBuffer>[]>();

/** Memory that was taken and not given back. */
const lent = new WeakSet<ArrayBufferLike>();

/**
 * At least this many bytes of memory, not cleared. The caller may give them back for reuse.
 *
 * V8 frees memory outside its heap only when it collects all garbage, which it does for every 64 MB of such memory.
 * That would be every few pages, because each takes about ten MB. New memory also costs a page fault for every 4 kB.
 */
export function takeMemory(bytes: number): ArrayBuffer {
  if (bytes < SMALLEST) return new ArrayBuffer(bytes);
  const size = 2 ** Math.ceil(Math.log2(bytes));
  const memory = spareOf(size) ?? Buffer.allocUnsafeSlow(size).buffer;
  lent.add(memory);
  return memory;
}

/** Gives memory back. The caller must not use it any more. Memory that was not taken here is ignored. */
export function giveMemory(memory: ArrayBufferLike): void {
  if (!(memory instanceof ArrayBuffer) || !lent.delete(memory)) return;
  const known = spare.get(memory.byteLength) ?? [];
  known.push(new WeakRef(memory));
  spare.set(memory.byteLength, known);
}

function spareOf(size: number): ArrayBuffer | undefined {
  const known = spare.get(size) ?? [];
  for (let last = known.pop(); last !== undefined; last = known.pop()) {
    const memory = last.deref();
    if (memory !== undefined) return memory;
  }
  return undefined;
}
