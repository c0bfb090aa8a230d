import type { Work } from '../crawl/streams/planner.ts';
import { lengthOf, type Range, without } from '../range.ts';

/** How much of the wanted range is done, in seconds of chain time over all scopes. `done` is never above `total`. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Percent in tenths; 100 only if all is done. */
export function percentOf({ done, total }: Progress): number {
  return done >= total ? 100 : Math.min(99.9, Math.floor((1000 * done) / total) / 10);
}

export interface ProgressCount {
  /** Notes a part of a scope that was read; undefined if the page completed nothing. A new scope adds work. */
  complete(dataset: string, scope: string, range: Range | undefined): void;
  /** Sets what is left of a dataset with one scope, if something else than pages has covered a part of it. */
  replaceLeft(dataset: string, missing: readonly Range[]): void;
  of(dataset: string): Progress;
  /** The sum over all datasets that are counted. */
  all(isCounted?: (dataset: string) => boolean): Progress;
}

export function countProgress(works: readonly Work[]): ProgressCount {
  const states = new Map(
    works.map(({ dataset, range, missing }) => [dataset, { range, left: new Map(missing) }]),
  );
  const of = (dataset: string): Progress => {
    const state = states.get(dataset);
    const total = state === undefined ? 0 : state.left.size * lengthOf([state.range]);
    return { done: total - lengthOf([...(state?.left.values() ?? [])].flat()), total };
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
