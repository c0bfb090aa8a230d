import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actionTypes } from '../../jobs/actions.ts';
import { dayOf, groupBy } from '../support/books/facts.ts';
import {
  askAfter,
  openCrawledStore,
  put,
  type CrawledStore,
  type Printed,
} from '../support/database/crawled-store.ts';
import { twoDays } from '../support/two-days.ts';

/* Compares swaps, liquidity and values of staking tokens with what the API's JSON gives without SQL. */

let store: CrawledStore;
beforeAll(async () => {
  store = await openCrawledStore(twoDays);
});
afterAll(() => store.close());

describe('dex_liquidity', () => {
  type Details = Readonly<Record<string, string | boolean | null | undefined>>;
  const CHANGES = /^dex_(deposit|withdraw)_liquidity$/;

  /** The asset of one side. The exchanges differ in what they name: stonfi its proxy of TON, the others no TON. */
  function assetOf({ dex, ...details }: Details, side: 1 | 2): string | null {
    const named = details[`asset_${side}`];
    if (named != null) return String(named);
    if (details[`amount_${side}`] == null || dex === 'stonfi') return null;
    const isTon = dex === 'stonfi_v2' || dex === 'tonco' || details[`user_jetton_wallet_${side}`] == null;
    return isTon ? 'TON' : null;
  }

  test('has every deposit and withdrawal that came to pass', async () => {
    const made = [...store.truth.actions(store.span, actionTypes)].filter(
      ({ type, success, details }) =>
        CHANGES.test(type) && success !== false && (details as Details)['is_refund'] !== true,
    );
    const proxies = new Set(
      (await store.ask('select address from ton_proxies')).map(({ address }) => address),
    );
    const expected = made.map(({ type, details: all, action_id, trace_end_utime }) => {
      const details = all as Details;
      const side = (number: 1 | 2) => {
        const asset = assetOf(details, number);
        return [asset !== null && proxies.has(asset) ? 'TON' : asset, details[`amount_${number}`] ?? null];
      };
      const [, name, version = '1'] = /^(.*?)(?:_v(\d+))?$/.exec(String(details['dex'])) ?? [];
      return [
        action_id,
        dayOf(trace_end_utime),
        type === 'dex_deposit_liquidity' ? 'deposit' : 'withdrawal',
        ...[name, version, details['pool'], details['source']],
        ...[...side(1), ...side(2)],
        details['lp_tokens_minted'] ?? details['lp_tokens_burnt'] ?? null,
        details['nft_address'] ?? details['burnt_nft_address'] ?? null,
      ];
    });
    expect(expected.length).toBeGreaterThan(0);
    const rows =
      await store.ask(`select action_id, day, type, dex, version, pool, provider, asset_1, amount_1_raw, asset_2, amount_2_raw,
      lp_amount_raw, position_address from dex_liquidity`);
    const inOrder = (all: readonly unknown[]) => all.map((row) => JSON.stringify(row)).sort();
    expect(inOrder(rows.map((row) => Object.values(row)))).toEqual(inOrder(expected));
  });

  test('is worth both sides at the prices of the day, or nothing is said', async () => {
    const prices = new Map(
      (await store.ask('select day, asset, price_ton from daily_prices where price_ton is not null')).map(
        ({ day, asset, price_ton }) => [`${String(day)} ${String(asset)}`, Number(price_ton)],
      ),
    );
    const rows =
      await store.ask(`select day, asset_1, amount_1, amount_1_raw, asset_2, amount_2, amount_2_raw, value_ton,
      trim_scale(jetton_units(pool, lp_amount_raw)) as lp, trim_scale(lp_amount) as lp_amount from dex_liquidity`);
    const worth = (row: Printed, side: 1 | 2): number => {
      if (row[`amount_${side}_raw`] === null) return 0;
      const asset = String(row[`asset_${side}`]);
      const price = asset === 'TON' ? 1 : prices.get(`${String(row['day'])} ${asset}`);
      const units = row[`amount_${side}`];
      return price === undefined || units == null ? NaN : Number(units) * price;
    };
    let valued = 0;
    for (const row of rows) {
      expect(row['lp_amount']).toBe(row['lp']);
      const both = worth(row, 1) + worth(row, 2);
      if (Number.isNaN(both)) expect(row['value_ton']).toBeNull();
      else expect(Number(row['value_ton']) / both).toBeCloseTo(1, 6);
      valued += Number.isNaN(both) ? 0 : 1;
    }
    expect(valued).toBeGreaterThan(0);
  });

  test('values what is deposited of one asset alone, by whatever proxy TON is sent', async () => {
    const deposit = (details: object) =>
      `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${JSON.stringify({ action_id: JSON.stringify(details), type: 'dex_deposit_liquidity', success: true, details })}')).*
       from (select * from actions limit 1) a`;
    const pool = `0:${'EF'.repeat(32)}`;
    const proxy = '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C';
    const one = { pool: pool.toLowerCase(), amount_1: '3000000000', amount_2: null };
    const rows = await askAfter(
      store,
      [
        deposit({ dex: 'dedust', ...one, lp_tokens_minted: null }),
        deposit({ dex: 'stonfi', ...one, asset_1: proxy }),
        deposit({ dex: 'stonfi_v2', ...one, amount_1: '5', user_jetton_wallet_1: pool }),
        deposit({ dex: 'stonfi', ...one, amount_1: '7', user_jetton_wallet_1: pool }),
        deposit({ dex: 'dedust', ...one, amount_1: 'many' }),
      ],
      `select dex, version, asset_1, amount_1::float8 as amount, value_ton::float8 as value from dex_liquidity
       where pool = '${pool}' order by value nulls last, dex, version, amount_1_raw nulls last`,
    );
    expect(rows).toEqual([
      { dex: 'stonfi', version: '2', asset_1: 'TON', amount: '5e-09', value: '5e-09' },
      { dex: 'dedust', version: '1', asset_1: 'TON', amount: '3', value: '3' },
      { dex: 'stonfi', version: '1', asset_1: 'TON', amount: '3', value: '3' },
      { dex: 'dedust', version: '1', asset_1: 'TON', amount: null, value: null },
      { dex: 'stonfi', version: '1', asset_1: null, amount: null, value: null },
    ]);
  });
});

