import { actionTypes } from '../../../jobs/actions.ts';
import type { ActionJson } from '../../../src/simulator/json/action-json.ts';
import type { Range } from '../../../src/range.ts';
import { dayOf, groupBy, sum } from './facts.ts';
import type { Truth } from '../simulator/truth.ts';

/** The members of a swap that the simulator prints. */
interface Swap {
  readonly dex: string;
  readonly sender: string;
  readonly asset_in: string | null;
  readonly asset_out: string | null;
  readonly dex_incoming_transfer: Leg;
  readonly dex_outgoing_transfer: Leg;
}

interface Leg {
  readonly asset: string | null;
  readonly amount: string;
  readonly source: string;
  readonly destination: string;
  readonly source_jetton_wallet: string | null;
  readonly destination_jetton_wallet: string | null;
}

/** Masters that represent TON on mainnet; a simulated STON.fi v1 uses the first. */
export const PROXIES: readonly string[] = [
  '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C',
  '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3',
  '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E',
  '0:D0A1CE4CDC187C79615EA618BD6C29617AF7A56D966F5A192A768F345EE63FD2',
];

/** The asset on each side of a swap: TON, a jetton, or null for one that the server does not know. */
export function assetsOf(swap: Swap): { in: string | null; out: string | null } {
  const known = (asset: string | null, leg: Leg): string | null => {
    const named = asset ?? leg.asset;
    if (named !== null) return PROXIES.includes(named) ? 'TON' : named;
    if (swap.dex === 'stonfi') return null;
    if (swap.dex === 'stonfi_v2' || swap.dex === 'tonco') return 'TON';
    return leg.source_jetton_wallet === null && leg.destination_jetton_wallet === null ? 'TON' : null;
  };
  return {
    in: known(swap.asset_in, swap.dex_incoming_transfer),
    out: known(swap.asset_out, swap.dex_outgoing_transfer),
  };
}

export type SwapAction = ActionJson & { readonly details: Swap };

export function isSwap(action: ActionJson): action is SwapAction {
  return action.type === 'jetton_swap';
}

/** The exchange's account on the side of the swap that is not TON. */
export function poolOf(swap: Swap): string {
  return assetsOf(swap).in === 'TON'
    ? swap.dex_outgoing_transfer.source
    : swap.dex_incoming_transfer.destination;
}

/** Opcodes of the messages that order a pool to swap. */
const ORDERS = ['0x25938561', '0x6664de2a', '0x61ee542d', '0x72aca8aa', '0xa7fb58f8'];

/** Says which pools a swap went through, in their order: those that were ordered to swap. */
export function poolsOrdered(truth: Truth, span: Range): (action: ActionJson) => string[] {
  const orders = new Map(
    [...truth.transactions(span)].flatMap(({ hash, account, in_msg: order }) =>
      ORDERS.includes(order?.opcode ?? '')
        ? [[hash, { account, lt: BigInt(order?.created_lt ?? 0) }] as const]
        : [],
    ),
  );
  return ({ transactions }) =>
    transactions
      .flatMap((hash) => orders.get(hash) ?? [])
      .sort((a, b) => Number(a.lt - b.lt))
      .map(({ account }) => account);
}

/** The rows of ton.dex_volume for a range: trades of a jetton for TON, by day, exchange, pool and jetton. */
export function tonVolumes(truth: Truth, span: Range) {
  const trades = [...truth.actions(span, actionTypes)].filter(isSwap).flatMap((action) => {
    const { success, trace_end_utime, details } = action;
    const { in: given, out: got } = assetsOf(details);
    const isForTon = given !== null && got !== null && (given === 'TON') !== (got === 'TON');
    if (success === false || !isForTon) return [];
    return [{ ...details, given, got, day: dayOf(trace_end_utime), pool: poolOf(details) }];
  });
  const jettonOf = ({ given, got }: (typeof trades)[number]) => (given === 'TON' ? got : given);
  const marketOf = (trade: (typeof trades)[number]) =>
    [trade.day, trade.dex, trade.pool, jettonOf(trade)].join(' ');
  return [...groupBy(trades, marketOf).values()].map((all) => {
    const { day, dex, pool } = all[0]!;
    const [buys, sales] = [
      all.filter(({ given }) => given === 'TON'),
      all.filter(({ got }) => got === 'TON'),
    ];
    const came = (some: typeof all) => sum(some.map(({ dex_incoming_transfer: { amount } }) => amount));
    const went = (some: typeof all) => sum(some.map(({ dex_outgoing_transfer: { amount } }) => amount));
    return {
      day,
      dex,
      pool,
      jetton_master: jettonOf(all[0]!),
      swaps: all.length,
      accounts: new Set(all.map(({ sender }) => sender)).size,
      bought: came(buys),
      sold: went(sales),
      volume: came(buys) + went(sales),
      jettons: went(buys) + came(sales),
    };
  });
}
