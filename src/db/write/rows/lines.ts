import type { Accepted } from '../../../dataset/job.ts';
import type { Tables } from '../../../dataset/rows.ts';
import {
  fullExtra,
  rowOf,
  type Given,
  type Put,
  type Sheet,
  type Table,
} from '../../../dataset/declaration/sheet.ts';
import { NOTHING, type Extra } from '../../../dataset/record.ts';
import { rowAsText, type Strings } from '../../../dataset/strings.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { toCopyText } from './copy-text.ts';
import { distinctRows, mergeRows, type Row } from './distinct-rows.ts';
import { lineWriterOf, type LineWriter } from './line-writer.ts';
import { targetOf, type Target } from './target.ts';

/** Rows of one table as they go to COPY: each key once, sorted by the text of their keys. */
export interface Lines {
  readonly target: Target;
  readonly count: number;
  /** Their block times, ISO 8601; empty for a table that has none. */
  readonly times: ReadonlySet<string>;
  /** Those from a time on. */
  readonly from: (time: string) => Lines;
  readonly pieces: () => Iterable<string | Buffer>;
}

/** Rows of a table from objects. */
export function linesOfRows(table: object, rows: readonly object[]): Lines {
  const target = targetOf(table);
  return linesOf(target, distinctRows(target.facts, rows));
}

function linesOf(target: Target, rows: readonly Row[]): Lines {
  const timeOf = (row: Row) => (typeof row['utime'] === 'string' ? row['utime'] : undefined);
  return {
    target,
    count: rows.length,
    times: new Set(rows.flatMap((row) => timeOf(row) ?? [])),
    from: (time) =>
      linesOf(
        target,
        rows.filter((row) => (timeOf(row) ?? time) >= time),
      ),
    pieces: () => toCopyText(target.staging.columns, rows),
  };
}

/** A row that is to be written. */
interface Waiting {
  readonly writer: LineWriter;
  readonly key: string;
  readonly record: unknown;
  readonly given: object;
  readonly extra: Extra | null;
  readonly strings: Strings;
  /** The row as an object. */
  readonly row: () => Row;
  /** Set where another copy of the row had something to add. */
  merged: Row | undefined;
}

/** One for all pages: it is filled and emptied without a pause. */
const out = new CopyBuffer();

/** The rows of records, table by table, as bytes: the records need not stay in memory. */
export function linesOfRecords(
  tables: Tables,
  records: readonly Pick<Accepted, 'put' | 'strings'>[],
): Lines[] {
  const byTable = new Map<object, Map<string, Waiting>>(
    Object.values(tables).map((table) => [table, new Map<string, Waiting>()]),
  );
  for (const { put, strings } of records) put(collector(byTable, strings));
  return [...byTable].map(([table, rows]) => written(targetOf(table), [...rows.values()].sort(byKey)));
}

function byKey(a: Waiting, b: Waiting): number {
  return a.key < b.key ? -1 : 1;
}

function collector(byTable: ReadonlyMap<object, Map<string, Waiting>>, strings: Strings): Put {
  return <T extends Table, Rec>(sheet: Sheet<T, Rec>, record: Rec, given: Given<T>, sent?: Extra | null) => {
    const writer = lineWriterOf(sheet);
    const rows = byTable.get(sheet.table);
    if (rows === undefined)
      throw new TypeError(`a row for ${writer.target.name}, which its job does not name`);
    const isNothing = (sent == null || sent === NOTHING) && !writer.isNoted(record);
    const extra = isNothing ? null : fullExtra(sheet, record, sent ?? null);
    const row = () => {
      const made = rowOf(sheet, record, given, sent);
      return strings === 'text' ? made : rowAsText(made);
    };
    const key = writer.key(record, given);
    const waiting = { writer, key, record, given, extra, strings, row, merged: undefined };
    const first = rows.get(key);
    if (first === undefined) rows.set(key, waiting);
    else addCopy(first, waiting);
  };
}

/** Puts another copy of a row together with the first one, where it has something that the first one lacks. */
function addCopy(first: Waiting, later: Waiting): void {
  const { conflict } = first.writer.target.facts;
  if (conflict.kind === 'keep') return;
  if (conflict.kind === 'fill' && first.merged === undefined) {
    const had = first.writer.filled(first.record, first.given, first.extra);
    if ((later.writer.filled(later.record, later.given, later.extra) & ~had) === 0) return;
  }
  first.merged = mergeRows(first.writer.target.facts, first.merged ?? first.row(), later.row());
}

function written(target: Target, rows: readonly Waiting[]): Lines {
  const starts: number[] = [];
  const times: string[] = [];
  const isTimed = target.facts.key[0] === 'utime';
  out.clear();
  for (const row of rows) {
    starts.push(out.length);
    if (isTimed) times.push(row.key.slice(0, row.key.indexOf('|')));
    writeRow(target, row);
  }
  const bytes = out.take();
  return bytesOf(target, { bytes, starts, times });
}

function writeRow(target: Target, { writer, record, given, extra, strings, merged }: Waiting): void {
  if (merged !== undefined) {
    for (const line of toCopyText(target.staging.columns, [merged])) out.line(line);
    return;
  }
  out.beginLine(strings);
  writer.write(out, record, given, extra);
  out.endLine();
}

interface Written {
  readonly bytes: Buffer;
  /** Where each line begins. */
  readonly starts: readonly number[];
  /** The block time of each line, ascending. */
  readonly times: readonly string[];
}

function bytesOf(target: Target, { bytes, starts, times }: Written): Lines {
  return {
    target,
    count: starts.length,
    times: new Set(times),
    from: (time) => {
      const first = times.findIndex((one) => one >= time);
      if (first === 0 || times.length === 0) return bytesOf(target, { bytes, starts, times });
      const from = first === -1 ? starts.length : first;
      const skipped = starts[from] ?? bytes.length;
      const left = starts.slice(from).map((start) => start - skipped);
      return bytesOf(target, { bytes: bytes.subarray(skipped), starts: left, times: times.slice(from) });
    },
    pieces: () => piecesOf(bytes),
  };
}

/** Large enough to be sent at once, small enough that the driver's copy of it is. */
const PIECE = 65_536;

function* piecesOf(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}
