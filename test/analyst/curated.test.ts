import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jettonMovements, ledger, refusedTransfers } from '../support/books/books-of-accounts.ts';
import { dayOf, groupBy, phases, sum } from '../support/books/facts.ts';
import {
  decimalsOf,
  legsOf,
  rawPrice,
  tonPrice,
  tradedBy,
  type Stables,
  type TradeLeg,
  type Traded,
} from '../support/books/books-of-trades.ts';
import { openCrawledStore, type CrawledStore, type Printed } from '../support/database/crawled-store.ts';
import { roundedValue, type Value } from '../support/lake-values.ts';
import { twoDays } from '../support/two-days.ts';

/* Compares the curated views with what the API's JSON gives without SQL. */

let store: CrawledStore;
let legs: TradeLeg[];
let decimals: ReadonlyMap<string, number>;
/** The jetton that was traded most for TON: it counts as a dollar here. */
let stables: Stables;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  legs = legsOf(store.truth, store.span);
  const masters = store.truth.entities().jettonMasters();
  const own = decimalsOf(masters);
  // The content of one of these jettons is off-chain, so its metadata comes from the indexer.
  const offChain = legs
    .map(({ sold }) => sold.asset)
    .find((asset) => masters.some(({ address }) => address === asset) && !own.has(asset ?? ''));
  await store.ask('delete from ton.token_metadata');
  await store.ask(
    `insert into ton.token_metadata (address, is_indexed, decimals) values ('${String(offChain)}', true, 6)`,
  );
  decimals = new Map([...own, [String(offChain), 6]]);
  const traded = legs.flatMap(({ sold, bought }) =>
    sold.asset === 'TON' && bought.asset !== null && decimals.has(bought.asset) ? [bought.asset] : [],
  );
  const [stable = ''] =
    [...groupBy(traded, (asset) => asset)].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
  stables = new Map([[stable, decimals.get(stable) ?? 9]]);
  await store.ask(
    `insert into etl.stable_jettons values ('${stable}', 'USDX', ${String(stables.get(stable))})`,
  );
});
afterAll(() => store.close());

const inOrder = (rows: readonly Readonly<Record<string, Value>>[]) =>
  rows
    .map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, roundedValue(value)])))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

async function expectRows(
  statement: string,
  expected: readonly Readonly<Record<string, Value>>[],
): Promise<Printed[]> {
  expect(expected.length).toBeGreaterThan(0);
  const rows = await store.ask(statement);
  expect(inOrder(rows)).toEqual(inOrder(expected));
  return rows;
}

const unit = (asset: string | null) =>
  asset === 'TON' ? 9 : asset === null ? undefined : decimals.get(asset);
const units = (asset: string | null, raw: string | bigint) => {
  const places = unit(asset);
  return places === undefined ? null : Number(`${raw}e-${places}`);
};

