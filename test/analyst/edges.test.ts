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

test('account_activity takes who deployed or funded an account from no later message than the first', async () => {
  const [account = '', first = '', second = ''] = ['D1', 'D2', 'D3'].map((byte) => `0:${byte.repeat(32)}`);
  const deployment = (utime: string, hash: string, source?: string) => [
    `insert into transactions select (jsonb_populate_record(null::transactions, to_jsonb(t) || '${JSON.stringify(
      {
        ...{ utime, hash, account, lt: hash, orig_status: 'uninit', end_status: 'active', bounce_type: null },
        ...{ in_msg_hash: `message ${hash}`, in_msg_utime: utime },
      },
    )}')).* from (select * from transactions limit 1) t`,
    ...(source === undefined
      ? []
      : [
          `insert into messages (utime, hash, source, value) values ('${utime}', 'message ${hash}', '${source}', 1)`,
        ]),
  ];
  const later = deployment('2026-01-31T02:00Z', '2', second);
  const question = `select deployed_by, first_funder from account_activity where account = '${account}'`;
  expect(await askAfter(store, [...deployment('2026-01-31T01:00Z', '1', first), ...later], question)).toEqual(
    [{ deployed_by: first, first_funder: first }],
  );
  expect(await askAfter(store, [...deployment('2026-01-31T01:00Z', '1'), ...later], question)).toEqual([
    { deployed_by: null, first_funder: null },
  ]);
});

test('the planner expects as many accounts of account_activity as there are, and that look-ups find a message', async () => {
  const busy = `delete from transactions where account not in (
    select account from transactions group by 1 order by count(*) desc, 1 limit 20)`;
  const [plan] = await askAfter(
    store,
    [busy, 'analyze transactions, messages'],
    'explain (format json) select account, first_funder from account_activity',
  );
  const rows = (pattern: RegExp) => Number(pattern.exec(String(plan?.['QUERY PLAN']))?.[1]);
  const guessed = rows(/"Plan Rows": (\d+)/);
  expect(guessed).toBeGreaterThan(10);
  expect(guessed).toBeLessThan(40);
  // One row is what the planner says of none.
  expect(rows(/"Node Type": "Nested Loop",[^{]*?"Plan Rows": (\d+)/)).toBeGreaterThan(1);
});

test('account_activity of a few accounts, joined as its comment says, reads the transactions of these alone', async () => {
  const [{ comment } = {}] = await store.ask(
    `select obj_description('account_activity'::regclass) as comment`,
  );
  const [, join] = /`(cross join lateral [^`]*)`/.exec(comment ?? '') ?? [];
  const few = 'select account from transactions group by 1 order by count(*), 1 limit 3';
  const [{ read } = {}] = await store.ask(
    `select count(*) as read from transactions where account in (${few})`,
  );
  const question = `select a.transactions, t.account = a.account as same from (${few}) t ${join}`;
  const rows = await store.ask(question);
  expect(rows.map(({ same }) => same)).toEqual(['t', 't', 't']);
  expect(rows.reduce((total, { transactions }) => total + Number(transactions), 0)).toBe(Number(read));
  const plan = (await store.ask(`explain (costs off) ${question}`)).map((row) => row['QUERY PLAN']);
  expect(
    plan.filter((line) => /(?:Index Cond|Filter): \(account = [^ ]*\.account\)/.test(line ?? '')).length,
  ).toBeGreaterThan(0);
});
