import type { BocMaker } from '../chain/boc.ts';
import type { Family } from '../chain/tables/family.ts';
import type { World } from '../chain/world.ts';
import {
  jettonBurnJson,
  jettonParties,
  jettonTransferJson,
  nftParties,
  nftTransferJson,
  type TokenPartiesJson,
} from '../../json/token-json.ts';
import type { TokenSource, TransactionSource } from '../../ledger.ts';
import { slice } from '../../simulator-rows.ts';

type MakeJson = (world: World, bocs: BocMaker, row: number) => object;
type FindParties = (world: World, row: number) => TokenPartiesJson;

const KINDS = {
  jetton_transfers: [jettonTransferJson, jettonParties],
  jetton_burns: [jettonBurnJson, jettonParties],
  nft_transfers: [nftTransferJson, nftParties],
} as const satisfies Partial<Record<Family, readonly [MakeJson, FindParties]>>;

export type TokenFamily = keyof typeof KINDS;

/** Transfers and burns of a generated network; rows are those of their transactions. */
export function chainTokens(
  world: World,
  bocs: BocMaker,
  family: TokenFamily,
  transactions: TransactionSource,
): TokenSource {
  const table = world.events[family];
  const [toJson, parties] = KINDS[family];
  const lt = (row: number): number => world.transactions.lt.get(row);
  const utime = (row: number): number => world.utimeOf(row);
  const address = (account: number): string => world.accounts.address(account);
  return {
    byLt: ({ first, last }) =>
      slice(
        (index) => table.byLt.get(index),
        table.byLt.lowerBound(first, lt),
        table.byLt.lowerBound(last + 1, lt),
      ),
    byTime: ({ first, last }) =>
      slice(
        (index) => table.byTime.get(index),
        table.byTime.lowerBound(first, utime),
        table.byTime.lowerBound(last + 1, utime),
      ),
    visible: (view, row) => transactions.visible(view, row),
    lt,
    utime,
    parties: (row) => {
      const { from, to, item, group } = parties(world, row);
      return { from: address(from), to: address(to), item: address(item), group: address(group) };
    },
    text: (row) => JSON.stringify(toJson(world, bocs, row)),
  };
}
