import { actionTypes } from '../../../src/records/action-types.ts';
import type { ActionJson } from '../../../src/simulator/json/action-json.ts';
import type { Range } from '../../../src/range.ts';
import { dayOf, groupBy, sum } from './facts.ts';
import type { Truth } from '../simulator/truth.ts';

/** What the simulator prints of a swap. */
interface Swap {
  readonly dex: string;
  readonly sender: string;
  readonly asset_in: string | null;
  readonly asset_out: string | null;
  readonly dex_incoming_transfer: { readonly amount: string; readonly destination: string };
  readonly dex_outgoing_transfer: { readonly amount: string; readonly source: string };
}

type SwapAction = ActionJson & { readonly details: Swap };

export function isSwap(action: ActionJson): action is SwapAction {
  return action.type === 'jetton_swap';
}

/** The exchange's account on the side of the swap that is no TON. */
export function poolOf(swap: Swap): string {
  return swap.asset_in === null ? swap.dex_outgoing_transfer.source : swap.dex_incoming_transfer.destination;
}

/** What ton.dex_volume tells of a range: trades of a jetton for TON, by day, exchange, pool and jetton. */
export function tonVolumes(truth: Truth, span: Range) {
  const trades = [...truth.actions(span, actionTypes)]
    .filter(isSwap)
    .filter(
      ({ success, details }) =>
        success !== false && (details.asset_in === null) !== (details.asset_out === null),
    )
    .map(({ trace_end_utime, details }) => ({
      ...details,
      day: dayOf(trace_end_utime),
      pool: poolOf(details),
    }));
  const marketOf = (trade: (typeof trades)[number]) =>
    [trade.day, trade.dex, trade.pool, trade.asset_in ?? trade.asset_out].join(' ');
  return [...groupBy(trades, marketOf).values()].map((all) => {
    const { day, dex, pool, asset_in, asset_out } = all[0]!;
    const [buys, sales] = [
      all.filter((each) => each.asset_in === null),
      all.filter((each) => each.asset_out === null),
    ];
    const came = (some: typeof all) => sum(some.map(({ dex_incoming_transfer: { amount } }) => amount));
    const went = (some: typeof all) => sum(some.map(({ dex_outgoing_transfer: { amount } }) => amount));
    return {
      day,
      dex,
      pool,
      jetton_master: asset_in ?? asset_out,
      swaps: all.length,
      accounts: new Set(all.map(({ sender }) => sender)).size,
      bought: came(buys),
      sold: went(sales),
      volume: came(buys) + went(sales),
      jettons: went(buys) + came(sales),
    };
  });
}
