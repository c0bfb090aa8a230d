import type { Range } from '../../../range.ts';
import { giveMemory } from '../../../spare-memory.ts';
import type { SecondSum } from '../receipts.ts';
import { contradictions } from './contradictions.ts';
import type { DistinctRow } from './distinct-rows.ts';
import type { Target } from './target.ts';

/** Rows of one table as they go to COPY: each key once, sorted by the text of their keys. */
export interface Lines {
  readonly target: Target;
  /** True where none of them can be stored, as far as the reader of the page knows. */
  readonly isNew: boolean;
  readonly count: number;
  /** Their block times, ISO 8601; empty for a table that has none. */
  readonly times: ReadonlySet<string>;
  /** Those from a time on. */
  readonly from: (time: string) => Lines;
  readonly pieces: () => Iterable<string | Buffer>;
  /** What there is in each of their seconds, of new ones: for their receipts. */
  readonly sums: () => SecondSum[];
  /** They are stored, and nobody sends them any more, nor those of `from`. */
  readonly release: () => void;
  /** Seconds in which copies of one row contradict each other; of records, only where they were to be compared. */
  readonly contradictions: () => Range[];
}

/** Where the lines of one block time begin. */
export interface TimeMark {
  readonly time: string;
  readonly line: number;
  /** In bytes. */
  readonly at: number;
  /** Sum of the hashes of their keys, of new ones. */
  readonly keys?: bigint | undefined;
}

/** Lines as they stand in memory. */
export interface RowBytes {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Ascending; empty for a table that has no block time. */
  readonly times: readonly TimeMark[];
}

/** Lines of one table: of rows that cannot be stored yet, and of others that have something to add. */
export interface TableBytes {
  readonly fresh: RowBytes;
  readonly others: RowBytes;
}

/** `copies` are all rows of which there are several, where copies are compared. */
export function linesOfBytes(
  target: Target,
  { fresh, others }: TableBytes,
  copies: readonly DistinctRow[] = [],
): Lines[] {
  const known = linesOf(target, others, { isNew: false, copies });
  return fresh.count === 0 ? [known] : [linesOf(target, fresh, { isNew: true, copies: [] }), known];
}

function linesOf(
  target: Target,
  written: RowBytes,
  how: { readonly isNew: boolean; readonly copies: readonly DistinctRow[] },
): Lines {
  const { bytes, count, times } = written;
  return {
    target,
    isNew: how.isNew,
    count,
    times: new Set(times.map(({ time }) => time)),
    from: (time) => linesOf(target, bytesFrom(time, written), how),
    pieces: () => piecesOf(bytes),
    sums: () => (how.isNew ? sumsOf(written) : []),
    release: () => {
      giveMemory(bytes.buffer);
    },
    contradictions: () => contradictions(target.facts, how.copies),
  };
}

/** All rows of each table together, of which some may be stored. */
export function withNothingNew(byTable: readonly Lines[]): Lines[] {
  const targets = new Set(byTable.map(({ target }) => target));
  return [...targets].map((target) => together(byTable.filter((lines) => lines.target === target)));
}

function together(parts: readonly Lines[]): Lines {
  const [first] = parts;
  if (first === undefined) throw new TypeError('no rows of no table');
  return {
    target: first.target,
    isNew: false,
    count: parts.reduce((sum, { count }) => sum + count, 0),
    times: new Set(parts.flatMap(({ times }) => [...times])),
    from: (time) => together(parts.map((part) => part.from(time))),
    pieces: function* () {
      for (const { pieces } of parts) yield* pieces();
    },
    sums: () => parts.flatMap(({ sums }) => sums()),
    release: () => {
      for (const { release } of parts) release();
    },
    contradictions: () => parts.flatMap(({ contradictions }) => contradictions()),
  };
}

function bytesFrom(time: string, written: RowBytes): RowBytes {
  const { bytes, count, times } = written;
  if (times.length === 0) return written;
  const later = times.filter((mark) => mark.time >= time);
  const { line, at } = later[0] ?? { line: count, at: bytes.length };
  return {
    bytes: bytes.subarray(at),
    count: count - line,
    times: later.map((mark) => ({ ...mark, line: mark.line - line, at: mark.at - at })),
  };
}

function sumsOf({ times, count }: RowBytes): SecondSum[] {
  return times.map(({ time, line, keys = 0n }, index) => ({
    second: Date.parse(time) / 1000,
    rows: (times[index + 1]?.line ?? count) - line,
    keys,
  }));
}

/** Large enough to be sent at once, small enough that the driver's copy of it is. */
const PIECE = 65_536;

function* piecesOf(bytes: Uint8Array): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  }
}
