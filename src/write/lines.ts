import { stringify } from 'lossless-json';
import type { AcceptedRecord } from '../dataset/job.ts';
import {
  type Tables,
  fullExtra,
  rowOf,
  type Given,
  type Put,
  type RowLayout,
  type Table,
  type MemberColumn,
  type Noted,
  NOTHING,
  type Extra,
} from '../dataset/declaration/record.ts';
import {
  type CopyColumn,
  contradictions,
  distinctRows,
  mergeRows,
  type DistinctRow,
  targetOf,
  type Target,
} from './target.ts';
import {
  compile,
  type Layout,
  isViewOf,
  valueOf,
  type MemberKind,
  giveMemory,
  takeMemory,
  wordsOf,
  type BodyPage,
} from '../dataset/bytes/view.ts';
import { BACKSLASH } from '../dataset/bytes/json-bytes.ts';
import { layoutOf, find } from '../dataset/bytes/read-list.ts';
import { formatTime, type Range } from '../range.ts';

/** Rows of one table, prepared for COPY: each key once, sorted by the text of the keys. */
export interface Lines {
  readonly target: Target;
  readonly count: number;
  /** Block times of the rows, ISO 8601; empty for a table without block times. */
  readonly times: ReadonlySet<string>;
  /** Splits into rows that belong, and the rest, which is empty in a table without block times. */
  readonly split: (
    belongs: (run: { readonly time: string; readonly isOpen: boolean }) => boolean,
  ) => readonly [within: Lines, others: Lines];
  readonly pieces: () => Iterable<Buffer>;
  /** Called after the rows are stored: their memory may be reused. */
  readonly release: () => void;
  /** Seconds in which copies of one row contradict each other, if they were collected for comparison. */
  readonly contradictions: () => Range[];
}

/** Successive lines of one block time. */
interface LineRun {
  /** Undefined for a table without block times. */
  readonly time: string | undefined;
  /** True if records of other pages may contain the same rows, as a message that has only been sent. */
  readonly isOpen: boolean;
  /** Offsets in bytes. */
  readonly from: number;
  to: number;
  count: number;
}

interface RowBytes {
  readonly bytes: Uint8Array;
  /** Ascending. */
  readonly runs: readonly LineRun[];
}

/** `copies`: all rows that came more than once, if copies are compared. */
function linesOfBytes(target: Target, { bytes, runs }: RowBytes, copies: readonly object[] = []): Lines {
  const linesOf = (some: readonly LineRun[]) => linesOfBytes(target, { bytes, runs: some }, copies);
  return {
    target,
    count: runs.reduce((sum, { count }) => sum + count, 0),
    times: new Set(runs.flatMap(({ time }) => time ?? [])),
    split: (belongs) => {
      const [within, others]: [LineRun[], LineRun[]] = [[], []];
      for (const run of runs) {
        const { time, isOpen } = run;
        (time === undefined || belongs({ time, isOpen }) ? within : others).push(run);
      }
      return [linesOf(within), linesOf(others)];
    },
    pieces: () => piecesOf(bytes, runs),
    release: () => {
      giveMemory(bytes.buffer);
    },
    contradictions: () => contradictions(target.facts, copies),
  };
}

/** Bytes that are sent at once. */
const PIECE = 65_536;

function* piecesOf({ buffer, byteOffset }: Uint8Array, runs: readonly LineRun[]): Generator<Buffer, void> {
  let [at, end] = [0, 0];
  for (const { from, to } of [...runs, { from: Infinity, to: Infinity }]) {
    if (from !== end) {
      // What was found so far ends here.
      for (; at < end; at += PIECE) yield Buffer.from(buffer, byteOffset + at, Math.min(PIECE, end - at));
      at = from;
    }
    end = to;
  }
}

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
  /** How many records contain the row: one sends a message, and one receives it. 0 in a table whose rows have one record. */
  readonly ends: (record: unknown, given: object) => number;
  /** A bit for each column that may be filled later and has a value. */
  readonly filled: (record: unknown, given: object, extra: unknown) => number;
  /** True if a member was sent that is in no column. */
  readonly isNoted: (record: unknown) => boolean;
  /** Writes the values of the row, in the order of the staging table's columns. */
  readonly write: (out: CopyBuffer, record: unknown, given: object, extra: unknown) => void;
}

