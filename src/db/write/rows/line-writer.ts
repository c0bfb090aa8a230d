import { compile } from '../../../compile.ts';
import type { MemberColumn, Noted, Sheet } from '../../../dataset/declaration/sheet.ts';
import { formatTime } from '../../../range.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import type { CopyColumn } from './copy-text.ts';
import { targetOf, type Target } from './target.ts';

/** What is compiled of a sheet. */
interface Compiled {
  /** The text of the row's key, as `distinctRows` makes it. */
  readonly key: (record: unknown, given: object) => string;
  /** A bit for each column that may be filled later and has a value. */
  readonly filled: (record: unknown, given: object, extra: unknown) => number;
  /** True where a member may have been sent that no column shows. */
  readonly isNoted: (record: unknown) => boolean;
  /** Writes the values of the row, in the order of the staging table's columns. */
  readonly write: (out: CopyBuffer, record: unknown, given: object, extra: unknown) => void;
}

/** What writes and compares the rows of a sheet. */
export interface LineWriter extends Compiled {
  readonly target: Target;
}

const writers = new WeakMap<object, LineWriter>();

/** Compiled once for each sheet. Throws a TypeError for a sheet with a column that its table does not have. */
export function lineWriterOf(sheet: Pick<Sheet, 'table' | 'columns' | 'noted'>): LineWriter {
  let writer = writers.get(sheet);
  if (writer === undefined) {
    writer = compileWriter(sheet.columns, sheet.noted, targetOf(sheet.table));
    writers.set(sheet, writer);
  }
  return writer;
}

function compileWriter(
  columns: readonly MemberColumn[],
  noted: readonly Noted[],
  target: Target,
): LineWriter {
  const { name: table, facts, staging } = target;
  const strange = columns.find(({ name }) => !target.columns.includes(name));
  if (strange !== undefined)
    throw new TypeError(`${table} has no column "${strange.name}" for the member ${strange.path.join('.')}`);
  const members = new Map(columns.map((column) => [column.name, column]));
  const valueOf = (name: string) => valueIn(members.get(name), name);
  const keyPart = (name: string) =>
    members.get(name)?.form === 'moment' ? `time(${valueOf(name)})` : valueOf(name);
  const fill = facts.conflict.kind === 'fill' ? facts.conflict.columns : [];
  const key = facts.key.map((name) => `\${${keyPart(name)}}`).join('|');
  const filled = fill.map((name, bit) => `(${valueOf(name)} == null ? 0 : ${2 ** bit})`);
  const isNoted = noted.map((note) => conditionOf(note, columns));
  const write = staging.columns.map((column) => `out.${writerOf(column, members)}(${valueOf(column.name)});`);
  const made = compile(
    `{
      key: (r, g) => \`${key}\`,
      filled: (r, g, x) => ${filled.join(' | ') || '0'},
      isNoted: (r) => ${isNoted.join(' || ') || 'false'},
      write: (out, r, g, x) => { ${write.join('\n')} },
    }`,
    { time: (value: unknown) => formatTime(Number(value)) },
  );
  if (!isCompiled(made)) throw new TypeError(`the writer of ${table} cannot be compiled`);
  return { target, ...made };
}

function isCompiled(value: unknown): value is Compiled {
  return typeof value === 'object' && value !== null && 'write' in value;
}

/** An expression: a member of the record `r`, the unknown members `x`, or what is given with the row. */
function valueIn(member: MemberColumn | undefined, name: string): string {
  if (member !== undefined) return memberAt(member.path);
  return name === 'extra' ? 'x' : `g[${JSON.stringify(name)}]`;
}

function memberAt(path: readonly string[]): string {
  return `r${path.map((name, depth) => `${depth === 0 ? '' : '?.'}[${JSON.stringify(name)}]`).join('')}`;
}

/** The method of the buffer that writes a column. */
function writerOf({ name, kind }: CopyColumn, members: ReadonlyMap<string, MemberColumn>): keyof CopyBuffer {
  if (kind !== 'text') return kind;
  return members.get(name)?.form ?? 'any';
}

/** An expression that is true where a note may be due; whether it is, the record itself tells. */
function conditionOf({ path, when }: Noted, columns: readonly MemberColumn[]): string {
  if (when === 'sent') return `${memberAt(path)} != null`;
  const own = columns.filter((column) => column.path.slice(0, -1).join('.') === path.join('.'));
  const absent = own.map((column) => `${memberAt(column.path)} == null`);
  return `(${[`${memberAt(path)} != null`, ...absent].join(' && ')})`;
}
