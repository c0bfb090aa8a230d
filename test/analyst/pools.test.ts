import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actionTypes } from '../../jobs/actions.ts';
import { jettonMovements, type Movement } from '../support/books/books-of-accounts.ts';
import { dayOf, groupBy, sum } from '../support/books/facts.ts';
import {
  decimalsOf,
  legsOf,
  rawPrice,
  tonPrice,
  tradedBy,
  type Stables,
  type TradeLeg,
} from '../support/books/books-of-trades.ts';
import {
  openCrawledStore,
  type CrawledNetwork,
  type CrawledStore,
} from '../support/database/crawled-store.ts';
import { roundedValue, type Value } from '../support/lake-values.ts';
import { isThorough } from '../support/thorough.ts';
import { twoDays } from '../support/two-days.ts';

/* Compares what pools of exchanges hold and are worth by day with what the API's JSON gives without SQL. */

const START = Date.UTC(2026, 0, 31, 23, 30) / 1000;
const NETWORKS: readonly CrawledNetwork[] = [
  twoDays,
  { name: 'pools_busy', options: { seed: 11, start: START, duration: 3600, load: 3, accounts: 200 } },
  {
    name: 'pools_many',
    options: { seed: 23, start: START, duration: 3600, load: 3, accounts: 520, refusals: 0.05 },
  },
];

/** What the API says of a withdrawal. */
interface Withdrawn {
  readonly pool: string;
  readonly utime: number;
  readonly lt: bigint;
  readonly burned: bigint;
  readonly amounts: ReadonlyMap<string, bigint>;
}

type Details = Readonly<Record<string, string | boolean | null | undefined>>;

/** What a share of a pool is of a supply, rounded half up. */
const scaled = (amount: bigint, supply: bigint, burned: bigint) =>
  (2n * amount * supply + burned) / (2n * burned);

