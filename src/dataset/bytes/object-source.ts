import { compile } from '../../compile.ts';
import { passesAll, type ValueCheck } from '../declaration/check.ts';
import { CLOSE, COMMA, LETTER_F, LETTER_N, LETTER_T, NOWHERE, OPEN, plainEnd, QUOTE } from './json-bytes.ts';
import type { Layout, Member, ReadObject } from './object-layout.ts';
import { keyOf } from './member-key.ts';
import { runEnd, textEnd, type Run } from './runs.ts';
import { NULL } from './view.ts';

/** What is known of a layout before there is a reader of it. */
type Unread = Omit<Layout, 'read' | 'byName'>;

/** An object without members, as amounts of extra currencies mostly are. */
const EMPTY: object = Object.freeze({});
const NULL_TEXT = Buffer.from('null');
const FAIL = `return ${NOWHERE}`;

/**
 * Compiles the reader of a layout's objects. It takes a third less time than code that asks at each value what its member is
 * like.
 */
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
 * The code of a reader `r` for the object that begins at `start`. In it `at` is the byte that is read next, `v` the first one
 * of a value, `e` the end of a text, and `place` the first of a value's two numbers in `slots`. What of a schema enters the
 * source are names of members, as numbers; all else stands in the scope.
 */
class ObjectSource {
  readonly scope: Record<string, unknown> = { plainEnd, runEnd, textEnd };
  private last = 0;

  /** Members in another order than the schema's take more than one round, and those that are unknown a round for nothing. */
  object(layout: Unread): string {
    const required = layout.required.map(({ slot }) => `slots[own + ${2 * slot}] === 0`);
    const whole = layout.checks.length === 0 ? [] : [`!r.passesWhole(${this.name(layout)}, slot)`];
    return `(r, start, slot) => {
      const { page } = r, { bytes, words } = page, size = bytes.length, own = 2 * slot;
      let { slots } = page, at = start + 1, v = 0, e = 0, place = 0;
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

  /** One that is noted already is not read again: what comes twice is left, as unknown members are. */
  private member(member: Member): string {
    const { length, words } = keyOf(member.name);
    const isWord = words.map(({ behind, word }) => `words.getInt32(at + ${behind}, true) === ${word}`);
    const place = `own + ${2 * member.slot}`;
    const nothing = member.takesNull ? this.nothing() : `${FAIL};`;
    return `if (at + ${length} <= size && ${isWord.join(' && ')} && slots[${place}] === 0) {
      v = at + ${length};
      place = ${place};
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

  /** Objects in it may need more slots than there were. */
  private nested({ kind, slot }: Member, layout: Layout): string {
    const read = kind === 'object' ? `${this.name(layout.read)}(r, ` : `r.${kind}(${this.name(layout)}, `;
    return `at = ${read}v, slot + ${slot});
      if (at === ${NOWHERE}) ${FAIL};
      slots = page.slots;`;
  }

  private text({ runs, checks }: Member): string {
    const [first = [], ...others] = runs;
    const any =
      others.length === 0 ? '' : ` && (e = textEnd(bytes, v + 1, ${this.name(others)})) === ${NOWHERE}`;
    const fails = checks.map((check) => ` || !${this.name(check)}(page.textAt(v + 1, e))`);
    return `e = v + 1;
      if (bytes[v] !== ${QUOTE} || !(${this.row(first)})${any}${fails.join('')}) ${FAIL};
      at = e + 1;
      ${note('v + 1', 'e')}`;
  }

  /** True of text that agrees with a row. */
  private row(runs: readonly Run[]): string {
    const passes = runs.map((run) =>
      run.least === 1 && run.most === 1
        ? `${this.name(run.kind)}[bytes[e++]] === 1`
        : `(e = runEnd(bytes, e, ${this.name(run)})) !== ${NOWHERE}`,
    );
    return [...passes, `bytes[e] === ${QUOTE}`].join(' && ');
  }

  /** Of words it is known beforehand whether they pass. */
  private scalar(checks: readonly ValueCheck[]): string {
    const given = this.name(checks);
    const word = (letter: number, value: boolean) => `bytes[v] === ${letter} ? ${passesAll(checks, value)}`;
    return `if (bytes[v] === ${QUOTE}) {
        at = r.text(${given}, v, place);
        if (at === ${NOWHERE}) ${FAIL};
      } else {
        at = plainEnd(bytes, v);
        if (at === ${NOWHERE}) ${FAIL};
        if (!(${word(LETTER_T, true)} : ${word(LETTER_F, false)} : r.number(${given}, v, at))) ${FAIL};
        ${note('v', 'at')}
      }`;
  }

  /** An object without members is not parsed. */
  private json({ checks, slot }: Member): string {
    return `if (bytes[v] === ${OPEN} && bytes[v + 1] === ${CLOSE}) {
        if (!${passesAll(checks, EMPTY)}) ${FAIL};
        at = v + 2;
        ${note('v', 'at')}
      } else {
        at = r.json(${this.name(checks)}, v, slot + ${slot});
        if (at === ${NOWHERE}) ${FAIL};
      }`;
  }

  private name(value: unknown): string {
    const name = `given${++this.last}`;
    this.scope[name] = value;
    return name;
  }
}

function note(start: string, end: string): string {
  return `slots[place] = ${start}; slots[place + 1] = ${end};`;
}
