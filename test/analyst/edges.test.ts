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
