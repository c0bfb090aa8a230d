import { actionTypes } from '../../../jobs/actions.ts';
import type { JettonMasterJson } from '../../../src/simulator/network/entities/entities.ts';
import type { Range } from '../../../src/range.ts';
import { assetsOf, isSwap, poolOf, poolsOrdered, PROXIES, type SwapAction } from './books-of-exchanges.ts';
import { groupBy } from './facts.ts';
import type { Truth } from '../simulator/truth.ts';

/** A side of a trade: its asset, and the amount in the smallest units. */
interface Side {
  readonly asset: string | null;
  readonly raw: number;
  /** The same, to the last digit. */
  readonly text: string;
}

export interface TradeLeg {
  readonly action: SwapAction;
  readonly utime: number;
  readonly hour: number;
  readonly trader: string;
  /** The pool of the leg; null if no order is known, and the swap has several legs. */
  readonly pool: string | null;
  readonly leg: number;
  readonly legs: number;
  readonly sold: Side;
  readonly bought: Side;
}

interface Hop {
  readonly asset_in: string | null;
  readonly amount_in: string | null;
  readonly asset_out: string | null;
  readonly amount_out: string | null;
}

/**
 * The asset that a hop names between two others: TON if it names none, except for STON.fi v1, which names TON
 * by a proxy.
 */
function assetOf(dex: string, word: string | null): string | null {
  if (word === null) return dex === 'stonfi' ? null : 'TON';
  return PROXIES.includes(word) ? 'TON' : word;
}

const sideOf = (asset: string | null, amount: string | null): Side => ({
  asset,
  raw: Number(amount),
  text: amount ?? '',
});

/** Every leg of every swap that succeeded, in the order of the source. */
export function legsOf(truth: Truth, span: Range): TradeLeg[] {
  const poolsOfSwap = poolsOrdered(truth, span);
  const swaps = [...truth.actions(span, actionTypes)]
    .filter(isSwap)
    .filter(({ success }) => success !== false);
  return swaps.flatMap((action) => {
    const { details } = action;
    const { dex, sender: trader, dex_incoming_transfer: came, dex_outgoing_transfer: went } = details;
    const whole = assetsOf(details);
    const utime = action.trace_end_utime;
    const sides =
      (details as { peer_swaps?: readonly Hop[] }).peer_swaps?.map((hop, index, { length }) => ({
        // The first and the last leg have the assets of the whole swap.
        sold: sideOf(index === 0 ? whole.in : assetOf(dex, hop.asset_in), hop.amount_in),
        bought: sideOf(index === length - 1 ? whole.out : assetOf(dex, hop.asset_out), hop.amount_out),
      })) ?? [];
    const hops =
      sides.length > 0
        ? sides
        : [
            {
              sold: sideOf(whole.in, came.amount),
              bought: sideOf(whole.out, went.amount),
            },
          ];
    const pools = poolsOfSwap(action);
    return hops.map((hop, leg) => ({
      ...hop,
      action,
      utime,
      hour: utime - (utime % 3600),
      trader,
      pool: pools[leg] ?? (hops.length === 1 ? poolOf(details) : null),
      leg,
      legs: hops.length,
    }));
  });
}

/** Decimals by master; those of off-chain content are not known. */
export function decimalsOf(masters: readonly JettonMasterJson[]): ReadonlyMap<string, number> {
  return new Map(
    masters.flatMap(({ address, jetton_content }) => {
      if (jetton_content === null) return [];
      const { decimals, uri } = jetton_content as { decimals?: string; uri?: string };
      if (/^\d+$/.test(decimals ?? '')) return [[address, Number(decimals)] as const];
      return uri === undefined ? [[address, 9] as const] : [];
    }),
  );
}

/** Jettons that count as a dollar, with their decimals. */
export type Stables = ReadonlyMap<string, number>;

export interface Traded {
  trades: number;
  readonly traders: Set<string>;
  ton: number;
  tonAmount: number;
  usd: number;
  usdAmount: number;
}

/** What was paid for each asset, by hour and asset. */
export function tradedBy(
  legs: readonly TradeLeg[],
  stables: Stables,
  keyOf: (leg: TradeLeg) => string,
): Map<string, Map<string, Traded>> {
  const periods = new Map<string, Map<string, Traded>>();
  for (const [key, all] of groupBy(legs, keyOf)) {
    const assets = new Map<string, Traded>();
    for (const { sold, bought, trader } of all)
      for (const [own, other] of [
        [sold, bought],
        [bought, sold],
      ] as const) {
        if (own.asset === null || !(own.raw > 0) || !(other.raw > 0)) continue;
        const decimals = other.asset === null ? undefined : stables.get(other.asset);
        const isTon = other.asset === 'TON' && own.asset !== 'TON';
        if (!isTon && decimals === undefined) continue;
        const none = { trades: 0, ton: 0, tonAmount: 0, usd: 0, usdAmount: 0 };
        const traded = assets.get(own.asset) ?? { ...none, traders: new Set<string>() };
        assets.set(own.asset, traded);
        traded.trades += 1;
        traded.traders.add(trader);
        if (isTon) traded.ton += other.raw / 1e9;
        if (isTon) traded.tonAmount += own.raw;
        if (decimals !== undefined) traded.usd += other.raw / 10 ** decimals;
        if (decimals !== undefined) traded.usdAmount += own.raw;
      }
    periods.set(key, assets);
  }
  return periods;
}

/** Price of a TON in dollars; undefined if none was traded for a stable jetton. */
export function tonPrice(assets: ReadonlyMap<string, Traded> | undefined): number | undefined {
  const ton = assets?.get('TON');
  return ton === undefined || ton.usdAmount === 0 ? undefined : ton.usd / (ton.usdAmount / 1e9);
}

/** Price of the smallest unit of an asset in TON; stable jettons count only if the price of TON is known. */
export function rawPrice(traded: Traded | undefined, tonUsd: number | undefined): number | undefined {
  if (traded === undefined) return undefined;
  const worth = traded.ton + (tonUsd === undefined ? 0 : traded.usd / tonUsd);
  const amount = traded.tonAmount + (tonUsd === undefined ? 0 : traded.usdAmount);
  return amount === 0 ? undefined : worth / amount;
}
