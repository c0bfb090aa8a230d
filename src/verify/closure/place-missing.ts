import type { Range } from '../../range.ts';
import type { BlocksOfSource } from './block-source.ts';
import type { Missing } from './missing-parents.ts';

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
    const atStart = row.lower === null || row.lower < stretch.from;
    if (row.registered === 'earlier' || !atStart || row.known || lookUps >= MOST_LOOK_UPS) {
      placed.push(row);
      continue;
    }
    // The parent of the first masterchain block is none of the index.
    if (row.registered === 'first' && row.workchain === -1) continue;
    lookUps += 1;
    const found = await source.named(row);
    if (found === undefined && row.registered === 'first') continue;
    // Nothing of its chain is stored below it: what comes before it in the stretch is missing as well.
    if (found === undefined || found.gen_utime >= stretch.from) placed.push({ ...row, lower: stretch.from });
  }
  return placed;
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
