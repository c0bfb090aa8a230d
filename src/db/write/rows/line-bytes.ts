import type { Range } from '../../../range.ts';
import { contradictions } from './conflict.ts';
import type { DistinctRow } from './conflict.ts';
import type { Target } from './target.ts';

/** Rows of one table as they go to COPY: each key once, sorted by the text of their keys. */
export interface Lines {
  readonly target: Target;
  readonly count: number;
  /** Their block times, ISO 8601; empty for a table that has none. */
  readonly times: ReadonlySet<string>;
  /** Those before a time, and those from then on. */
  readonly split: (time: string) => readonly [before: Lines, after: Lines];
  readonly pieces: () => Iterable<string | Buffer>;
  /** Seconds in which copies of one row contradict each other; of records, only where they were to be compared. */
  readonly contradictions: () => Range[];
}

/** Where the lines of one block time begin. */
export interface TimeMark {
  readonly time: string;
  readonly line: number;
  /** In bytes. */
  readonly at: number;
}

/** Lines as they stand in memory. */
export interface RowBytes {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Ascending; empty for a table that has no block time. */
  readonly times: readonly TimeMark[];
}

/** `copies` are all rows of which there are several, where copies are compared. */
export function linesOfBytes(target: Target, written: RowBytes, copies: readonly DistinctRow[] = []): Lines {
  const { bytes, count, times } = written;
  return {
    target,
    count,
    times: new Set(times.map(({ time }) => time)),
    split: (time) => {
      const [before, after] = splitBytes(time, written);
      return [linesOfBytes(target, before, copies), linesOfBytes(target, after, copies)];
    },
    pieces: () => piecesOf(bytes),
    contradictions: () => contradictions(target.facts, copies),
  };
}

function splitBytes(time: string, written: RowBytes): readonly [RowBytes, RowBytes] {
  const { bytes, count, times } = written;
  if (times.length === 0) return [{ bytes: bytes.subarray(0, 0), count: 0, times }, written];
  const index = times.findIndex((mark) => mark.time >= time);
  const { line, at } = times[index] ?? { line: count, at: bytes.length };
  const later = index < 0 ? [] : times.slice(index);
  return [
    { bytes: bytes.subarray(0, at), count: line, times: index < 0 ? times : times.slice(0, index) },
    {
      bytes: bytes.subarray(at),
      count: count - line,
      times: later.map((mark) => ({ time: mark.time, line: mark.line - line, at: mark.at - at })),
    },
  ];
}

/** Large enough to be sent at once, small enough that the driver's copy of it is. */
const PIECE = 65_536;

function* piecesOf(bytes: Uint8Array): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  }
}