describe.each(isThorough ? NETWORKS : NETWORKS.slice(0, 1))('pools of $name', (network) => {
  let store: CrawledStore;
  let legs: TradeLeg[];
  let traded: ReturnType<typeof tradedBy>;
  let movements: Movement[];
  let masters: ReadonlySet<string>;
  let decimals: ReadonlyMap<string, number>;
  let stables: Stables;

  beforeAll(async () => {
    store = await openCrawledStore(network);
    const all = legsOf(store.truth, store.span);
    legs = all.filter(
      ({ pool, sold, bought }) => pool !== null && sold.asset !== null && bought.asset !== null,
    );
    movements = jettonMovements(store.truth, store.span);
    masters = new Set(
      store.truth
        .entities()
        .jettonMasters()
        .map(({ address }) => address),
    );
    await store.ask('delete from ton.token_metadata');
    decimals = decimalsOf(store.truth.entities().jettonMasters());
    const sold = legs.flatMap((leg) =>
      leg.sold.asset === 'TON' && leg.bought.asset !== null && decimals.has(leg.bought.asset)
        ? [leg.bought.asset]
        : [],
    );
    const [stable = ''] =
      [...groupBy(sold, (asset) => asset)].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
    stables = new Map([[stable, decimals.get(stable) ?? 9]]);
    traded = tradedBy(all, stables, ({ utime }) => dayOf(utime));
    await store.ask(`insert into etl.stable_jettons values ('${stable}', 'USDX', ${decimals.get(stable)})`);
  });
  afterAll(() => store.close());

  const places = (asset: string) => (asset === 'TON' ? 9 : decimals.get(asset));
  const units = (asset: string, raw: bigint | null) => {
    const known = places(asset);
    return raw === null || known === undefined ? null : Number(`${raw}e-${known}`);
  };
  const endOf = (day: string) => Date.parse(`${day}T00:00:00Z`) / 1000 + 86_400;

  /** Prices of a whole unit of an asset on a day, in TON and USD. */
  function pricesOf(day: string) {
    const assets = traded.get(day);
    const usd = tonPrice(assets);
    const inTon = (asset: string): number | null => {
      const raw = asset === 'TON' ? 1e-9 : rawPrice(assets?.get(asset), usd);
      const known = stables.get(asset) ?? places(asset);
      return raw === undefined || known === undefined ? null : raw * 10 ** known;
    };
    const inUsd = (asset: string): number | null => {
      const ton = inTon(asset);
      if (stables.has(asset)) return 1;
      return ton === null || usd === undefined ? null : ton * usd;
    };
    return { inTon, inUsd };
  }

  /** LP tokens that a pool has minted and that were not burned up to a moment; null if it is no master. */
  function supplyOf(pool: string, until: number): bigint | null {
    if (!masters.has(pool)) return null;
    const own = movements.filter(
      ({ jetton, kind, utime }) => jetton === pool && ['minted', 'burned'].includes(kind) && utime < until,
    );
    return sum(own.map(({ amount }) => amount));
  }

  function withdrawals(): Withdrawn[] {
    return [...store.truth.actions(store.span, actionTypes)].flatMap((action) => {
      const details = action.details as Details;
      if (action.type !== 'dex_withdraw_liquidity' || action.success === false) return [];
      const side = (place: 1 | 2) => {
        const asset = details[`user_jetton_wallet_${place}`] === null ? 'TON' : details[`asset_${place}`];
        return [String(asset), BigInt(String(details[`amount_${place}`]))] as const;
      };
      return [
        {
          pool: String(details['pool']),
          utime: action.trace_end_utime,
          lt: BigInt(action.end_lt),
          burned: BigInt(String(details['lp_tokens_burnt'])),
          amounts: new Map([side(1), side(2)]),
        },
      ];
    });
  }

  /** What a pool holds of a jetton: all that came since the network began, less what it gave. */
  function heldOf(pool: string, jetton: string, until: number): bigint {
    const moved = movements.filter(
      (one) => one.account === pool && one.jetton === jetton && one.utime < until,
    );
    return sum(moved.map(({ amount }) => amount));
  }

  /** The coins of a pool: its last withdrawal of the day is a share of them, and the swaps since then add to them. */
  function coinsOf(pool: string, day: string, all: readonly TradeLeg[]): bigint | null {
    const supply = supplyOf(pool, endOf(day));
    const last = withdrawals()
      .filter((one) => one.pool === pool && dayOf(one.utime) === day)
      .sort((a, b) => a.utime - b.utime || Number(a.lt - b.lt))
      .at(-1);
    if (supply === null || last === undefined) return null;
    const since = all
      .filter(({ utime }) => utime > last.utime)
      .map(({ sold, bought }) => (sold.asset === 'TON' ? BigInt(sold.text) : -BigInt(bought.text)));
    return scaled(last.amounts.get('TON') ?? 0n, supply, last.burned) + sum(since);
  }

  const pairOf = ({ sold, bought }: TradeLeg) => [String(sold.asset), String(bought.asset)].sort();

  function expectedRows(): Record<string, Value>[] {
    const markets = groupBy(legs, (leg) => [dayOf(leg.utime), leg.pool, ...pairOf(leg)].join(' '));
    return [...markets].map(([key, all]) => {
      const [day = '', pool = '', one = '', two = ''] = key.split(' ');
      const { inTon, inUsd } = pricesOf(day);
      const reserve = (asset: string) =>
        asset === 'TON' ? coinsOf(pool, day, all) : heldOf(pool, asset, endOf(day));
      const [first, second] = [reserve(one), reserve(two)];
      const worth = (price: (asset: string) => number | null): number | null => {
        const sides = [
          [units(one, first), price(one)],
          [units(two, second), price(two)],
        ] as const;
        return sides.reduce<number | null>(
          (whole, [held, each]) =>
            whole === null || held === null || each === null ? null : whole + held * each,
          0,
        );
      };
      const [ton, usd] = [worth(inTon), worth(inUsd)];
      const supply = supplyOf(pool, endOf(day));
      return {
        key,
        reserve_1_raw: first === null ? null : String(first),
        reserve_2_raw: second === null ? null : String(second),
        reserve_1: units(one, first),
        reserve_2: units(two, second),
        lp_supply_raw: supply === null ? null : String(supply),
        tvl_ton: ton === null ? null : Number(ton.toFixed(9)),
        tvl_usd: usd === null ? null : Number(usd.toFixed(6)),
        lp_price_ton: ton === null || supply === null ? null : (ton / Number(supply)) * 1e9,
      };
    });
  }

  const sorted = (rows: readonly Readonly<Record<string, Value>>[]) =>
    rows
      .map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, roundedValue(value, 7)])),
      )
      .sort((a, b) => (String(a['key']) < String(b['key']) ? -1 : 1));

  test('dex_pools has their reserves, LP tokens and worth at the end of each day', async () => {
    const rows = await store.ask(
      `select concat_ws(' ', day, pool, asset_1, asset_2) as key, reserve_1_raw, reserve_2_raw, reserve_1, reserve_2, lp_supply_raw,
         tvl_ton, tvl_usd, lp_price_ton from dex_pools`,
    );
    const expected = expectedRows();
    expect(sorted(rows)).toEqual(sorted(expected));
    for (const name of ['reserve_2_raw', 'lp_supply_raw', 'tvl_ton', 'tvl_usd', 'lp_price_ton'])
      expect([name, expected.some((row) => row[name] !== null)]).toEqual([name, true]);
  });

  test('what the pools hold agrees with the balances that the API lists, to the last unit', () => {
    const wallets = store.truth.entities().jettonWallets();
    const pools = new Set(legs.map(({ pool }) => pool));
    const held = wallets.filter(({ owner }) => pools.has(owner));
    expect(held.length).toBeGreaterThan(pools.size / 2);
    for (const { owner, jetton, balance } of held)
      expect([owner, jetton, balance]).toEqual([owner, jetton, String(heldOf(owner, jetton, Infinity))]);
    for (const { address, total_supply } of store.truth.entities().jettonMasters())
      if (pools.has(address))
        expect([address, total_supply]).toEqual([address, String(supplyOf(address, Infinity))]);
  });
});