describe('trades', () => {
  const byHour = ({ hour }: TradeLeg) => String(hour);
  const byDay = ({ utime }: TradeLeg) => dayOf(utime);

  /**
   * The price of TON in an hour, or on its day if that hour has none, and the price of a smallest unit in
   * that hour.
   */
  function prices() {
    const [hours, days] = [tradedBy(legs, stables, byHour), tradedBy(legs, stables, byDay)];
    const tonUsd = (hour: number) => tonPrice(hours.get(String(hour))) ?? tonPrice(days.get(dayOf(hour)));
    return { hours, days, tonUsd };
  }

  test('dex_trades has every leg of every successful swap, with its value', async () => {
    const { hours, days, tonUsd } = prices();
    const referrals = new Map<string, string>();
    for (const order of store.truth.jettonTransfers(store.span)) {
      const referral = referralOf(order);
      if (referral !== undefined) referrals.set(order.trace_id ?? '', referral);
    }
    const rows = await expectRows(
      `select extract(epoch from block_time)::int8 as utime, day, dex || '_v' || version as dex, router, trader, pool, sold_asset, sold_amount,
         bought_asset, bought_amount, leg, legs, trace_id, lt, volume_ton, volume_usd, referral from dex_trades`,
      legs.map(({ action, utime, hour, trader, pool, leg, legs: count, sold, bought }) => {
        const { dex, dex_incoming_transfer: came } = action.details;
        const usd = tonUsd(hour);
        const stable = [sold, bought].find(({ asset }) => asset !== null && stables.has(asset));
        const dollars =
          stable === undefined ? undefined : stable.raw / 10 ** (stables.get(stable.asset ?? '') ?? 0);
        const day = days.get(dayOf(utime));
        const ofHour = ({ asset }: typeof sold) => rawPrice(hours.get(String(hour))?.get(asset ?? ''), usd);
        const ofDay = ({ asset }: typeof sold) => rawPrice(day?.get(asset ?? ''), tonPrice(day));
        const priced = [ofHour, ofDay].flatMap((priceOf) =>
          [sold, bought].flatMap((side) => {
            const price = priceOf(side);
            return price === undefined ? [] : [price * side.raw];
          }),
        )[0];
        const own = sold.asset === 'TON' ? sold : bought.asset === 'TON' ? bought : undefined;
        const ton =
          own !== undefined
            ? own.raw / 1e9
            : dollars !== undefined && usd !== undefined
              ? dollars / usd
              : priced;
        // Dollars are those of whole nanotons.
        const volume =
          dollars ?? (ton === undefined || usd === undefined ? undefined : Number(ton.toFixed(9)) * usd);
        return {
          utime,
          day: dayOf(utime),
          dex: /_v\d$/.test(dex) ? dex : `${dex}_v1`,
          router: came.destination,
          trader,
          pool,
          sold_asset: sold.asset,
          sold_amount: units(sold.asset, sold.text),
          bought_asset: bought.asset,
          bought_amount: units(bought.asset, bought.text),
          leg,
          legs: count,
          trace_id: action.trace_id,
          lt: action.start_lt,
          volume_ton: ton === undefined ? null : Number(ton.toFixed(9)),
          volume_usd: volume === undefined ? null : Number(volume.toFixed(6)),
          referral: referrals.get(action.trace_id) ?? null,
        };
      }),
    );
    for (const name of ['volume_ton', 'volume_usd', 'sold_amount', 'referral'] as const)
      expect([name, rows.some((row) => row[name] !== null)]).toEqual([name, true]);
    // Neither unknown decimals nor unknown assets are guessed.
    expect(rows.some((row) => row['sold_amount'] === null || row['bought_amount'] === null)).toBe(true);
    expect(rows.some(({ leg }) => leg === '1')).toBe(true);
  });

  test('hourly_prices and daily_prices are what was paid for a whole unit', async () => {
    const { hours, days, tonUsd } = prices();
    const rowsOf = (assets: ReadonlyMap<string, Traded>, usd: number | undefined) =>
      [...assets].map(([asset, traded]) => {
        const raw = asset === 'TON' ? 1e-9 : rawPrice(traded, usd);
        const places = stables.get(asset) ?? unit(asset);
        const price = raw === undefined || places === undefined ? null : raw * 10 ** places;
        const worth = traded.ton + (usd === undefined ? 0 : traded.usd / usd);
        return {
          asset,
          price_ton: price,
          price_usd: stables.has(asset) ? 1 : price === null || usd === undefined ? null : price * usd,
          volume_ton: Number(worth.toFixed(9)),
          volume_usd: usd === undefined ? null : Number((worth * usd).toFixed(6)),
          trades: traded.trades,
          traders: traded.traders.size,
          is_liquid: traded.trades >= 100 && traded.traders.size >= 10,
          certified: false,
        };
      });
    const columns =
      'asset, price_ton, price_usd, volume_ton, volume_usd, trades, traders, is_liquid, certified';
    await expectRows(
      `select day, ${columns} from daily_prices`,
      [...days].flatMap(([day, assets]) => rowsOf(assets, tonPrice(assets)).map((row) => ({ day, ...row }))),
    );
    await expectRows(
      `select day, extract(epoch from hour)::int8 as hour, ${columns} from hourly_prices`,
      [...hours].flatMap(([hour, assets]) =>
        rowsOf(assets, tonUsd(Number(hour))).map((row) => ({ day: dayOf(Number(hour)), hour, ...row })),
      ),
    );
  });

  test('dex_pools adds the legs of each pool and pair by day', async () => {
    const known = legs.flatMap(({ action, pool, utime, trader, sold, bought }) => {
      if (pool === null || sold.asset === null || bought.asset === null) return [];
      const [first, second] = sold.asset < bought.asset ? [sold, bought] : [bought, sold];
      const gained = (side: typeof sold) => (side === sold ? BigInt(side.text) : -BigInt(side.text));
      const key = [dayOf(utime), pool, first.asset, second.asset, action.details.dex].join(' ');
      return [{ key, trader, gained_1: gained(first), gained_2: gained(second) }];
    });
    await expectRows(
      `select concat_ws(' ', day, pool, asset_1, asset_2, dex || case when version <> '1' then '_v' || version else '' end) as key, trades, traders,
         gained_1_raw as gained_1, gained_2_raw as gained_2 from dex_pools`,
      [...groupBy(known, ({ key }) => key)].map(([key, all]) => ({
        key,
        trades: all.length,
        traders: new Set(all.map(({ trader }) => trader)).size,
        gained_1: sum(all.map((one) => one.gained_1)),
        gained_2: sum(all.map((one) => one.gained_2)),
      })),
    );
    await expectRows(
      `select sum(trades) as trades, sum(volume_ton) as ton, sum(volume_usd) as usd from dex_pools`,
      await store.ask(
        `select count(*) as trades, sum(volume_ton) as ton, sum(volume_usd) as usd from dex_trades
         where pool is not null and sold_asset is not null and bought_asset is not null`,
      ),
    );
  });

  test('the sums agree: what is traded by day is what the legs are worth', async () => {
    await expectRows(
      `select day, sum(volume_ton) as ton, count(*) as legs from dex_trades
       where sold_asset = 'TON' and bought_asset <> 'TON' or bought_asset = 'TON' and sold_asset <> 'TON' group by 1`,
      await store.ask(
        `select day, sum(volume_ton) as ton, sum(trades) as legs from (
           select day, nano_to_ton(ton) as volume_ton, trades from daily_trades where usd is null
           union all
           select day, nano_to_ton(t.ton), (select count(*) from dex_trades x
             where x.day = t.day and (t.asset, 'TON') in ((x.sold_asset, x.bought_asset), (x.bought_asset, x.sold_asset)))
           from daily_trades t where usd is not null and ton is not null) t group by 1`,
      ),
    );
  });
});

