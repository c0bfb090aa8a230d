import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEngine } from '../../src/lake/engine.ts';
import { openLakeReader, viewsIn } from '../../src/lake/open-lake-reader.ts';
import { packageRoot } from '../../src/package.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { dayOf, groupBy } from '../support/books/facts.ts';
import {
  decimalsOf,
  legsOf,
  rawPrice,
  tonPrice,
  tradedBy,
  type Stables,
  type SwapDetails,
  type TradeLeg,
  type Traded,
} from '../support/books/books-of-trades.ts';
import { openCrawledStore, type CrawledStore, type Printed } from '../support/database/crawled-store.ts';
import { exported } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';

/* What the curated views say is compared with what the API's JSON comes to without SQL. */

let store: CrawledStore;
let legs: TradeLeg[];
let decimals: ReadonlyMap<string, number>;
/** The jetton that was traded for TON most: it counts as a dollar here. */
let stables: Stables;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  legs = legsOf(store.truth, store.span);
  const masters = store.truth.entities().jettonMasters();
  const own = decimalsOf(masters);
  // One of those whose content lies off chain is known by the metadata of the indexer.
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

type Value = string | number | bigint | boolean | null | undefined;

/** A number to nine digits, a list in brackets, all else as Postgres prints it. */
function plain(value: Value): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 't' : 'f';
  const text = String(value);
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text).toPrecision(9);
  return text.replace(/^\{([\d,]*)\}$/, '[$1]');
}

const inOrder = (rows: readonly Readonly<Record<string, Value>>[]) =>
  rows
    .map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])))
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
const units = (asset: string | null, raw: number) => {
  const places = unit(asset);
  return places === undefined ? null : raw / 10 ** places;
};

