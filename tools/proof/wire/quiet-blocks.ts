import type { Differing } from '../matrix/rows.ts';

/**
 * What is wrong because a block without transactions came with another second: it and its links. Nothing that plain
 * `verify` holds against it says more than that it lies between its parent and its child.
 */
export function ofQuietBlocks(wrong: readonly Differing[]): ReadonlySet<Differing> {
  const whole = wrong.filter(({ columns }) => columns.length === 0);
  const quiet = whole.filter(({ table, row }) => table === 'blocks' && row['tx_count'] === '0').map(nameOf);
  // Twice: where it should be, and where it is.
  const moved = new Set(quiet.filter((name, at) => quiet.indexOf(name) < at));
  const tables = ['blocks', 'block_parents'];
  return new Set(whole.filter((one) => tables.includes(one.table) && moved.has(nameOf(one))));
}

function nameOf({ row }: Differing): string {
  return [row['workchain'], row['shard'], row['seqno']].join(':');
}