test('jetton_events has transfers, mints and burns in one view, and its sums agree', async () => {
  const { truth, span } = store;
  const refused = refusedTransfers(store.truth);
  const transfers = [...truth.jettonTransfers(span)].map((each) => ({
    type: 'transfer',
    jetton_master: each.jetton_master,
    source: each.source,
    destination: each.destination,
    amount: units(each.jetton_master, each.amount),
    comment: (each.decoded_forward_payload as { comment?: string } | null)?.comment ?? null,
    query_id: each.query_id,
    is_aborted: each.transaction_aborted || refused.has(each.transaction_hash),
    transaction_hash: each.transaction_hash,
    trace_id: each.trace_id,
  }));
  const burns = [...truth.jettonBurns(span)].map((each) => ({
    type: 'burn',
    jetton_master: each.jetton_master,
    source: each.owner,
    destination: null,
    amount: units(each.jetton_master, each.amount),
    comment: null,
    query_id: each.query_id,
    is_aborted: each.transaction_aborted,
    transaction_hash: each.transaction_hash,
    trace_id: each.trace_id,
  }));
  const sent = new Map([...truth.transactions(span)].map((each) => [each.hash, each]));
  const mints = jettonMovements(truth, span)
    .filter(({ kind }) => kind === 'minted')
    .map(({ jetton, account, amount, txHash, lt }) => {
      const transaction = sent.get(txHash ?? '');
      const message = transaction?.out_msgs.find(({ created_lt }) => created_lt === String(lt));
      const { query_id } = message?.message_content.decoded as { query_id: string };
      return {
        type: 'mint',
        jetton_master: jetton,
        source: null,
        destination: account,
        amount: units(jetton, amount),
        comment: null,
        query_id,
        is_aborted: false,
        transaction_hash: txHash,
        trace_id: transaction?.trace_id,
      };
    });
  const rows = await expectRows(
    `select type, jetton_master, source, destination, amount, comment, query_id, is_aborted, transaction_hash, trace_id from jetton_events`,
    [...transfers, ...burns, ...mints],
  );
  for (const type of ['transfer', 'burn', 'mint'])
    expect(rows.some((row) => row['type'] === type)).toBe(true);
  expect(rows.some(({ type, is_aborted }) => type === 'transfer' && is_aborted === 't')).toBe(true);
  await expectRows(
    `select jetton_master, sum(case type when 'mint' then amount_raw when 'burn' then -amount_raw end)::text as supply
     from jetton_events where type <> 'transfer' and not is_aborted group by 1`,
    (
      await store.ask(
        `select asset as jetton_master, sum(balance_raw)::text as supply from daily_balances
       where asset <> 'TON' and day = (select max(day) from daily_balances) group by 1`,
      )
    ).filter(({ jetton_master }) => [...burns, ...mints].some((one) => one.jetton_master === jetton_master)),
  );
});

