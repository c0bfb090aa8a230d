import type { Range } from '../range.ts';
import { giveMemory } from '../spare-memory.ts';
import { contradictions, type DistinctRow } from './conflict.ts';
import type { Target } from './target.ts';

/** Rows of one table, prepared for COPY: each key once, sorted by the text of the keys. */
export interface Lines {
  readonly target: Target;
  readonly count: number;
  /** Block times of the rows, ISO 8601; empty for a table without block times. */
  readonly times: ReadonlySet<string>;
  /** Splits into rows from one time to another, and the others. A table without block times has no others. */
  readonly split: (from: string, to?: string) => readonly [within: Lines, others: Lines];
  readonly pieces: () => Iterable<string | Buffer>;
  /** Called after the rows are stored: their memory may be reused. */
  readonly release: () => void;
  /**
   * Seconds in which copies of one row contradict each other; for records, only if they were collected for comparison.
   */
  readonly contradictions: () => Range[];
}

/** The start of the lines of one block time. */
export interface TimeMark {
  readonly time: string;
  readonly line: number;
  /** Offset in bytes. */
  readonly at: number;
}

export interface RowBytes {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Ascending; empty for a table without block times. */
  readonly times: readonly TimeMark[];
}

/** `copies`: all rows that came more than once, if copies are compared. */
export function linesOfBytes(target: Target, written: RowBytes, copies: readonly DistinctRow[] = []): Lines {
  const { bytes, count, times } = written;
  return {
    target,
    count,
    times: new Set(times.map(({ time }) => time)),
    split: (from, to) => {
      const [within, others] = splitBytes(written, from, to);
      return [linesOfBytes(target, within, copies), linesOfBytes(target, others, copies)];
    },
    pieces: () => piecesOf(bytes),
    release: () => {
      giveMemory(bytes.buffer);
    },
    contradictions: () => contradictions(target.facts, copies),
  };
}

const NO_ROWS: RowBytes = { bytes: new Uint8Array(0), count: 0, times: [] };

function splitBytes(written: RowBytes, from: string, to?: string): readonly [RowBytes, RowBytes] {
  const { times } = written;
  if (times.length === 0) return [written, NO_ROWS];
  const indexOf = (time: string) => {
    const index = times.findIndex((mark) => mark.time >= time);
    return index < 0 ? times.length : index;
  };
  const start = indexOf(from);
  const until = to === undefined ? times.length : Math.max(start, indexOf(to));
  const parts = [part(written, 0, start), part(written, until, times.length)] as const;
  return [part(written, start, until), together(...parts)];
}

/** The lines of some block times, given by the indexes of their marks. */
function part({ bytes, count, times }: RowBytes, start: number, until: number): RowBytes {
  if (start >= until) return NO_ROWS;
  const end = { line: count, at: bytes.length };
  const [first, next] = [times[start] ?? end, times[until] ?? end];
  return {
    bytes: bytes.subarray(first.at, next.at),
    count: next.line - first.line,
    times: times.slice(start, until).map((mark) => moved(mark, -first.line, -first.at)),
  };
}

function moved({ time, line, at }: TimeMark, lines: number, bytes: number): TimeMark {
  return { time, line: line + lines, at: at + bytes };
}

function together(one: RowBytes, other: RowBytes): RowBytes {
  if (one.count === 0 || other.count === 0) return one.count === 0 ? other : one;
  return {
    bytes: Buffer.concat([one.bytes, other.bytes]),
    count: one.count + other.count,
    times: [...one.times, ...other.times.map((mark) => moved(mark, one.count, one.bytes.length))],
  };
}

/** Large enough to send at once, and small enough for the driver's copy of it. */
const PIECE = 65_536;

function* piecesOf(bytes: Uint8Array): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  }
}
