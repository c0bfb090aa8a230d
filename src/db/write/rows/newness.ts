import { isFresh, type Fresh } from '../../../dataset/fresh.ts';
import type { Position } from '../../../dataset/paginator.ts';
import { formatTime, type Range } from '../../../range.ts';
import type { LineWriter } from './line-writer.ts';
import { canBeNew, type Target } from './target.ts';

/** What is known of the range in which records lie, before their rows are written. */
export interface Known {
  /** Which records are new; left out: none is known to be. */
  readonly fresh?: Fresh | undefined;
  /** What of the range is still to be read, of which others read nothing meanwhile; left out: not known. */
  readonly span?: Range | undefined;
}

/** A row, as far as it matters who brings it. */
export interface BroughtRow {
  /** The text of its key. */
  readonly key: string;
  readonly writer: Pick<LineWriter, 'bringers' | 'filled'>;
  readonly record: unknown;
  readonly given: object;
  readonly extra: object | null;
  /** Unix seconds of the first record of the page that brings it. */
  readonly utime: number;
  /** How many new records of the page bring it. */
  readonly newBringers: number;
  /** Set where another copy of the row had something to add. */
  readonly merged: object | undefined;
}

/** Where a row goes: to the rows that cannot be stored yet, to the others, or nowhere, for it adds nothing to what is stored. */
export type Destination = 'fresh' | 'others' | 'nowhere';

/**
 * A message is on its way for some 6 seconds, and hardly ever for more than 28. One that was longer and is stored already does
 * no harm: its table says so, and its page goes the other way.
 */
const LONGEST_WAY_SECONDS = 30;

/** True of a record that cannot be stored. Another server may have given its second anew: what came before is written again. */
export function isNewRecord({ fresh }: Known, position: Position): boolean {
  return fresh !== undefined && isFresh(fresh, position);
}

/** Tells where the rows of one table go, and notes which of them are `halves`. */
export function sorter(
  target: Target,
  { fresh, span }: Known,
  halves: Map<string, number | undefined>,
): (row: BroughtRow) => Destination {
  if (fresh === undefined || !canBeNew(target)) return () => 'others';
  const { kind } = target.facts.conflict;
  // Where a later copy counts, it is never in vain.
  const known = kind === 'keep' || kind === 'fill' ? fresh.halves : undefined;
  const early = (span?.to ?? 0) - LONGEST_WAY_SECONDS;
  const destinationOfHalf = (row: BroughtRow, stored: number | undefined, filled: number): Destination => {
    if (stored !== undefined) return (filled & ~stored) === 0 ? 'nowhere' : 'others';
    return isFirst(row) && row.utime < early ? 'fresh' : 'others';
  };
  return (row) => {
    const { key, writer, record, given, newBringers } = row;
    if (newBringers === 0) return 'others';
    // Whoever else may bring the row would bring a record that this page has, and that is new.
    if (newBringers >= writer.bringers(record, given)) return 'fresh';
    if (known === undefined || row.merged !== undefined) return 'others';
    const name = halfOf(target, key);
    const stored = known.get(name);
    const filled = writer.filled(record, given, row.extra);
    halves.set(name, stored === undefined ? filled : undefined);
    return destinationOfHalf(row, stored, filled);
  };
}

/** What names a row among those that several records bring. */
export function halfOf({ name }: Pick<Target, 'name'>, key: string): string {
  return `${name} ${key}`;
}

/** The record that lies in the row's own second is the first to bring it; the others of the range have yet to be read. */
function isFirst({ key, utime }: BroughtRow): boolean {
  return key.startsWith(`${formatTime(utime)}|`);
}
