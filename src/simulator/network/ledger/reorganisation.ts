import { mix32 } from '../../random.ts';
import type { Faults } from '../../faults.ts';
import type { View } from '../../network-view.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';

const HASH = /[A-Za-z0-9+/]{43}=/g;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * Exchanges the hashes of blocks that will be reorganised, and of their transactions, with their later ones. So it
 * turns a text of the later network into one of the earlier network, and a question about the earlier one into one
 * about the later one.
 */
export function createReorganisation(world: World, faults: Faults): (text: string, view: View) => string {
  const blockOf = (hash: string): number | undefined => {
    const { blocks, transactions } = world;
    const row = world.hashes('transaction').indexOf(hash, transactions.count);
    if (row !== undefined) return transactions.block.get(row);
    return ['root', 'file']
      .map((kind) => world.hashes(kind).indexOf(hash, blocks.count))
      .find(Number.isInteger);
  };
  return (text, { headTime }) => {
    const { reorganise } = faults;
    if (reorganise === undefined) return text;
    const isEarlier = (block: number): boolean => {
      const tick = world.blocks.tick.get(block);
      return (
        world.blocks.shard.get(block) !== 0 &&
        mix32(block ^ 0x5e0) < reorganise.probability * 2 ** 32 &&
        (tick === NONE || headTime < world.ticks.utime.get(tick) + reorganise.seconds)
      );
    };
    return text.replaceAll(HASH, (hash) => {
      const other = otherOf(hash);
      const block = blockOf(hash) ?? blockOf(other);
      return block !== undefined && isEarlier(block) ? other : hash;
    });
  };
}

/** The hash that a block or transaction has before it is reorganised, or after it: each is the other's. */
export function otherOf(hash: string): string {
  const [first = ''] = hash;
  return (ALPHABET[ALPHABET.indexOf(first) ^ 1] ?? '') + hash.slice(1);
}
