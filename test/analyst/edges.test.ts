import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAfter, openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { twoDays } from '../support/two-days.ts';

/* What curated views say of rows that are rare, or that contracts make on purpose. */

let store: CrawledStore;
beforeAll(async () => {
  store = await openCrawledStore(twoDays);
});
afterAll(() => store.close());

test.each([19, 30, 255])(
  'a jetton of %i decimals, whose amounts may round to nothing, takes no price from other assets',
  async (decimals) => {
    const [chosen] = await store.ask(
      `select asset from daily_prices p join jetton_masters m on m.address = p.asset where p.price_ton is not null order by p.trades desc, p.asset limit 1`,
    );
    const jetton = String(chosen?.['asset']);
    const change = `update jetton_masters set decimals = ${decimals} where address = '${jetton}'`;
    for (const view of ['daily_prices', 'hourly_prices']) {
      const others = `select * from ${view} where asset <> '${jetton}' order by 1, 2, 3`;
      expect(await askAfter(store, [change], others)).toEqual(await store.ask(others));
    }
    const [sums] = await askAfter(
      store,
      [change],
      `select (select count(*) from dex_pools) as pools, (select count(*) from dex_liquidity) as changes,
         (select count(price_ton) from daily_prices where asset = '${jetton}') as prices`,
    );
    expect(Number(sums?.['pools'])).toBeGreaterThan(0);
    expect(Number(sums?.['changes'])).toBeGreaterThan(0);
    if (decimals > 40) expect(sums?.['prices']).toBe('0');
  },
);

test('nft_events knows of a sale what its contract alone tells, and of no item what is not known', async () => {
  const [item = '', group = '', contract = '', seller = '', author = ''] = ['A1', 'A2', 'A3', 'A4', 'A5'].map(
    (byte) => `0:${byte.repeat(32)}`,
  );
  const action = (id: string, type: string, details: object) =>
    `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${JSON.stringify({
      ...{ action_id: id, type, asset: item, success: true, details },
      ...(type === 'nft_purchase' && { amount: '10000000000' }),
    })}')).* from (select * from actions limit 1) a`;
  const changes = [
    action('1', 'nft_purchase', {
      ...{ old_owner: contract, real_old_owner: seller, payout_amount: '8500000000' },
      ...{ royalty_amount: null, royalty_address: null },
    }),
    action('2', 'auction_bid', { nft_collection: null }),
    `insert into nft_items (address, collection_address, index, last_transaction_lt) values ('${item}', '${group}', 7, 1)`,
  ];
  const question = `select type, sale_type, collection_address, nft_index, previous_owner, sale_address, price::float8 as price, royalty::float8 as royalty,
    royalty_address, marketplace_fee::float8 as fee from nft_events where nft_address = '${item}' order by action_id`;
  const both = { collection_address: group, nft_index: '7' };
  const sold = { ...both, type: 'sale', previous_owner: seller, sale_address: contract, price: '10' };
  // Without its contract the royalty is not known, and so is what is left for the marketplace.
  const unknown = { sale_type: null, royalty: null, royalty_address: null, fee: null };
  const [sale, bid] = await askAfter(store, changes, question);
  expect(sale).toEqual({ ...sold, ...unknown });
  expect(bid).toMatchObject({ ...both, type: 'bid', royalty: null });
  const told = (type: string, details: object) =>
    askAfter(
      store,
      [
        ...changes,
        `insert into nft_sales (address, type, details) values ('${contract}', '${type}', '${JSON.stringify(details)}')`,
      ],
      question,
    );
  const [fixed] = await told('getgems_sale', {
    royalty_amount: '1000000000',
    royalty_address: author.toLowerCase(),
  });
  expect(fixed).toEqual({ ...sold, sale_type: 'sale', royalty: '1', royalty_address: author, fee: '0.5' });
  const [auction] = await told('getgems_auction', {
    ...{ royalty_fee_factor: 5, royalty_fee_base: 100, royalty_fee_address: author },
  });
  expect(auction).toEqual({
    ...sold,
    ...{ sale_type: 'auction', royalty: '0.5', royalty_address: author, fee: '1' },
  });
  const [free] = await told('getgems_sale', {});
  expect(free).toEqual({ ...sold, ...unknown, sale_type: 'sale', fee: '1.5' });
  const seen = await askAfter(store, changes, `select address from etl.seen_sales`);
  expect(seen).toEqual([{ address: contract }]);
});

test('nft_ownership names the owner after a mint that the collection sent', async () => {
  const [item = '', group = '', first = '', second = ''] = ['A1', 'A2', 'A3', 'A4'].map(
    (byte) => `0:${byte.repeat(32)}`,
  );
  const mint = `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${JSON.stringify(
    {
      ...{ action_id: 'mint', type: 'nft_mint', asset: item, source: group, success: true },
      details: { nft_item: item, owner: group, nft_collection: group.toLowerCase() },
    },
  )}')).* from (select * from actions order by utime limit 1) a`;
  const question = `select kind, owner from nft_ownership where nft_address = '${item}' order by since, kind`;
  expect(await askAfter(store, [mint], question)).toEqual([{ kind: 'mint', owner: null }]);
  const listed = `insert into nft_items (address, owner_address, last_transaction_lt) values ('${item}', '${second}', 1)`;
  expect(await askAfter(store, [mint, listed], question)).toEqual([{ kind: 'mint', owner: second }]);
  const given = `insert into nft_transfers (utime, transaction_lt, transaction_hash, nft_address, old_owner, new_owner, transaction_aborted)
    select utime, transaction_lt, 'given', '${item}', '${first}', '${second}', false from nft_transfers order by utime desc limit 1`;
  const owners = [
    { kind: 'mint', owner: first },
    { kind: 'transfer', owner: second },
  ];
  expect(await askAfter(store, [mint, listed, given], question)).toEqual(owners);
  // The same by the event: its sender is not taken for the owner.
  expect(await askAfter(store, [mint], `select owner from nft_events where nft_address = '${item}'`)).toEqual(
    [{ owner: null }],
  );
});

test('an offer ends when its item leaves it, also by a sale that the source does not know as one', async () => {
  const [item = '', contract = '', buyer = ''] = ['B1', 'B2', 'B3'].map((byte) => `0:${byte.repeat(32)}`);
  const listing = `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${JSON.stringify(
    {
      ...{ action_id: 'listing', trace_id: 'listing', type: 'nft_put_on_sale', asset: item, success: true },
      ...{ amount: '5000000000', details: { nft_item: item, sale_address: contract } },
    },
  )}')).* from (select * from actions order by utime limit 1) a`;
  const given = (trace: string, to: string, order: string) =>
    `insert into nft_transfers (utime, transaction_lt, transaction_hash, nft_address, new_owner, trace_id, transaction_aborted)
     select utime, transaction_lt, '${trace}', '${item}', '${to}', '${trace}', false from nft_transfers order by utime ${order} limit 1`;
  const question = `select ended_by, until is null as stands from nft_offers where nft_address = '${item}'`;
  // The transfer that brings the item into the offer is a part of the listing.
  const listed = [listing, given('listing', contract, 'desc')];
  expect(await askAfter(store, listed, question)).toEqual([{ ended_by: null, stands: 't' }]);
  expect(await askAfter(store, [...listed, given('other', buyer, 'desc')], question)).toEqual([
    { ended_by: 'transfer', stands: 'f' },
  ]);
});
