import type { AcceptedRecord } from '../dataset/job.ts';
import type { Tables } from '../dataset/rows.ts';
import {
  fullExtra,
  rowOf,
  type Given,
  type Put,
  type RowLayout,
  type Table,
} from '../dataset/declaration/row-layout.ts';
import { NOTHING, type Extra } from '../dataset/declaration/record.ts';
import { contradictions, distinctRows, mergeRows, type DistinctRow } from './conflict.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { toCopyText } from './copy-text.ts';
import { linesOfBytes, type Lines, type RowBytes, type TimeMark } from './line-bytes.ts';
import { lineWriterOf, type LineWriter } from './line-writer.ts';
import { targetOf, type Target } from './target.ts';

/** Rows of a table from objects. */
export function linesOfRows(table: object, rows: readonly object[]): Lines {
  const target = targetOf(table);
  return linesOf(target, distinctRows(target.facts, rows), rows);
}

/** `copies`: all rows, including those with the same key. */
function linesOf(target: Target, rows: readonly DistinctRow[], copies: readonly object[]): Lines {
  const timeOf = (row: DistinctRow) => (typeof row['utime'] === 'string' ? row['utime'] : undefined);
  return {
    target,
    count: rows.length,
    times: new Set(rows.flatMap((row) => timeOf(row) ?? [])),
    split: (from, to) => {
      const isWithin = (row: DistinctRow) => {
        const time = timeOf(row);
        return time === undefined || (time >= from && (to === undefined || time < to));
      };
      const parts = [rows.filter(isWithin), rows.filter((row) => !isWithin(row))] as const;
      return [linesOf(target, parts[0], copies), linesOf(target, parts[1], copies)];
    },
    pieces: () => toCopyText(target.staging.columns, rows),
    release: () => undefined,
    contradictions: () => contradictions(target.facts, copies),
  };
}

interface WaitingRow {
  readonly key: string;
  readonly writer: LineWriter;
  readonly record: unknown;
  readonly given: object;
  readonly extra: Extra | null;
  readonly rowLayout: Pick<RowLayout, 'columns' | 'noted'>;
  /** Set if another copy of the row added a value. */
  merged: DistinctRow | undefined;
}

type PutRecord = Pick<AcceptedRecord, 'put'>;

interface HowToCollect {
  /** If true, copies of one row are compared with each other. */
  readonly compared?: boolean;
}

/** Shared by all pages, because it is filled and emptied synchronously. */
const out = new CopyBuffer();

/** The rows of one table while they are collected. */
interface Collected {
  readonly rows: Map<string, WaitingRow>;
  /** Rows that came more than once, if copies are compared. */
  readonly copies: DistinctRow[] | undefined;
}

/** The rows of records, table by table, as bytes, so that the records need not stay in memory. */
export function linesOfRecords(
  tables: Tables,
  records: readonly PutRecord[],
  how: HowToCollect = {},
): Lines[] {
  return [...collect(tables, records, how)].map(([table, { rows, copies }]) =>
    linesOfBytes(targetOf(table), writeRows(targetOf(table), rows), copies),
  );
}

function collect(
  tables: Tables,
  records: readonly PutRecord[],
  { compared = false }: HowToCollect = {},
): ReadonlyMap<object, Collected> {
  const byTable = new Map<object, Collected>(
    Object.values(tables).map((table) => [table, { rows: new Map(), copies: compared ? [] : undefined }]),
  );
  for (const { put } of records) put(collector(byTable));
  return byTable;
}

function byKey(a: WaitingRow, b: WaitingRow): number {
  return a.key < b.key ? -1 : 1;
}

function collector(byTable: ReadonlyMap<object, Collected>): Put {
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
    const waiting: WaitingRow = {
      writer,
      rowLayout,
      key,
      record,
      given,
      extra,
      merged: undefined,
    };
    const first = rows.get(key);
    if (first === undefined) {
      rows.set(key, waiting);
      return;
    }
    copies?.push(rowOfWaiting(first), rowOfWaiting(waiting));
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

/** The lines of a table, sorted by key. */
function writeRows(target: Target, collected: ReadonlyMap<string, WaitingRow>): RowBytes {
  const isTimed = target.facts.key[0] === 'utime';
  const rows = [...collected.values()].sort(byKey);
  const times: TimeMark[] = [];
  out.clear();
  for (const [line, row] of rows.entries()) {
    if (isTimed) {
      const time = row.key.slice(0, row.key.indexOf('|'));
      if (times.at(-1)?.time !== time) times.push({ time, line, at: out.length });
    }
    writeRow(target, row);
  }
  return { bytes: out.take(), count: rows.length, times };
}

function writeRow(target: Target, { writer, record, given, extra, merged }: WaitingRow): void {
  if (merged !== undefined) {
    for (const line of toCopyText(target.staging.columns, [merged])) out.line(line);
    return;
  }
  out.beginLine();
  writer.write(out, record, given, extra);
  out.endLine();
}
