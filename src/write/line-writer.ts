import { compile } from '../compile.ts';
import { layoutOf, find } from '../dataset/bytes/layout.ts';
import { isViewOf, valueOf, type MemberKind } from '../dataset/bytes/view.ts';
import type { MemberColumn, Noted, RowLayout } from '../dataset/declaration/row-layout.ts';
import { formatTime } from '../range.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import type { CopyColumn } from './copy-text.ts';
import { targetOf, type Target } from './target.ts';
import type { Layout } from '../dataset/bytes/object-reader.ts';

/** How compiled code reads the members of a record `r`: expressions, and the values that they use by name. */
interface Access {
  readonly scope: Readonly<Record<string, unknown>>;
  readonly value: (path: readonly string[]) => string;
  readonly isAbsent: (path: readonly string[]) => string;
  /** The slot of a member that can be copied verbatim; undefined if it has to be parsed first. */
  readonly verbatimSlot: (path: readonly string[], column: CopyColumn['kind']) => number | undefined;
  /** Copies the contents of slots to `out`, one after another. */
  readonly copy: (slots: readonly number[]) => string;
}

/** For records that are objects. */
const ofObjects: Access = {
  scope: {},
  value: memberAt,
  isAbsent: (path) => `${memberAt(path)} == null`,
  verbatimSlot: () => undefined,
  copy: () => '',
};

function memberAt(path: readonly string[]): string {
  return `r${path.map((name, depth) => `${depth === 0 ? '' : '?.'}[${JSON.stringify(name)}]`).join('')}`;
}

/** For records that are views. */
function ofViews(layout: Layout): Access {
  const scope: Record<string, unknown> = { valueOf };
  const member = (path: readonly string[], use: (slot: number, name: string) => string | undefined) => {
    const found = find(layout, path);
    if (found === undefined) return undefined;
    const name = `member${found.slot}`;
    scope[name] = found.member;
    return use(found.slot, name);
  };
  return {
    scope,
    value: (path) => member(path, (slot, name) => `valueOf(r, ${slot}, ${name})`) ?? memberAt(path),
    isAbsent: (path) =>
      member(path, (slot) => `r.$page.slots[2 * (r.$slot + ${slot})] <= 0`) ?? ofObjects.isAbsent(path),
    verbatimSlot: (path, column) => {
      const found = find(layout, path);
      return found !== undefined && VERBATIM[column].includes(found.member.kind) ? found.slot : undefined;
    },
    copy: (slots) => {
      const name = `slots${slots.join('_')}`;
      scope[name] = Int32Array.from(slots);
      return `out.copySlots(r.$page, r.$slot, ${name})`;
    },
  };
}

/** The kinds of members whose form in a body is also that of a column. */
const VERBATIM: Readonly<Record<CopyColumn['kind'], readonly MemberKind[]>> = {
  text: ['text', 'scalar'],
  json: ['json'],
  array: [],
};

/** The compiled functions of a row layout. */
interface Compiled {
  /** The text of the row's key, as in `distinctRows`. */
  readonly key: (record: unknown, given: object) => string;
  /** A bit for each column that may be filled later and has a value. */
  readonly filled: (record: unknown, given: object, extra: unknown) => number;
  /** True if a member was sent that is in no column. */
  readonly isNoted: (record: unknown) => boolean;
  /** Writes the values of the row, in the order of the staging table's columns. */
  readonly write: (out: CopyBuffer, record: unknown, given: object, extra: unknown) => void;
}

/** Writes and compares the rows of a row layout. */
export interface LineWriter extends Compiled {
  readonly target: Target;
}

interface LineWriters {
  readonly ofObjects: LineWriter;
  /** Undefined if records of the row layout are never views. */
  readonly ofViews: LineWriter | undefined;
}

type WrittenLayout = Pick<RowLayout, 'table' | 'record' | 'columns' | 'noted'>;

const writers = new WeakMap<object, LineWriters>();

