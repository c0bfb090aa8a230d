import type { AcceptedRecord } from '../../../dataset/job.ts';
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
import type { HalvesOfPage } from '../../../dataset/fresh.ts';
import { rowAsText, type Strings } from '../../../dataset/strings.ts';
import { contradictions } from './contradictions.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { toCopyText } from './copy-text.ts';
import { distinctRows, mergeRows, type DistinctRow } from './distinct-rows.ts';
import { linesOfBytes, type Lines, type RowBytes, type TableBytes, type TimeMark } from './line-bytes.ts';
import { lineWriterOf, type LineWriter } from './line-writer.ts';
import { isNewRecord, sorter, type BroughtRow, type Destination, type Known } from './newness.ts';
import { KeySum } from '../receipts.ts';
import { targetOf, type Target } from './target.ts';

/** Rows of a table from objects. */
export function linesOfRows(table: object, rows: readonly object[]): Lines {
  const target = targetOf(table);
  return linesOf(target, distinctRows(target.facts, rows), rows);
}

/** `copies` are all rows, also those of the same key. */
function linesOf(target: Target, rows: readonly DistinctRow[], copies: readonly object[]): Lines {
  const timeOf = (row: DistinctRow) => (typeof row['utime'] === 'string' ? row['utime'] : undefined);
  return {
    target,
    isNew: false,
    count: rows.length,
    times: new Set(rows.flatMap((row) => timeOf(row) ?? [])),
    from: (time) =>
      linesOf(
        target,
        rows.filter((row) => (timeOf(row) ?? time) >= time),
        copies,
      ),
    pieces: () => toCopyText(target.staging.columns, rows),
    sums: () => [],
    release: () => undefined,
    contradictions: () => contradictions(target.facts, copies),
  };
}

/** A row that is to be written. */
interface WaitingRow extends BroughtRow {
  readonly writer: LineWriter;
  readonly extra: Extra | null;
  readonly strings: Strings;
  readonly sheet: Pick<Sheet, 'columns' | 'noted'>;
  newBringers: number;
  merged: DistinctRow | undefined;
}

type BroughtRecord = Pick<AcceptedRecord, 'put' | 'strings' | 'position'>;

interface HowToCollect extends Known {
  /** True: copies of one row are held against each other. */
  readonly compared?: boolean;
}

/** One for all pages: it is filled and emptied without a pause. */
const out = new CopyBuffer();

/** The rows of one table, as they are collected. */
interface Collected {
  readonly rows: Map<string, WaitingRow>;
  /** Rows of which there are several copies, where copies are compared. */
  readonly copies: DistinctRow[] | undefined;
}

/** The rows of records, table by table, as bytes: the records need not stay in memory. */
export function linesOfRecords(
  tables: Tables,
  records: readonly BroughtRecord[],
  how: HowToCollect = {},
): Lines[] {
  return [...collect(tables, records, how)].flatMap(([table, { rows, copies }]) =>
    linesOfBytes(
      targetOf(table),
      write(targetOf(table), rows, sorter(targetOf(table), how, new Map())),
      copies,
    ),
  );
}

/** Lines of records, as they are sent between threads. */
export interface BytesOfRecords {
  readonly tables: readonly TableBytes[];
  readonly halves: HalvesOfPage;
}

/** The same, as it is sent between threads: without functions, and without copies to compare. */
export function bytesOfRecords(
  tables: Tables,
  records: readonly BroughtRecord[],
  how: Known = {},
): BytesOfRecords {
  const halves = new Map<string, number | undefined>();
  const written = [...collect(tables, records, how)].map(([table, { rows }]) => {
    const target = targetOf(table);
    return write(target, rows, sorter(target, how, halves));
  });
  return { tables: written, halves };
}