/** Writes and compares the rows of a row layout. */
interface LineWriter extends Compiled {
  readonly target: Target;
}

type WrittenLayout = Pick<RowLayout, 'table' | 'record' | 'columns' | 'noted'>;

/** `ofViews` is undefined if records of the row layout are never views. */
const writers = new WeakMap<
  object,
  Record<'ofObjects', LineWriter> & Record<'ofViews', LineWriter | undefined>
>();

/** Compiled once for each row layout. Throws a TypeError if it has a column that its table does not have. */
function lineWriterOf(rowLayout: WrittenLayout, record: unknown): LineWriter {
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
  const ends = (facts.shared?.ends ?? []).map((end) => `(${source.isAbsent(end)} ? 0 : 1)`);
  const isNoted = noted.map((note) => source.isNoted(note));
  const made = compile(
    `{
      key: (r, g) => \`${key}\`,
      ends: (r, g) => ${ends.join(' + ') || '0'},
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

/** Rows of a table from objects. */
export function linesOfRows(table: Table, rows: readonly object[]): Lines {
  const target = targetOf(table);
  const write = (row: DistinctRow) => out.row(target.staging.columns, row);
  const isOpen = () => target.facts.shared !== undefined;
  return linesOfBytes(target, writeLines(target, distinctRows(target.facts, rows), { write, isOpen }), rows);
}

interface WaitingRow {
  readonly writer: LineWriter;
  readonly record: unknown;
  readonly given: object;
  readonly extra: Extra | null;
  readonly rowLayout: Pick<RowLayout, 'columns' | 'noted'>;
  /** The number of records that contain it, so far. */
  copies: number;
  /** Set if another copy of the row added a value. */
  merged: DistinctRow | undefined;
}

/** The rows of one table while they are collected. */
interface Collected {
  readonly rows: Map<string, WaitingRow>;
  /** Rows that came more than once, if copies are compared. */
  readonly copies: DistinctRow[] | undefined;
}

/**
 * The rows of records, table by table, as bytes, so that the records need not stay in memory. `compared`: copies of one
 * row are compared with each other.
 */
export function linesOfRecords(
  tables: Tables,
  records: readonly Pick<AcceptedRecord, 'put'>[],
  { compared = false }: { readonly compared?: boolean } = {},
): Lines[] {
  const byTable = new Map<Table, Collected>(
    Object.values(tables).map((table) => [table, { rows: new Map(), copies: compared ? [] : undefined }]),
  );
  for (const { put } of records) put(collector(byTable));
  return [...byTable].map(([table, { rows, copies }]) =>
    linesOfBytes(targetOf(table), writeLines(targetOf(table), rows, WAITING), copies),
  );
}

function collector(byTable: ReadonlyMap<Table, Collected>): Put {
  return <T extends Table, Rec>(
    rowLayout: RowLayout<T, Rec>,
    record: Rec,
    given: Given<T>,
    sent?: Extra | null,
  ) => {
    const writer = lineWriterOf(rowLayout, record);
    const collected = byTable.get(rowLayout.table);
    if (collected === undefined)
      throw new TypeError(`a row for ${writer.target.name}, which is not a table of its job`);
    const { rows, copies } = collected;
    const key = writer.key(record, given);
    const isNothing = (sent == null || sent === NOTHING) && !writer.isNoted(record);
    const extra = isNothing ? null : fullExtra(rowLayout, record, sent ?? null);
    // Created as one literal: a spread of another object would take ten times as long.
    const waiting: WaitingRow = { writer, rowLayout, record, given, extra, copies: 1, merged: undefined };
    const first = rows.get(key);
    if (first === undefined) {
      rows.set(key, waiting);
      return;
    }
    copies?.push(rowOfWaiting(first), rowOfWaiting(waiting));
    first.copies += 1;
    addCopy(first, waiting);
  };
}

/** Merges another copy of a row into the first one, if it has a value that the first one lacks. */
function addCopy(first: WaitingRow, later: WaitingRow): void {
  const { conflict } = first.writer.target.facts;
  if (conflict.kind === 'keep') return;
  if (conflict.kind === 'fill' && first.merged === undefined) {
    const had = first.writer.filled(first.record, first.given, first.extra);
    if ((later.writer.filled(later.record, later.given, later.extra) & ~had) === 0) return;
  }
  first.merged = mergeRows(
    first.writer.target.facts,
    first.merged ?? rowOfWaiting(first),
    rowOfWaiting(later),
  );
}

function rowOfWaiting({ rowLayout, record, given, extra }: WaitingRow): DistinctRow {
  return rowOf(rowLayout, record, given, extra);
}

interface RowWriter<Row> {
  readonly write: (row: Row) => void;
  /** See `LineRun`. */
  readonly isOpen: (row: Row) => boolean;
}

const WAITING: RowWriter<WaitingRow> = {
  write: writeRow,
  isOpen: ({ writer, record, given, copies }) => copies < writer.ends(record, given),
};

/** The lines of a table, sorted by the text of their keys. */
function writeLines<Row>(
  target: Target,
  rows: ReadonlyMap<string, Row>,
  { write, isOpen: isOpenRow }: RowWriter<Row>,
): RowBytes {
  const isTimed = target.facts.key[0] === 'utime';
  const runs: LineRun[] = [];
  let run: LineRun | undefined;
  out.clear();
  for (const key of [...rows.keys()].sort()) {
    const row = rows.get(key);
    if (row === undefined) continue;
    const time = isTimed ? key.slice(0, key.indexOf('|')) : undefined;
    const isOpen = isOpenRow(row);
    if (run?.time !== time || run?.isOpen !== isOpen) {
      run = { time, isOpen, from: out.length, to: out.length, count: 0 };
      runs.push(run);
    }
    write(row);
    run.to = out.length;
    run.count += 1;
  }
  return { bytes: out.take(), runs };
}

function writeRow({ writer, record, given, extra, merged }: WaitingRow): void {
  if (merged !== undefined) {
    out.row(writer.target.staging.columns, merged);
    return;
  }
  out.beginLine();
  writer.write(out, record, given, extra);
  out.endLine();
}

/** Room for a row of the widest table if all values are short. */
const ROW_BYTES = 2 ** 18;
const SHORT = 1024;
/** Below this number of characters, a loop is faster than the call that copies a text. */
const BRIEF = 48;
/** Bytes that are copied at once. */
const WORD = 4;
const TAB = 9;
const NEWLINE = 10;
const LETTER_N = 78;

/**
 * Lines in the text format of Postgres' COPY, as bytes, in one buffer that is reused for every page. Each value is
 * followed by a tab, the last one by the end of the line. A value that is absent or null is null, even in a column of
 * JSON. Numbers that a double cannot hold (BigInt, LosslessNumber) keep all digits.
 */
export class CopyBuffer {
  private buffer = Buffer.allocUnsafeSlow(2 ** 22);
  private words = wordsOf(this.buffer);
  private at = 0;

  clear(): void {
    this.at = 0;
  }

  /** The position at which the next line begins. */
  get length(): number {
    return this.at;
  }

  beginLine(): void {
    this.reserve(ROW_BYTES);
  }

  endLine(): void {
    this.buffer[this.at - 1] = NEWLINE;
  }

  /** Appends the line of a row object. */
  row(columns: readonly CopyColumn[], row: Readonly<Record<string, unknown>>): void {
    this.beginLine();
    for (const { name, kind } of columns) {
      if (kind === 'json') this.json(row[name]);
      else if (kind === 'array') this.array(row[name]);
      else this.any(row[name]);
    }
    this.endLine();
  }

  /** A copy of what was written, in memory of its own, which `giveMemory` may take. */
  take(): Uint8Array {
    const copy = new Uint8Array(takeMemory(this.at), 0, this.at);
    copy.set(this.buffer.subarray(0, this.at));
    return copy;
  }

  /** Appends a time, given in unix seconds, as ASCII text. */
  moment(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else this.ascii(formatTime(Number(value)));
  }

  /** Appends a value of a column that is neither JSON nor an array. */
  any(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else if (typeof value === 'string') this.text(value);
    else if (typeof value === 'number' || typeof value === 'boolean') this.ascii(String(value));
    else this.text(toJson(value));
  }

  json(value: unknown): void {
    if (typeof value === 'string') this.text(toJson(value));
    else this.any(value);
  }

  array(value: unknown): void {
    if (Array.isArray(value)) this.text(toArray(value));
    else this.any(value);
  }

  /**
   * Copies values of the body that are noted in slots, counted from a first one. The body's reader notes no text with a
   * backslash or a control character, so COPY has nothing to escape. JSON that must be written in another form was
   * parsed.
   */
  copySlots(page: BodyPage, first: number, slots: Int32Array): void {
    for (let index = 0; index < slots.length; index += 1) {
      const at = 2 * (first + (slots[index] ?? 0));
      const start = page.slots[at] ?? 0;
      const end = page.slots[at + 1] ?? 0;
      if (start <= 0) this.nothing();
      else if (end < 0) this.json(page.values[~end]);
      else this.bytes(page, start, end);
    }
  }

  /** Copies four bytes at a time, even if fewer are left: the next value overwrites the surplus. */
  private bytes({ bytes, words }: BodyPage, start: number, end: number): void {
    const length = end - start;
    if (length > SHORT) this.reserve(length + ROW_BYTES);
    const { at } = this;
    const to = this.words;
    if (end + WORD > bytes.length) this.buffer.set(bytes.subarray(start, end), at);
    else
      for (let from = 0; from < length; from += WORD)
        to.setInt32(at + from, words.getInt32(start + from, true), true);
    this.buffer[at + length] = TAB;
    this.at = at + length + 1;
  }

  private nothing(): void {
    const { buffer, at } = this;
    buffer[at] = BACKSLASH;
    buffer[at + 1] = LETTER_N;
    buffer[at + 2] = TAB;
    this.at = at + 3;
  }

  private ascii(text: string): void {
    const { length } = text;
    if (length > SHORT) this.reserve(length + ROW_BYTES);
    const { buffer } = this;
    let { at } = this;
    if (length < BRIEF) for (let index = 0; index < length; index++) buffer[at++] = text.charCodeAt(index);
    else at += buffer.write(text, at, 'latin1');
    buffer[at] = TAB;
    this.at = at + 1;
  }

  private text(text: string): void {
    const escaped = ESCAPED.test(text) ? escapeCopy(text) : text;
    if (escaped.length > SHORT) this.reserve(escaped.length * 3 + ROW_BYTES);
    const { buffer } = this;
    const at = this.at + buffer.write(escaped, this.at, 'utf8');
    buffer[at] = TAB;
    this.at = at + 1;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.at + bytes));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
    this.words = wordsOf(larger);
  }
}

/** Shared by all pages, because it is filled and emptied synchronously. */
const out = new CopyBuffer();

const ESCAPED = /[\\\t\n\r]/;
const EACH_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Escapes the characters that end values and lines. */
function escapeCopy(text: string): string {
  return text.replace(EACH_SPECIAL, (found) => ESCAPES[found] ?? `\\${found}`);
}

/** An array in the notation of Postgres, with each element in quotes. */
function toArray(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replaceAll(/[\\"]/g, String.raw`\$&`)}"`).join(',')}}`;
}

/** JSON.stringify throws on a BigInt and serializes a LosslessNumber as an object: both take the slower path. */
export function toJson(value: unknown): string {
  try {
    const text = JSON.stringify(value);
    if (!text.includes('"isLosslessNumber"')) return text;
  } catch {
    // Serialized below.
  }
  return stringify(value) ?? 'null';
}