test('staking_prices is TON divided by tokens, from the deposits and withdrawals that have both', async () => {
  const made = [...store.truth.actions(store.span, actionTypes)].flatMap(
    ({ type, details, success, trace_end_utime }) => {
      const { provider, amount, asset, tokens_minted, tokens_burnt } = details as Readonly<
        Record<string, string | null | undefined>
      >;
      const tokens = tokens_minted ?? tokens_burnt;
      if (!/^stake_(deposit|withdrawal)$/.test(type) || success === false || asset == null) return [];
      if (!(Number(amount) > 0) || !(Number(tokens) > 0)) return [];
      return [
        {
          key: [dayOf(trace_end_utime), provider, asset].join(' '),
          type,
          amount: Number(amount),
          tokens: Number(tokens),
        },
      ];
    },
  );
  expect(made.length).toBeGreaterThan(0);
  const rows = await askAfter(
    store,
    made.map(
      ({
        key,
      }) => `insert into jetton_masters (address, decimals, last_transaction_lt) values ('${key.split(' ')[2] ?? ''}', 9, 1)
      on conflict (address) do update set decimals = 9`,
    ),
    `select concat_ws(' ', day, provider, asset) as key, deposits, withdrawals, price_ton::float8 as price from staking_prices`,
  );
  const expected = new Map(
    [...groupBy(made, ({ key }) => key)].map(([key, all]) => {
      const total = (member: 'amount' | 'tokens') => all.reduce((whole, one) => whole + one[member], 0);
      const deposits = all.filter(({ type }) => type === 'stake_deposit').length;
      return [
        key,
        { deposits, withdrawals: all.length - deposits, price: total('amount') / total('tokens') },
      ];
    }),
  );
  expect(rows.map(({ key }) => key).sort()).toEqual([...expected.keys()].sort());
  expect(rows.some(({ price }) => Number(price) > 0.001)).toBe(true);
  for (const { key, deposits, withdrawals, price } of rows) {
    const known = expected.get(String(key));
    expect([Number(deposits), Number(withdrawals)]).toEqual([known?.deposits, known?.withdrawals]);
    expect(Number(price)).toBeCloseTo(known?.price ?? -1, 15);
  }
});

test('what Ethena takes is not TON, and an amount that is no number counts nowhere', async () => {
  const deposit = (details: object) =>
    `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${JSON.stringify({ action_id: JSON.stringify(details), type: 'stake_deposit', success: true, details })}')).*
     from (select * from actions limit 1) a`;
  const asset = `0:${'EF'.repeat(32)}`;
  const rows = await askAfter(
    store,
    [
      put('jetton_masters', { address: asset, decimals: 6, last_transaction_lt: 1 }),
      deposit({
        provider: 'bemo',
        asset: asset.toLowerCase(),
        amount: '3000000000',
        tokens_minted: '2000000',
      }),
      deposit({ provider: 'bemo', asset, amount: 'many', tokens_minted: '1' }),
      deposit({ provider: 'bemo', asset, amount: '9', tokens_minted: null }),
      deposit({ provider: 'bemo', asset, amount: '9', tokens_minted: '0' }),
      deposit({ provider: 'ethena', asset, amount: '9', tokens_minted: '1' }),
      deposit({ provider: 'other', asset, source_asset: asset, amount: '9', tokens_minted: '1' }),
    ],
    `select provider, deposits, staked::float8 as staked, minted::float8 as minted, price_ton::float8 as price from staking_prices where asset = '${asset}'`,
  );
  expect(rows).toEqual([{ provider: 'bemo', deposits: '1', staked: '3', minted: '2', price: '1.5' }]);
});