describe('trades', () => {
  const byHour = ({ hour }: TradeLeg) => String(hour);
  const byDay = ({ utime }: TradeLeg) => dayOf(utime);

  /** Price of TON in an hour, or on its day, and of a smallest unit in that hour. */
  function prices() {
    const [hours, days] = [tradedBy(legs, stables, byHour), tradedBy(legs, stables, byDay)];
    const tonUsd = (hour: number) => tonPrice(hours.get(String(hour))) ?? tonPrice(days.get(dayOf(hour)));
    const isPriced = (hour: number, asset: string | null) =>
      asset !== null && hours.get(String(hour))?.has(asset) === true;
    return { hours, days, tonUsd, isPriced };
  }

  test('dex_trades has every leg of every successful swap, with its value', async () => {
    const { hours, tonUsd, isPriced } = prices();
    const rows = await expectRows(
      `select extract(epoch from block_time)::int8 as utime, day, dex || '_v' || version as dex, router, trader, sold_asset, sold_amount,
         bought_asset, bought_amount, leg, legs, trace_id, volume_ton, volume_usd from dex_trades`,
      legs.map(({ action, utime, hour, trader, leg, legs: count, sold, bought }) => {
        const {
          dex,
          dex_incoming_transfer: came,
          dex_outgoing_transfer: went,
        } = action.details as SwapDetails;
        const usd = isPriced(hour, sold.asset) || isPriced(hour, bought.asset) ? tonUsd(hour) : undefined;
        const stable = [sold, bought].find(({ asset }) => asset !== null && stables.has(asset));
        const dollars =
          stable === undefined ? undefined : stable.raw / 10 ** (stables.get(stable.asset ?? '') ?? 0);
        const priced = [sold, bought].flatMap(({ asset, raw }) => {
          const price = rawPrice(hours.get(String(hour))?.get(asset ?? ''), tonUsd(hour));
          return price === undefined ? [] : [price * raw];
        })[0];
        const own = sold.asset === 'TON' ? sold : bought.asset === 'TON' ? bought : undefined;
        const ton =
          own !== undefined
            ? own.raw / 1e9
            : dollars !== undefined && usd !== undefined
              ? dollars / usd
              : priced;
        const volume = dollars ?? (ton === undefined || usd === undefined ? undefined : ton * usd);
        return {
          utime,
          day: dayOf(utime),
          dex: /_v\d$/.test(dex) ? dex : `${dex}_v1`,
          router: came.destination ?? went.source,
          trader,
          sold_asset: sold.asset,
          sold_amount: units(sold.asset, sold.raw),
          bought_asset: bought.asset,
          bought_amount: units(bought.asset, bought.raw),
          leg,
          legs: count,
          trace_id: action.trace_id,
          volume_ton: ton === undefined ? null : Number(ton.toFixed(9)),
          volume_usd: volume === undefined ? null : Number(volume.toFixed(6)),
        };
      }),
    );
    for (const name of ['volume_ton', 'volume_usd', 'sold_amount'] as const)
      expect([name, rows.some((row) => row[name] !== null), rows.some((row) => row[name] === null)]).toEqual([
        name,
        true,
        true,
      ]);
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
          price_usd: price === null || usd === undefined ? null : price * usd,
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

  test('the sums close: what is traded by day is what the legs are worth', async () => {
    await expectRows(
      `select day, sum(volume_ton) as ton, count(*) as legs from dex_trades
       where sold_asset = 'TON' and bought_asset <> 'TON' or bought_asset = 'TON' and sold_asset <> 'TON' group by 1`,
      (await store.ask(
        `select day, sum(volume_ton) as ton, sum(trades) as legs from (
           select day, nano_to_ton(ton) as volume_ton, trades from daily_trades where usd is null
           union all
           select day, nano_to_ton(t.ton), (select count(*) from dex_trades x
             where x.day = t.day and (t.asset, 'TON') in ((x.sold_asset, x.bought_asset), (x.bought_asset, x.sold_asset)))
           from daily_trades t where usd is not null and ton is not null) t group by 1`,
      )) as Readonly<Record<string, Value>>[],
    );
  });
});

test('a lake says the same as the database: every view', async () => {
  const database = await openDatabase({ url: store.url, applicationName: 'curated' });
  const [engine, directory] = [await openEngine(), await mkdtemp(join(tmpdir(), 'toncenter-etl-curated-'))];
  try {
    const span = { from: '2026-01-31', to: '2026-02-02', only: ['all'] };
    expect((await exported(store.url, { ...span, out: directory, format: 'parquet' })).code).toBe(0);
    const list = await store.ask(
      `select format('(%L, %L, %s)', address, symbol, decimals) as row from etl.stable_jettons`,
    );
    await engine.ask(
      `create schema etl; create table etl.stable_jettons as
       select * from (values ${list.map(({ row }) => row).join(', ')}) v (address, symbol, decimals)`,
    );
    const askLake = await openLakeReader(engine, directory);
    const different: string[] = [];
    for (const name of await viewNames()) {
      const statement = `select * from ${name}`;
      const { columns, rows } = await runSql(database, statement, { write: false });
      const ofLake = await askLake(statement);
      expect(ofLake.columns, name).toEqual(columns);
      const [here, there] = [rows, ofLake.rows].map((all) =>
        all.map((row) => JSON.stringify(row.map(plain))).sort(),
      );
      if (JSON.stringify(here) !== JSON.stringify(there))
        different.push(
          `${name}: ${here?.find((row) => !there?.includes(row))} / ${there?.find((row) => !here?.includes(row))}`,
        );
    }
    expect(different).toEqual([]);
  } finally {
    await engine.close();
    await database.close();
    await rm(directory, { recursive: true });
  }
});

/** Views and reports of schema ton that analysts have over a lake, too. */
async function viewNames(): Promise<string[]> {
  const files = ['analyst.sql', 'curated.sql'].map((name) =>
    readFile(join(packageRoot, 'migrations', name), 'utf8'),
  );
  return viewsIn((await Promise.all(files)).join('\n'))
    .map(({ name }) => name.replace(/^etl\.open_/, 'ton.'))
    .filter((name) => name.startsWith('ton.') && name !== 'ton.days');
}