/** The account that the order of a swap names as its referral. */
function referralOf({ decoded_forward_payload: order }: { decoded_forward_payload: object | null }) {
  const { referral_address: named } = (order ?? {}) as { referral_address?: { value?: { address: string } } };
  return named?.value === undefined ? undefined : `0:${named.value.address}`;
}

test('account_activity has when and by whom each account was created, and what it did', async () => {
  const labelled = [...store.truth.transactions(store.span)][0]?.account ?? '';
  await store.ask(
    `insert into etl.labels (address, label, category, imported_from) values ('${labelled}', 'Hot wallet', 'CEX', 'test.csv')`,
  );
  const named = [...store.truth.transactions(store.span)].at(-1)?.account ?? '';
  await store.ask('delete from ton.address_book');
  await store.ask(
    `insert into ton.address_book (address, domain, interfaces) values ('${named}', 'own.ton', '{wallet_v5r1}')`,
  );
  const rows = await expectRows(
    `select account, label, interfaces, category, extract(epoch from first_seen)::int8 as first_seen, extract(epoch from last_seen)::int8 as last_seen,
       is_whole, extract(epoch from deployed_at)::int8 as deployed_at, deployed_by, first_funder, transactions, aborted, active_days, fees
     from account_activity`,
    [...groupBy(store.truth.transactions(store.span), ({ account }) => account)].map(([account, all]) => {
      const own = all.sort((a, b) => Number(BigInt(a.lt) - BigInt(b.lt)));
      const deployed = own.find(
        ({ orig_status, end_status }) =>
          orig_status !== 'active' && orig_status !== 'frozen' && end_status === 'active',
      );
      const funded = own.find(
        (each) =>
          each.in_msg?.source != null &&
          BigInt(each.in_msg.value ?? 0) > 0n &&
          each.in_msg.bounced !== true &&
          phases(each).bounce?.type !== 'ok',
      );
      return {
        account,
        label: account === labelled ? 'Hot wallet' : account === named ? 'own.ton' : null,
        interfaces: account === named ? '{wallet_v5r1}' : null,
        category: account === labelled ? 'CEX' : null,
        first_seen: own[0]?.now,
        last_seen: own.at(-1)?.now,
        is_whole: own.some(({ prev_trans_lt }) => prev_trans_lt === '0'),
        deployed_at: deployed?.now,
        deployed_by: deployed?.in_msg?.source,
        first_funder: funded?.in_msg?.source,
        transactions: own.length,
        aborted: own.filter((each) => phases(each).aborted).length,
        active_days: new Set(own.map(({ now }) => dayOf(now))).size,
        fees: Number(sum(own.map(({ total_fees }) => total_fees))) / 1e9,
      };
    }),
  );
  for (const name of ['deployed_by', 'first_funder'] as const)
    expect([name, rows.some((row) => row[name] !== null)]).toEqual([name, true]);
});

