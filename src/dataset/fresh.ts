import type { Position } from './paginator.ts';

/** Which records of a range that is read forward are new: no row of theirs is stored. */
export interface Fresh {
  /** Unix seconds; those of later seconds are. */
  readonly after: number;
  /**
   * But for these, which pages of the range have brought already, by `nameOf`: with the digest of each that was written,
   * undefined where there is none.
   */
  readonly but: ReadonlyMap<string, string | undefined>;
}

/** Digests of records as they came, by `nameOf`. */
export type Digests = ReadonlyMap<string, string>;

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

/**
 * True of a record that a page of the range has written just as it comes now: a page begins with what the one before it
 * ended with. `digest` is asked for only where there is one to hold it against.
 */
export function isUnchanged({ but }: Fresh, position: Position, digest: () => string | undefined): boolean {
  const before = but.size === 0 ? undefined : but.get(nameOf(position));
  return before !== undefined && before === digest();
}

/**
 * What is fresh behind a page that was written, and completes the seconds before `until`; undefined where nothing is.
 * `digests` are of the last records that it has written: those behind the range are not among them.
 */
export function freshBehind(
  fresh: Fresh | undefined,
  positions: readonly Position[],
  until: number | undefined,
  digests: Digests = new Map(),
): Fresh | undefined {
  if (fresh === undefined) return undefined;
  const names = positions.filter(({ utime }) => utime >= (until ?? -Infinity)).map(nameOf);
  const brought = names.map((name) => [name, digests.get(name)] as const);
  if (until !== undefined) return { after: until - 1, but: new Map(brought) };
  const but = new Map([...fresh.but, ...brought]);
  return but.size > MOST ? undefined : { after: fresh.after, but };
}
