import type { Position } from './paginator.ts';

/** Which records of a range that is read forward are new: no row of theirs is stored. */
export interface Fresh {
  /** Unix seconds; those of later seconds are. */
  readonly after: number;
  /** But for these, which pages of the range have brought already, as `nameOf` names them; what each was like, if that is known. */
  readonly but: ReadonlyMap<string, Likeness | undefined>;
}

/** A digest of a record as it came. */
export type Likeness = string;

/** What records were like that were written, by `nameOf`. */
export type Likenesses = ReadonlyMap<string, Likeness>;

/** What names a record. One that comes again with another time is another one. */
export function nameOf({ utime, id }: Pick<Position, 'utime' | 'id'>): string {
  return `${utime} ${id}`;
}

/** A second with more records than this is not worth the memory. */
const MOST = 10_000;

/** True of a record that pages of the range have not brought. */
export function isFresh({ after, but }: Fresh, position: Position): boolean {
  return position.utime > after && (but.size === 0 || !but.has(nameOf(position)));
}

/** True of a record that a page of the range has written as it is: a page begins with what the one before it ended with. */
export function isWritten({ but }: Fresh, position: Position, likeness: () => Likeness | undefined): boolean {
  const before = but.size === 0 ? undefined : but.get(nameOf(position));
  return before !== undefined && before === likeness();
}

/**
 * What is fresh behind a page that was written, and completes the seconds before `until`; undefined where nothing is.
 * `written` is what the last of its records were like, but for those which lie behind the range and were not written.
 */
export function freshBehind(
  fresh: Fresh | undefined,
  positions: readonly Position[],
  until: number | undefined,
  written: Likenesses = new Map(),
): Fresh | undefined {
  if (fresh === undefined) return undefined;
  const names = positions.filter(({ utime }) => utime >= (until ?? -Infinity)).map(nameOf);
  const brought = names.map((name) => [name, written.get(name)] as const);
  if (until !== undefined) return { after: until - 1, but: new Map(brought) };
  const but = new Map([...fresh.but, ...brought]);
  return but.size > MOST ? undefined : { after: fresh.after, but };
}