/** Compiled once for each row layout. Throws a TypeError if it has a column that its table does not have. */
export function lineWriterOf(rowLayout: WrittenLayout, record: unknown): LineWriter {
  let known = writers.get(rowLayout);
  if (known === undefined) {
    const layout = layoutOf(rowLayout.record);
    known = {
      ofObjects: compileWriter(rowLayout, ofObjects),
      ofViews: layout === null ? undefined : compileWriter(rowLayout, ofViews(layout)),
    };
    writers.set(rowLayout, known);
  }
  return isViewOf(rowLayout.record, record) ? (known.ofViews ?? known.ofObjects) : known.ofObjects;
}

function compileWriter({ table, columns, noted }: WrittenLayout, access: Access): LineWriter {
  const target = targetOf(table);
  const { name, facts, staging } = target;
  const strange = columns.find((column) => !target.columns.includes(column.name));
  if (strange !== undefined)
    throw new TypeError(`${name} has no column "${strange.name}" for the member ${strange.path.join('.')}`);
  const source = new RowSource(columns, access);
  const fill = facts.conflict.kind === 'fill' ? facts.conflict.columns : [];
  const key = facts.key.map((column) => `\${${source.keyPart(column)}}`).join('|');
  const filled = fill.map((column, bit) => `(${source.isAbsent(column)} ? 0 : ${2 ** bit})`);
  const isNoted = noted.map((note) => source.isNoted(note));
  const made = compile(
    `{
      key: (r, g) => \`${key}\`,
      filled: (r, g, x) => ${filled.join(' | ') || '0'},
      isNoted: (r) => ${isNoted.join(' || ') || 'false'},
      write: (out, r, g, x) => { ${source.write(staging.columns)} },
    }`,
    { ...access.scope, time: (value: unknown) => formatTime(Number(value)) },
  );
  if (!isCompiled(made)) throw new TypeError(`the writer of ${name} cannot be compiled`);
  return { target, ...made };
}

function isCompiled(value: unknown): value is Compiled {
  return typeof value === 'object' && value !== null && 'write' in value;
}

/** The code for parts of a row: from members of the record `r`, unknown members `x` and given values `g`. */
class RowSource {
  private readonly members: ReadonlyMap<string, MemberColumn>;
  private readonly access: Access;

  constructor(columns: readonly MemberColumn[], access: Access) {
    this.members = new Map(columns.map((column) => [column.name, column]));
    this.access = access;
  }

  keyPart(name: string): string {
    const value = this.value(name);
    return this.members.get(name)?.isMoment === true ? `time(${value})` : value;
  }

  isAbsent(name: string): string {
    const member = this.members.get(name);
    return member === undefined ? `${this.value(name)} == null` : this.access.isAbsent(member.path);
  }

  isNoted({ path, members = [] }: Noted): string {
    const { isAbsent } = this.access;
    return `(${[`!(${isAbsent(path)})`, ...members.map((name) => isAbsent([...path, name]))].join(' && ')})`;
  }

  /** Adjacent values that are copied verbatim are copied together. */
  write(columns: readonly CopyColumn[]): string {
    const lines: string[] = [];
    let slots: number[] = [];
    const copy = () => {
      if (slots.length > 0) lines.push(this.access.copy(slots));
      slots = [];
    };
    for (const column of columns) {
      const slot = this.verbatimSlotOf(column);
      if (slot === undefined) {
        copy();
        lines.push(this.writeValue(column));
      } else slots.push(slot);
    }
    copy();
    return lines.join(';\n');
  }

  private verbatimSlotOf({ name, kind }: CopyColumn): number | undefined {
    const member = this.members.get(name);
    const isVerbatim = member !== undefined && !member.isMoment;
    return isVerbatim ? this.access.verbatimSlot(member.path, kind) : undefined;
  }

  private writeValue({ name, kind }: CopyColumn): string {
    const asText: keyof CopyBuffer = this.members.get(name)?.isMoment === true ? 'moment' : 'any';
    const method = kind === 'text' ? asText : kind;
    return `out.${method}(${this.value(name)})`;
  }

  private value(name: string): string {
    const member = this.members.get(name);
    if (member !== undefined) return this.access.value(member.path);
    return name === 'extra' ? 'x' : `g[${JSON.stringify(name)}]`;
  }
}
