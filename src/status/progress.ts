import type { Work } from '../crawl/streams/missing.ts';
import { lengthOf, type Range, without } from '../range.ts';

/** How much of what was wanted is done, in seconds of chain time over all scopes; `done` is never above `total`. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Whole tenths; 100 only where all is done. */
export function percentOf({ done, total }: Progress): number {
  return done >= total ? 100 : Math.min(99.9, Math.floor((1000 * done) / total) / 10);
}

/** Follows a run through its work. */
export interface ProgressCount {
  /** A part of a scope was read: undefined where a page completed nothing. A scope that is new is more work. */
  complete(dataset: string, scope: string, range: Range | undefined): void;
  /** More than pages has covered the only scope of a dataset: this is what is left of it. */
  replaceLeft(dataset: string, missing: readonly Range[]): void;
  /** What is left of a dataset, of all its scopes. */
  left(dataset: string): readonly Range[];
  of(dataset: string): Progress;
  /** Of all datasets together that are counted. */
  all(isCounted?: (dataset: string) => boolean): Progress;
}

export function countProgress(works: readonly Work[]): ProgressCount {
  const states = new Map(
    works.map(({ dataset, range, missing }) => [dataset, { range, left: new Map(missing) }]),
  );
  const left = (dataset: string) => [...(states.get(dataset)?.left.values() ?? [])].flat();
  const of = (dataset: string): Progress => {
    const state = states.get(dataset);
    const total = state === undefined ? 0 : state.left.size * lengthOf([state.range]);
    return { done: total - lengthOf(left(dataset)), total };
  };
  return {
    complete(dataset, scope, range) {
      const state = states.get(dataset);
      if (state === undefined) return;
      const before = state.left.get(scope) ?? [state.range];
      state.left.set(scope, range === undefined ? before : without(before, [range]));
    },
    replaceLeft(dataset, missing) {
      states.get(dataset)?.left.set('', missing);
    },
    left,
    of,
    all: (isCounted = () => true) =>
      [...states.keys()]
        .filter(isCounted)
        .map(of)
        .reduce((sum, { done, total }) => ({ done: sum.done + done, total: sum.total + total }), {
          done: 0,
          total: 0,
        }),
  };
}
