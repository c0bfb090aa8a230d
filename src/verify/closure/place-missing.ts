import type { LinkedBlock } from '../../crawl/watermark/block-links.ts';
import type { Range } from '../../range.ts';
import type { BlocksOfSource } from './block-source.ts';
import type { Missing } from './missing-parents.ts';
import { MASTERCHAIN } from '../../ton/shard.ts';

type Found = Pick<LinkedBlock, 'gen_utime'>;

/** Blocks that are looked up by name, where the stored ones do not say in which second they lie. */
const MOST_LOOK_UPS = 32;

/**
 * A missing block with nothing of its chain below it in the stretch may well lie before it: the source knows. Where the
 * source itself begins it has none, and nothing is missing; of what was read before it began there, it knows nothing.
 */
export async function placeFirst(
  source: BlocksOfSource,
  stretch: Range,
  rows: readonly Missing[],
): Promise<Missing[]> {
  const placed: Missing[] = [];
  let lookUps = 0;
  for (const row of rows) {
    if (isOfNoIndex(row)) continue;
    if (!isAtStart(row, stretch) || lookUps >= MOST_LOOK_UPS) {
      placed.push(row);
      continue;
    }
    lookUps += 1;
    const found = await source.named(row);
    // Nothing of its chain is stored below it: what comes before it in the stretch is missing as well.
    if (liesWithin(row, found, stretch)) placed.push({ ...row, lower: stretch.from });
  }
  return placed;
}

/** The parent of the first masterchain block. */
function isOfNoIndex({ registered, workchain, known }: Missing): boolean {
  return registered === 'first' && workchain === MASTERCHAIN && !known;
}

/** True where the source may know more of it. */
function isAtStart({ lower, known, registered }: Missing, { from }: Range): boolean {
  return !known && registered !== 'earlier' && (lower === null || lower < from);
}

/** What the source does not have lies in the stretch, unless the source begins there. */
function liesWithin({ registered }: Missing, found: Found | undefined, { from }: Range): boolean {
  return found === undefined ? registered !== 'first' : found.gen_utime >= from;
}

/**
 * A link that is broken behind the stretch leads to a block that may lie in it, which the source knows; undefined where
 * it lies behind the stretch too, so that what is known of it is not whole.
 */
export async function placeLast(
  source: BlocksOfSource,
  end: number,
  rows: readonly Missing[],
): Promise<Missing[] | undefined> {
  const placed: Missing[] = [];
  for (const [index, row] of rows.entries()) {
    if (row.child_at < end) {
      placed.push(row);
      continue;
    }
    const found = index < MOST_LOOK_UPS ? await source.named(row) : undefined;
    if (found === undefined || found.gen_utime >= end) return undefined;
    placed.push({ ...row, child_at: found.gen_utime });
  }
  return placed;
}
