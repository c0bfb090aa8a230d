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
  /** Rows that are stored all the same; left out where they are not known. */
  readonly halves?: Halves | undefined;
}

/** Digests of records as they came, by `nameOf`. */
export type Digests = ReadonlyMap<string, string>;

/**
 * Stored rows that another record will bring again, as the sender's and the receiver's do a message. By the name of each, what
 * it holds that may be filled in later: a bit for each such column that has a value.
 */
export type Halves = ReadonlyMap<string, number>;

/** What a page makes of them: those that it adds, and `undefined` for those that it has completed. */
export type HalvesOfPage = ReadonlyMap<string, number | undefined>;

/** What a page has written, as far as other pages bring it again. */
export interface Brought {
  /** Of the records of its last second: those behind the range are not among them. */
  readonly digests: Digests;
  readonly halves: HalvesOfPage;
}

/** What names a record. One that comes again with another time is another one. */
export function nameOf({ utime, id }: Pick<Position, 'utime' | 'id'>): string {
  return `${utime} ${id}`;
}

/** More records of a second are not worth the memory. */
const MOST = 10_000;
/** Nor more halves the time to hand them on: a network of 300 messages a second has some 2000. */
export const MOST_HALVES = 4000;

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
 * What is fresh behind a page that was written, and completes the seconds before `until`; undefined where nothing is. `brought`
 * is left out where nobody knows what the page has brought: then halves are not known either.
 */
export function freshBehind(
  fresh: Fresh | undefined,
  positions: readonly Position[],
  until: number | undefined,
  brought?: Brought,
): Fresh | undefined {
  if (fresh === undefined) return undefined;
  const names = positions.filter(({ utime }) => utime >= (until ?? -Infinity)).map(nameOf);
  const last = names.map((name) => [name, brought?.digests.get(name)] as const);
  const halves = brought && fresh.halves && halvesBehind(fresh.halves, brought.halves);
  if (until !== undefined) return { after: until - 1, but: new Map(last), halves };
  const but = new Map([...fresh.but, ...last]);
  return but.size > MOST ? undefined : { after: fresh.after, but, halves };
}

/** Of too many, the oldest are forgotten: what is not known to be stored may be all the same. */
function halvesBehind(before: Halves, changed: HalvesOfPage): Halves {
  const halves = new Map(before);
  for (const [name, filled] of changed) {
    if (filled === undefined) halves.delete(name);
    else halves.set(name, filled);
  }
  return halves.size > MOST_HALVES ? new Map([...halves].slice(-MOST_HALVES)) : halves;
}
