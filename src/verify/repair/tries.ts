import type { Stream } from '../../db/coverage/coverage.ts';
import { common, type Range, union } from '../../range.ts';

/** How seconds are read again: by windows of time, or by masterchain block. */
export type Way = 'by time' | 'by block';

/** Which seconds of each stream were read again in one repair, and how often. */
export class Tries {
  /** Index n holds the seconds that were tried n + 1 times. */
  private readonly tried = new Map<string, Range[][]>();

  add(stream: Stream, way: Way, spans: readonly Range[]): void {
    const before = this.tried.get(keyOf(stream, way)) ?? [];
    const counted = [union(before[0] ?? [], spans)];
    for (const [n, once] of before.entries()) counted.push(union(before[n + 1] ?? [], common(once, spans)));
    this.tried.set(keyOf(stream, way), counted);
  }

  /** Seconds that were read again so many times at least. */
  atLeast(times: number, stream: Stream, way: Way): readonly Range[] {
    return this.tried.get(keyOf(stream, way))?.[times - 1] ?? [];
  }
}

function keyOf({ dataset, scope }: Stream, way: Way): string {
  return `${dataset}/${scope} ${way}`;
}
