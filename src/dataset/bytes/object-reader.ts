import * as z from 'zod';
import { compile } from '../../compile.ts';
import {
  CLOSE,
  COMMA,
  LETTER_F,
  LETTER_N,
  LETTER_T,
  NOWHERE,
  OPEN,
  plainEnd,
  QUOTE,
  runEnd,
  textEnd,
  type Run,
} from './json-bytes.ts';
import { NULL, type Page, type ViewClass, type ViewedMember } from './view.ts';

/** True if a value passes. */
export type ValueCheck = (value: unknown) => boolean;

export function passesAll(checks: readonly ValueCheck[], value: unknown): boolean {
  for (const check of checks) if (!check(value)) return false;
  return true;
}

/** A member of a record in a body. */
export interface Member extends ViewedMember {
  readonly takesNull: boolean;
  /** The possible contents of a text: one of these rows. */
  readonly runs: readonly (readonly Run[])[];
  /** Further checks of a text, or the checks of a scalar. */
  readonly checks: readonly ValueCheck[];
  /** The schema of a value that is parsed; undefined if it accepts anything. */
  readonly schema: z.core.$ZodType | undefined;
  readonly layout: Layout | undefined;
}

/** The slots of an object: its own slot first, then those of its members in order. */
export interface Layout {
  readonly View: ViewClass;
  readonly members: readonly Member[];
  readonly byName: ReadonlyMap<string, Member>;
  /** Required members. */
  readonly required: readonly Member[];
  /** The number of slots. */
  readonly size: number;
  /** The checks of the whole object. */
  readonly checks: readonly ValueCheck[];
  readonly read: ReadObject;
}

/**
 * Notes the positions of an object's values and returns its end; NOWHERE if it has to be parsed. The reader
 * is a `RecordReader`.
 */
type ReadObject = (reader: { readonly page: Page }, start: number, slot: number) => number;

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
 * Generates the code of a reader `r` for the object that begins at `start`. In it, `at` is the next byte, `v` the first
 * byte of a value, and `e` the end of a text. `valueSlot` is the first of a value's two numbers in `slots`. The source
 * contains only the names of members, as numbers. Everything else from the schema is in the scope.
 */
class ObjectSource {
  readonly scope: Record<string, unknown> = { plainEnd, runEnd, textEnd };
  private last = 0;

  /** If the members are in another order than the schema's, the loop takes more rounds. Unknown members end it. */
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

  /** A member that is already noted is not read again: duplicates are left unread, like unknown members. */
  private member(member: Member): string {
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

  private value(member: Member): string {
    const { kind, layout, checks } = member;
    if (layout !== undefined) return this.nested(member, layout);
    if (kind === 'text') return this.text(member);
    return kind === 'scalar' ? this.scalar(checks) : this.json(member);
  }

  /** The nested objects may need more slots than there were. */
  private nested({ kind, slot }: Member, layout: Layout): string {
    const read = kind === 'object' ? `${this.name(layout.read)}(r, ` : `r.${kind}(${this.name(layout)}, `;
    return `at = ${read}v, slot + ${slot});
      if (at === ${NOWHERE}) ${FAIL};
      slots = page.slots;`;
  }

  private text({ runs, checks, encoding }: Member): string {
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

  /** True if the text matches a row. */
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
  private json({ schema, slot }: Member): string {
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
