import type { Differing } from '../matrix/rows.ts';

/**
 * Rows that are wrong because a block without transactions came with another second: it and its links. Plain
 * `verify` only checks that it is between its parent and its child.
 */
export function ofQuietBlocks(wrong: readonly Differing[]): ReadonlySet<Differing> {
  const whole = wrong.filter(({ columns }) => columns.length === 0);
  const quiet = whole.filter(({ table, row }) => table === 'blocks' && row['tx_count'] === '0').map(nameOf);
  // These blocks occur twice: at the right second, and at the wrong one.
  const moved = new Set(quiet.filter((name, at) => quiet.indexOf(name) < at));
  const tables = ['blocks', 'block_parents'];
  return new Set(whole.filter((one) => tables.includes(one.table) && moved.has(nameOf(one))));
}

function nameOf({ row }: Differing): string {
  return [row['workchain'], row['shard'], row['seqno']].join(':');
}