function collect(
  tables: Tables,
  records: readonly BroughtRecord[],
  { compared = false, ...known }: HowToCollect,
): ReadonlyMap<object, Collected> {
  const byTable = new Map<object, Collected>(
    Object.values(tables).map((table) => [table, { rows: new Map(), copies: compared ? [] : undefined }]),
  );
  for (const { put, strings, position } of records)
    put(
      collector(byTable, strings, {
        utime: position.utime,
        newBringers: isNewRecord(known, position) ? 1 : 0,
      }),
    );
  return byTable;
}

function byKey(a: WaitingRow, b: WaitingRow): number {
  return a.key < b.key ? -1 : 1;
}

/** `newBringers`: 1 for a new record, 0 for one that may be stored. */
function collector(
  byTable: ReadonlyMap<object, Collected>,
  strings: Strings,
  { utime, newBringers }: Pick<WaitingRow, 'utime' | 'newBringers'>,
): Put {
  return <T extends Table, Rec>(sheet: Sheet<T, Rec>, record: Rec, given: Given<T>, sent?: Extra | null) => {
    const writer = lineWriterOf(sheet, record);
    const collected = byTable.get(sheet.table);
    if (collected === undefined)
      throw new TypeError(`a row for ${writer.target.name}, which its job does not name`);
    const { rows, copies } = collected;
    const key = writer.key(record, given);
    const isNothing = (sent == null || sent === NOTHING) && !writer.isNoted(record);
    const extra = isNothing ? null : fullExtra(sheet, record, sent ?? null);
    // Made at once: put together from another object, it would take ten times as long.
    const waiting: WaitingRow = {
      writer,
      sheet,
      key,
      record,
      given,
      extra,
      strings,
      utime,
      newBringers,
      merged: undefined,
    };
    const first = rows.get(key);
    if (first === undefined) {
      rows.set(key, waiting);
      return;
    }
    first.newBringers += newBringers;
    copies?.push(rowOfWaiting(first), rowOfWaiting(waiting));
    addCopy(first, waiting);
  };
}

/** Puts another copy of a row together with the first one, where it has something that the first one lacks. */
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

/** The row as an object. */
function rowOfWaiting({ sheet, record, given, extra, strings }: WaitingRow): DistinctRow {
  const row = rowOf(sheet, record, given, extra);
  return strings === 'text' ? row : rowAsText(row);
}

/** Rows that cannot be stored yet, and others that have something to add. */
function write(
  target: Target,
  collected: ReadonlyMap<string, WaitingRow>,
  destinationOf: (row: WaitingRow) => Destination,
): TableBytes {
  const sorted: Record<Destination, WaitingRow[]> = { fresh: [], others: [], nowhere: [] };
  for (const row of [...collected.values()].sort(byKey)) sorted[destinationOf(row)].push(row);
  return { fresh: writeRows(target, sorted.fresh, true), others: writeRows(target, sorted.others, false) };
}

function writeRows(target: Target, rows: readonly WaitingRow[], isNew: boolean): RowBytes {
  const isTimed = target.facts.key[0] === 'utime';
  const times: (Omit<TimeMark, 'keys'> & { readonly sum: KeySum | undefined })[] = [];
  out.clear();
  for (const [line, row] of rows.entries()) {
    if (isTimed) {
      const time = row.key.slice(0, row.key.indexOf('|'));
      if (times.at(-1)?.time !== time)
        times.push({ time, line, at: out.length, sum: isNew ? new KeySum(time) : undefined });
      times.at(-1)?.sum?.add(row.key, row.strings);
    }
    writeRow(target, row);
  }
  const marks = times.map(({ sum, ...mark }) => ({ ...mark, keys: sum?.take() }));
  return { bytes: out.take(), count: rows.length, times: marks };
}

function writeRow(target: Target, { writer, record, given, extra, strings, merged }: WaitingRow): void {
  if (merged !== undefined) {
    for (const line of toCopyText(target.staging.columns, [merged])) out.line(line);
    return;
  }
  out.beginLine(strings);
  writer.write(out, record, given, extra);
  out.endLine();
}