test('swaps tell TON, a jetton and an unknown asset apart, exchange by exchange', async () => {
  const jetton = `0:${'AB'.repeat(32)}`;
  const proxy = '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C';
  const wallet = `0:${'CD'.repeat(32)}`;
  /**
   * The exchange, the asset that the swap names, its transfer, what it is, and what the last leg names if
   * there are several.
   */
  const cases: readonly [string, string | null, object, string | null, (string | null)?][] = [
    ['stonfi', proxy, {}, 'TON'],
    ['stonfi', null, {}, null],
    ['stonfi_v2', null, { destination_jetton_wallet: wallet }, 'TON'],
    ['tonco', null, { source_jetton_wallet: wallet }, 'TON'],
    ['dedust', null, {}, 'TON'],
    ['dedust', null, { source_jetton_wallet: wallet }, null],
    ['dedust', null, { source_jetton_wallet: wallet, asset: jetton }, jetton],
    ['coffee', null, { destination_jetton_wallet: wallet }, null],
    ['coffee', proxy.toLowerCase(), { destination_jetton_wallet: wallet }, 'TON'],
    ['coffee', 'no address', {}, null],
    ['new exchange', null, { amount: null }, null],
    ['new exchange', jetton, {}, jetton],
    ['coffee', null, { destination_jetton_wallet: wallet }, null, null],
    ['coffee', null, { destination_jetton_wallet: wallet }, jetton, jetton],
    ['coffee', null, {}, 'TON', null],
    ['dedust', null, { source_jetton_wallet: wallet }, 'TON', proxy.toLowerCase()],
    ['dedust', jetton, { source_jetton_wallet: wallet }, jetton, null],
    ['stonfi_v2', null, { source_jetton_wallet: wallet }, 'TON', null],
    ['tonco', null, { source_jetton_wallet: wallet }, jetton, jetton],
    ['stonfi', null, { source_jetton_wallet: wallet }, null, null],
    ['new exchange', null, { source_jetton_wallet: wallet }, null, null],
  ];
  await store.ask('begin');
  for (const [index, [dex, named, leg, , end]] of cases.entries()) {
    const transfer = { amount: '5', ...leg };
    const hop = { amount_in: '5', amount_out: '5' };
    const details = {
      dex,
      asset_in: named,
      asset_out: named,
      dex_incoming_transfer: transfer,
      dex_outgoing_transfer: transfer,
      peer_swaps:
        end === undefined
          ? []
          : [
              { ...hop, asset_in: end, asset_out: jetton },
              { ...hop, asset_in: jetton, asset_out: null },
              { ...hop, asset_in: null, asset_out: end },
            ],
    };
    const row = { trace_id: `case ${String(index).padStart(2, '0')}`, success: true, details };
    await store.ask(
      `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${JSON.stringify(row)}')).*
       from (select * from actions where type = 'jetton_swap' limit 1) a`,
    );
  }
  const rows = await store.ask(
    `select s.asset_in, s.asset_out, f.sold, l.bought from swaps s
     join etl.dex_legs f on f.trace_id = s.trace_id and f.leg = 0 join etl.dex_legs l on l.trace_id = s.trace_id and l.leg + 1 = l.legs
     where s.trace_id like 'case %' order by s.trace_id`,
  );
  const between = await store.ask(
    `select sold, bought, dex from etl.dex_legs where trace_id like 'case %' and leg = 1 order by trace_id`,
  );
  await store.ask('rollback');
  expect(rows.map((row, index) => [index, row])).toEqual(
    cases.map(([, , , asset], index) => [
      index,
      { asset_in: asset, asset_out: asset, sold: asset, bought: asset },
    ]),
  );
  // Between two legs every exchange names jettons only; stonfi alone names TON, too.
  expect(between.length).toBe(cases.filter(([, , , , end]) => end !== undefined).length);
  for (const { sold, bought, dex } of between)
    expect([dex, sold, bought]).toEqual([dex, jetton, dex === 'stonfi' ? null : 'TON']);
});

test('nft_events tells who won an auction that ended, and which domain its item is', async () => {
  const [auction = '', item = '', winner = ''] = ['A1', 'A2', 'A3'].map((byte) => `0:${byte.repeat(32)}`);
  const details = { auction_address: auction.toLowerCase() };
  const end = JSON.stringify({
    type: 'nft_finish_auction',
    action_id: 'end',
    success: true,
    asset: item,
    details,
  });
  await store.ask(`begin; insert into nft_sales (address, type, details)
      values ('${auction}', 'x', '{"last_bid": "2500000000", "last_member": "${winner.toLowerCase()}"}');
    insert into dns_records (nft_item_address, domain) values ('${item}', 'won.ton');
    insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${end}')).* from (select * from actions limit 1) a`);
  const event = `select price::float8 as price, bidder, domain, payment_asset from nft_events where nft_address = '${item}'`;
  const won = { price: '2.5', bidder: winner, domain: 'won.ton', payment_asset: 'TON' };
  expect(await store.ask(event)).toEqual([won]);
  // Without a bid, the auction has no winner.
  await store.ask(`update nft_sales set details = '{"last_bid": "0"}' where address = '${auction}'`);
  expect(await store.ask(event)).toEqual([{ ...won, price: null, bidder: null, payment_asset: null }]);
  await store.ask('rollback');
});