describe('balances', () => {
  interface Held {
    readonly account: string;
    readonly asset: string;
    readonly utime: number;
    readonly lt: string;
    readonly step: number;
    readonly after: bigint;
    readonly before: bigint | null;
  }

  /** Every change of every balance, in order. */
  function changes(): Held[] {
    const coins = [...store.truth.transactions(store.span)].flatMap(
      ({ account, now, lt, account_state_before: before, account_state_after: after }): Held[] =>
        after.balance === null
          ? []
          : [
              {
                account,
                asset: 'TON',
                utime: now,
                lt,
                step: 0,
                after: BigInt(after.balance),
                before: before.balance === null ? null : BigInt(before.balance),
              },
            ],
    );
    const jettons = ledger(store.truth, store.span)
      .filter(({ jetton, account }) => jetton !== '' && account !== '')
      .map(({ account, jetton, utime, lt, step, amount, balance }) => {
        return {
          account,
          asset: jetton,
          utime,
          lt: String(lt),
          step,
          after: balance,
          before: balance - amount,
        };
      });
    return [...coins, ...jettons];
  }

  test('balances has each balance before and after each change', async () => {
    await expectRows(
      `select account, asset, extract(epoch from block_time)::int8 as utime, lt, step, balance_before_raw::text, balance_raw::text, balance
       from balances`,
      changes().map(({ account, asset, utime, lt, step, after, before }) => ({
        account,
        asset,
        utime,
        lt,
        step,
        balance_before_raw: before,
        balance_raw: after,
        balance: units(asset, after),
      })),
    );
  });

  test('daily_balances carries balances on, and its sums agree: supply is what was minted minus what was burned', async () => {
    const last = dayOf(Math.max(...changes().map(({ utime }) => utime)));
    const expected = [...groupBy(changes(), ({ account, asset }) => `${account} ${asset}`).values()].flatMap(
      (all) => {
        const days = new Map(all.map((each) => [dayOf(each.utime), each]));
        const filled: { day: string; held: Held; has_changed: boolean }[] = [];
        for (const day of ['2026-01-31', '2026-02-01'].filter((one) => one <= last)) {
          const held = days.get(day) ?? filled.at(-1)?.held;
          if (held !== undefined) filled.push({ day, held, has_changed: days.has(day) });
        }
        return filled.map(({ day, held, has_changed }) => ({
          day,
          account: held.account,
          asset: held.asset,
          balance_raw: held.after,
          has_changed,
        }));
      },
    );
    const rows = await expectRows(
      'select day, account, asset, balance_raw, has_changed from daily_balances',
      expected,
    );
    expect(rows.some(({ has_changed }) => has_changed === 'f')).toBe(true);
    const movements = jettonMovements(store.truth, store.span).filter(({ account }) => account !== '');
    const supplies = [...groupBy(movements, ({ jetton }) => jetton)].map(([asset, all]) => ({
      asset,
      supply: sum(
        all.filter(({ kind }) => kind === 'minted' || kind === 'burned').map(({ amount }) => amount),
      ),
    }));
    await expectRows(
      `select asset, sum(balance_raw)::text as supply from daily_balances where day = '${last}' and asset <> 'TON' group by 1`,
      supplies,
    );
  });
});
