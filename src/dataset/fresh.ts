import type { Position } from './paginator.ts';

/** Which records of a range that is read forward are new: no row of theirs is stored. */
export interface Fresh {
  /** Unix seconds; those of later seconds are. */
  readonly after: number;
  /** But for these, which pages of the range have brought already, as `nameOf` names them. */
  readonly but: readonly string[];
}

/** What names a record. One that comes again with another time is another one. */
export function nameOf({ utime, id }: Pick<Position, 'utime' | 'id'>): string {
  return `${utime} ${id}`;
}

/** A second with more records than this is not worth the memory. */
const MOST = 10_000;

/** What is fresh behind a page that was written, and completes the seconds before `until`; undefined where nothing is. */
export function freshBehind(
  fresh: Fresh | undefined,
  positions: readonly Position[],
  until: number | undefined,
): Fresh | undefined {
  if (fresh === undefined) return undefined;
  const brought = positions.filter(({ utime }) => utime >= (until ?? -Infinity)).map(nameOf);
  if (until !== undefined) return { after: until - 1, but: brought };
  const but = [...fresh.but, ...brought];
  return but.length > MOST ? undefined : { after: fresh.after, but };
}
