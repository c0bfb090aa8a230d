import { afterAll, beforeAll, expect, test } from 'vitest';
import { actionTypes } from '../../jobs/actions.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { holders, jettonMovements, ledger } from '../support/books/books-of-accounts.ts';
import {
  dayOf,
  deliveries,
  feesByPart,
  groupBy,
  phases,
  shardOf,
  sorted,
  sum,
  wayOfFailing,
} from '../support/books/facts.ts';
import { assetsOf, isSwap, poolOf, tonVolumes } from '../support/books/books-of-exchanges.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { twoDays } from '../support/two-days.ts';

let store: CrawledStore;
let transactions: TransactionJson[];

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  transactions = [...store.truth.transactions(store.span)];
});
afterAll(() => store.close());

const iso = (utime: number): string => new Date(utime * 1000).toISOString().slice(0, 19);
/** Expects these rows of the statement, in any order, and at least one. */
async function expectRows(statement: string, expected: readonly object[]): Promise<void> {
  expect(expected.length).toBeGreaterThan(0);
  expect(sorted(await store.ask(statement))).toEqual(sorted(expected));
}

/** Whether a transaction failed and returned the coins that came in. */
const hasBounced = (each: TransactionJson) =>
  phases(each).aborted === true && phases(each).bounce?.type === 'ok';

/** Of a report by day. */
const expectOpen = (report: string, expected: readonly object[]) =>
  expectRows(
    `select * from ${report}`,
    expected.map((row) => ({ ...row, certified: 'f' })),
  );

test('days are UTC, although the session is in Tokyo, in whose time all rows are of one day', async () => {
  await expectRows('show timezone', [{ TimeZone: 'Asia/Tokyo' }]);
  expect(new Set(transactions.map(({ now }) => dayOf(now)))).toEqual(new Set(['2026-01-31', '2026-02-01']));
  await expectRows('select count(distinct utime::date) as days from transactions', [{ days: 1 }]);
  await expectRows(
    `select day, extract(epoch from starts)::bigint as starts, extract(epoch from ends)::bigint as ends
     from days where day between '2026-01-31' and '2026-02-01'`,
    ['2026-01-31', '2026-02-01'].map((day) => {
      const starts = Date.parse(day) / 1000;
      return { day, starts, ends: starts + 86_400 };
    }),
  );
});

test('daily_activity counts what happened', async () => {
  const { truth, span } = store;
  const nowOf = new Map(transactions.map(({ hash, now }) => [hash, now]));
  const messages = groupBy(truth.messages(span), ({ created_at, in_msg_tx_hash }) =>
    dayOf(Number(created_at ?? nowOf.get(in_msg_tx_hash ?? ''))),
  );
  const traces = groupBy(truth.traces(span), ({ end_utime }) => dayOf(end_utime));
  const blocks = groupBy(truth.blocks(store.spanOf('blocks')), ({ gen_utime }) => dayOf(Number(gen_utime)));
  await expectOpen(
    'daily_activity',
    [...groupBy(transactions, ({ now }) => dayOf(now))].map(([day, all]) => ({
      day,
      transactions: all.length,
      aborted: all.filter((each) => phases(each).aborted).length,
      accounts: new Set(all.map(({ account }) => account)).size,
      messages: messages.get(day)?.length,
      value: sum((messages.get(day) ?? []).map(({ value }) => value)),
      fees: sum(all.map(({ total_fees }) => total_fees)),
      traces: traces.get(day)?.length,
      blocks: blocks.get(day)?.length,
      bounced: all.filter(hasBounced).length,
    })),
  );
});

test('hourly_activity counts what happened in each hour', async () => {
  const hourOf = (now: number) => String(now - (now % 3600));
  await expectRows(
    `select day, extract(epoch from hour)::int as hour, transactions, aborted, accounts, fees, certified from hourly_activity`,
    [...groupBy(transactions, ({ now }) => hourOf(now))].map(([hour, all]) => ({
      day: dayOf(Number(hour)),
      hour,
      transactions: all.length,
      aborted: all.filter((each) => phases(each).aborted).length,
      accounts: new Set(all.map(({ account }) => account)).size,
      fees: sum(all.map(({ total_fees }) => total_fees)),
      certified: 'f',
    })),
  );
});

test('fees_by_part splits the fees of each day', async () => {
  await expectOpen(
    'fees_by_part',
    [...groupBy(transactions, ({ now }) => dayOf(now))].map(([day, all]) => ({ day, ...feesByPart(all) })),
  );
  // Only transactions that an external message started have an import fee.
  await expectRows(
    `select count(*) as others from transactions where coalesce(storage_fees_collected, 0) + coalesce(compute_gas_fees, 0)
       + coalesce(action_total_action_fees, 0) + coalesce(bounce_msg_fees, 0) <> total_fees
     and in_msg_hash not in (select hash from messages where source is null)`,
    [{ others: 0 }],
  );
});

test('failed_transactions has how they failed', async () => {
  const failed = transactions
    .filter((each) => phases(each).aborted)
    .map((each) => ({ ...each, way: { day: dayOf(each.now), ...wayOfFailing(each) } }));
  await expectOpen(
    'failed_transactions',
    [...groupBy(failed, ({ way }) => JSON.stringify(way)).values()].map((all) => ({
      ...all[0]!.way,
      transactions: all.length,
      accounts: new Set(all.map(({ account }) => account)).size,
      fees: sum(all.map(({ total_fees }) => total_fees)),
      bounced: all.filter(hasBounced).length,
    })),
  );
  // The failed transactions are of both kinds: some bounced, and some kept the coins.
  expect(new Set(failed.map(hasBounced))).toEqual(new Set([true, false]));
});

test('gas_by_contract adds the gas of each contract', async () => {
  const ran = transactions.filter((each) => phases(each).compute_ph?.gas_used !== undefined);
  const codeOf = ({ account_state_after: { code_hash } }: TransactionJson) => code_hash;
  await expectRows(
    'select day, account, code_hash, runs, failed, gas_used, gas_fees from gas_by_contract',
    [...groupBy(ran, ({ now, account }) => `${dayOf(now)} ${account}`).values()].map((all) => ({
      day: dayOf(all[0]!.now),
      account: all[0]!.account,
      code_hash: all
        .filter((each) => codeOf(each) !== null)
        .sort((a, b) => Number(BigInt(a.lt) - BigInt(b.lt)))
        .map(codeOf)
        .at(-1),
      runs: all.length,
      failed: all.filter((each) => phases(each).compute_ph?.success === false).length,
      gas_used: sum(all.map((each) => phases(each).compute_ph?.gas_used)),
      gas_fees: sum(all.map((each) => phases(each).compute_ph?.gas_fees)),
    })),
  );
});

test('message_delays measures from block to block, shard by shard', async () => {
  const delays = deliveries(transactions);
  await expectRows(
    `select day, from_workchain || ' ' || from_shard as "from", to_workchain || ' ' || to_shard as "to", messages,
       round(mean_seconds * messages) as seconds, median_seconds::int as median, longest_seconds::int as longest
     from message_delays`,
    [...groupBy(delays, ({ from, to }) => `${dayOf(to.now)} ${shardOf(from)} ${shardOf(to)}`).values()].map(
      (all) => {
        const seconds = all.map((each) => each.seconds).sort((a, b) => a - b);
        const [{ from, to }] = [all[0]!];
        return {
          day: dayOf(to.now),
          from: shardOf(from),
          to: shardOf(to),
          messages: all.length,
          seconds: sum(seconds),
          median: seconds[Math.ceil(seconds.length / 2) - 1],
          longest: seconds.at(-1),
        };
      },
    ),
  );
  expect(delays.some(({ from, to }) => shardOf(from) !== shardOf(to))).toBe(true);
});

test('account_ledger holds every movement with the balance after it, and ends with that of the chain', async () => {
  const entries = ledger(store.truth, store.span);
  const rows = await store.ask(
    `select account, extract(epoch from utime)::bigint as utime, lt, step, coalesce(jetton_master, '') as jetton, kind, amount,
       counterparty, tx_hash as "txHash", balance from account_ledger
     order by account collate "C", coalesce(jetton_master, '') collate "C", account_ledger.utime, lt, step, tx_hash collate "C"`,
  );
  const printed = (each: object) =>
    Object.fromEntries(
      Object.entries(each).map(([name, value]: [string, unknown]) => [
        name,
        value === null ? null : String(value as string | number | bigint),
      ]),
    );
  expect(rows).toEqual(entries.map(printed));
  const latest = new Map(transactions.map((each) => [each.account, each.account_state_after.balance ?? '0']));
  const ended = new Map(
    entries.filter(({ jetton }) => jetton === '').map((each) => [each.account, each.balance]),
  );
  const wrong = [...ended].filter(([account, balance]) => latest.get(account) !== String(balance));
  expect(wrong).toEqual([]);
  expect(new Set(entries.map(({ kind }) => kind))).toEqual(
    new Set(['received', 'sent', 'fees', 'forward fees', 'burned', 'minted']),
  );
});

test('jetton_flows sums up each jetton by day', async () => {
  const movements = jettonMovements(store.truth, store.span);
  const of = (all: typeof movements, kind: string) => all.filter((each) => each.kind === kind);
  const total = (all: typeof movements) => all.reduce((left, { amount }) => left + amount, 0n);
  const people = (all: typeof movements) => new Set(all.map(({ account }) => account)).size;
  await expectOpen(
    'jetton_flows',
    [...groupBy(movements, ({ utime, jetton }) => `${dayOf(utime)} ${jetton}`).values()].map((all) => ({
      day: dayOf(all[0]!.utime),
      jetton_master: all[0]!.jetton,
      transfers: of(all, 'sent').length,
      senders: people(of(all, 'sent')),
      receivers: people(of(all, 'received')),
      amount: total(of(all, 'received')),
      minted: total(of(all, 'minted')),
      burned: -total(of(all, 'burned')),
    })),
  );
});

test('jetton_holders knows who held how much, at the end and at any time', async () => {
  const { truth, span } = store;
  const jettons = [...new Set(jettonMovements(truth, span).map(({ jetton }) => jetton))].slice(0, 3);
  const middle = (span.from + span.to) / 2;
  for (const jetton of jettons) {
    expect(await store.ask(`select owner, balance from jetton_holders('${jetton}')`)).toEqual(
      holders(truth, span, jetton),
    );
    expect(
      await store.ask(`select owner, balance from jetton_holders('${jetton}', to_timestamp(${middle}))`),
    ).toEqual(holders(truth, { from: span.from, to: middle }, jetton));
  }
});

test('supply and balances of every jetton are those that its contracts report', async () => {
  const entities = store.truth.entities();
  const supplies = entities
    .jettonMasters()
    .map(({ address, total_supply }) => ({ jetton: address, supply: total_supply }));
  const supplied = `select jetton_master as jetton, sum(amount) as supply from jetton_movements group by 1 having sum(amount) <> 0`;
  const minted = supplies.filter(({ supply }) => supply !== '0');
  expect(minted.length).toBeGreaterThan(1);
  await expectRows(supplied, minted);
  await expectRows(
    `select account as owner, jetton_master as jetton, sum(amount) as balance from jetton_movements group by 1, 2
     having sum(amount) <> 0`,
    entities
      .jettonWallets()
      .filter(({ balance }) => balance !== '0')
      .map(({ owner, jetton, balance }) => ({ owner, jetton, balance })),
  );
  // Some of the mints belong to other actions, or to traces whose actions are not known.
  const [{ named, found } = {}] = await store.ask(
    `select (select count(*) from actions where type = 'jetton_mint') as named, (select count(*) from jetton_mints) as found`,
  );
  expect(Number(named)).toBeLessThan(Number(found));
});

test('without the list of wallets, the owner of a wallet is the account that ordered it, and sums still agree', async () => {
  const ownerOf = new Map(
    store.truth
      .entities()
      .jettonWallets()
      .map(({ address, owner }) => [address, owner]),
  );
  const orders = [...store.truth.transactions(store.span)].filter(
    (each) =>
      ['0x0f8a7ea5', '0x595f07bc'].includes(each.in_msg?.opcode ?? '') && phases(each).aborted !== true,
  );
  const known = new Set(orders.map(({ account }) => account));
  const movements = jettonMovements(store.truth, store.span);
  await store.ask('begin');
  const mints = await store.ask('select jetton_wallet, owner, jetton_master, amount from jetton_mints');
  await store.ask('delete from jetton_wallets');
  const isKnown = ({ jetton_wallet }: (typeof mints)[number]) => known.has(jetton_wallet ?? '');
  await expectRows(
    'select jetton_wallet, owner, jetton_master, amount from jetton_mints',
    mints.map((mint) => ({
      ...mint,
      owner: isKnown(mint) ? (ownerOf.get(mint['jetton_wallet'] ?? '') ?? null) : null,
    })),
  );
  expect(new Set(mints.map(isKnown))).toEqual(new Set([true, false]));
  // No account spends more than it received: no balance is negative.
  await expectRows(
    `select (select count(*) from balances where asset <> 'TON' and balance_raw < 0)
       + (select count(*) from daily_balances where asset <> 'TON' and balance_raw < 0) as negative`,
    [{ negative: 0 }],
  );
  for (const [jetton, all] of groupBy(movements, ({ jetton: of }) => of)) {
    const held = await store.ask(`select * from jetton_holders('${jetton}')`);
    const supply = all.filter(({ kind }) => kind === 'minted' || kind === 'burned');
    expect([jetton, sum(held.map(({ balance }) => balance))]).toEqual([
      jetton,
      sum(supply.map(({ amount }) => amount)),
    ]);
    expect(held.every(({ owner, jetton_wallet }) => (owner === null) !== (jetton_wallet === null))).toBe(
      true,
    );
  }
  await store.ask('rollback');
});

test('a mint that its wallet refuses, a copy of a transfer, and a proxy are not mints', async () => {
  const [mint] = await store.ask(`select * from jetton_mints where query_id is not null order by lt limit 1`);
  const sums = async () => store.ask(`select count(*) as mints, sum(amount) as amount from jetton_mints`);
  const [before] = await sums();
  const left = {
    mints: Number(before?.['mints']) - 1,
    amount: BigInt(before?.['amount'] ?? 0) - BigInt(mint?.['amount'] ?? 0),
  };
  const undone = [
    `update transactions set aborted = true where account = '${mint?.['jetton_wallet'] ?? ''}' and in_msg_hash = '${mint?.['message_hash'] ?? ''}'`,
    `update messages set opcode = '0xffffffff', bounced = true where hash = '${mint?.['message_hash'] ?? ''}'`,
    `update messages set source = destination where hash = '${mint?.['message_hash'] ?? ''}'`,
  ];
  for (const statement of undone) {
    await store.ask('begin');
    await store.ask(statement);
    await expectRows(`select count(*) as mints, sum(amount) as amount from jetton_mints`, [left]);
    await store.ask('rollback');
  }
  await store.ask('begin');
  await store.ask(`insert into etl.ton_proxies (address) values ('${mint?.['jetton_master'] ?? ''}')`);
  const ofProxy = `jetton_master = '${mint?.['jetton_master'] ?? ''}'`;
  await expectRows(
    `select (select count(*) from jetton_movements where ${ofProxy}) + (select count(*) from jetton_flows where ${ofProxy}) as rows`,
    [{ rows: 0 }],
  );
  await store.ask('rollback');
});

test('swaps are the exchanges that the API reports', async () => {
  const swaps = [...store.truth.actions(store.span, actionTypes)].filter(isSwap);
  await expectRows(
    `select account, dex, success, asset_in, amount_in, asset_out, amount_out, pool, trace_id, action_id,
       (utime at time zone 'UTC')::text as utime from swaps`,
    swaps.map((action) => {
      const { details } = action;
      return {
        account: details.sender,
        dex: details.dex,
        success: action.success ? 't' : 'f',
        asset_in: assetsOf(details).in,
        amount_in: details.dex_incoming_transfer.amount,
        asset_out: assetsOf(details).out,
        amount_out: details.dex_outgoing_transfer.amount,
        pool: poolOf(details),
        trace_id: action.trace_id,
        action_id: action.action_id,
        utime: iso(action.trace_end_utime).replace('T', ' '),
      };
    }),
  );
});

test('dex_volume adds what was traded for TON, pool by pool', async () => {
  const volumes = tonVolumes(store.truth, store.span);
  for (const side of ['bought', 'sold'] as const)
    expect([side, volumes.some((volume) => volume[side] > 0n)]).toEqual([side, true]);
  await expectOpen('dex_volume', volumes);
});

test('active_wallets counts accounts that received an external message', async () => {
  const called = transactions.filter(({ in_msg }) => in_msg !== null && in_msg.source === null);
  await expectOpen(
    'active_wallets',
    [...groupBy(called, ({ now }) => dayOf(now))].map(([day, all]) => ({
      day,
      wallets: new Set(all.map(({ account }) => account)).size,
      messages: all.length,
    })),
  );
});

test('account_statement is the ledger of one account in whole units', async () => {
  const entries = ledger(store.truth, store.span);
  const account = [...groupBy(entries, (entry) => entry.account)]
    .filter(([, all]) => all.some(({ jetton }) => jetton !== ''))
    .sort(([, a], [, b]) => b.length - a.length)[0]![0];
  const middle = Math.floor((store.span.from + store.span.to) / 2);
  const units = new Map(
    (
      await store.ask("select address, symbol, '1e-' || coalesce(decimals, 9) as unit from jetton_masters")
    ).map(({ address, symbol, unit }) => [address, { symbol, unit }]),
  );
  const own = entries.filter((entry) => entry.account === account && entry.utime >= middle);
  expect(new Set(own.map(({ jetton }) => jetton === '')).size).toBe(2);
  const rows = await store.ask(
    `select extract(epoch from utime)::bigint as utime, kind, asset, jetton_master, amount::text, balance::text, tx_hash
     from account_statement(ton_address_friendly('${account}'), to_timestamp(${middle}), 'infinity')`,
  );
  const shifted = await store.ask(
    `select (v.amount * v.unit)::text as amount, (v.balance * v.unit)::text as balance from (values ${own
      .map(({ amount, balance, jetton }, index) => {
        const unit = jetton === '' ? '1e-9' : (units.get(jetton)?.unit ?? '1e-9');
        return `(${index}, ${String(amount)}::numeric, ${String(balance)}::numeric, '${unit}'::numeric)`;
      })
      .join(',')}) v (place, amount, balance, unit) order by place`,
  );
  const trimmed = (text: string | null | undefined) => text?.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  expect(
    rows
      .map(({ utime, kind, jetton_master, amount, balance }) =>
        [utime, kind, jetton_master, trimmed(amount), trimmed(balance)].join(' '),
      )
      .sort(),
  ).toEqual(
    own
      .map(({ utime, kind, jetton }, index) =>
        [
          utime,
          kind,
          jetton === '' ? null : jetton,
          trimmed(shifted[index]?.['amount']),
          trimmed(shifted[index]?.['balance']),
        ].join(' '),
      )
      .sort(),
  );
  expect(rows.every(({ asset, jetton_master }) => (jetton_master === null) === (asset === 'TON'))).toBe(true);
  await expect(
    store.ask(`select * from account_statement('${account}', '2026-02-02', '2026-02-01')`),
  ).rejects.toThrow('must lie before');
});

test('trace_tree finds a trace by every hash that it has', async () => {
  const { truth, span } = store;
  const trace = [...truth.traces(span)].find(
    ({ external_hash, transactions_order }) => external_hash !== null && transactions_order.length > 2,
  )!;
  const own = transactions.filter(({ trace_id }) => trace_id === trace.trace_id);
  const external = own.find(({ in_msg }) => in_msg?.source === null)!.in_msg!;
  const inner = own.find(({ in_msg }) => in_msg !== null && in_msg.source !== null)!.in_msg!;
  const hashes = [
    trace.trace_id,
    trace.external_hash!,
    ...own.map(({ hash }) => hash),
    external.hash,
    external.hash_norm ?? external.hash,
    inner.hash,
  ];
  const expected = await store.ask(`select * from trace_tree('${trace.trace_id}')`);
  expect(expected.map(({ tx_hash }) => tx_hash).sort()).toEqual(own.map(({ hash }) => hash).sort());
  for (const hash of hashes) {
    const bytes = Buffer.from(hash, 'base64');
    for (const form of [
      hash,
      bytes.toString('base64url'),
      bytes.toString('hex'),
      `0x${bytes.toString('hex')}`,
    ])
      expect(await store.ask(`select * from trace_tree('${form}')`), form).toEqual(expected);
  }
  await expect(store.ask(`select * from trace_tree('${'0'.repeat(64)}')`)).rejects.toMatchObject({
    code: 'P0002',
    hint: `Run: npx toncenter-etl why ${'A'.repeat(43)}=`,
  });
});

test('a day is read from its own partition only', async () => {
  for (const view of [
    'daily_activity',
    'fees_by_part',
    'failed_transactions',
    'gas_by_contract',
    'jetton_flows',
  ]) {
    const plan = await store.ask(
      `explain (analyze, costs off, timing off, summary off) select * from ${view} where day = '2026-02-01'`,
    );
    const lines = plan.map((row) => row['QUERY PLAN'] ?? '');
    const january = lines.filter((line) => /_2026_01_01/.test(line) && !/never executed/.test(line));
    expect(january, view).toEqual([]);
    expect(
      lines.some((line) => /_2026_02_01/.test(line) && !/never executed/.test(line)),
      view,
    ).toBe(true);
  }
});

test('the planner estimates correctly how many transactions begin a trace', async () => {
  await store.ask('analyze transactions');
  const [{ roots } = {}] = await store.ask(
    'select count(*) as roots from transactions where hash = trace_id',
  );
  const [plan] = await store.ask(
    'explain (format json) select * from transactions where (hash = trace_id) is true',
  );
  const guessed = Number(/"Plan Rows": (\d+)/.exec(String(Object.values(plan ?? {})[0]))?.[1]);
  expect(guessed / Number(roots)).toBeGreaterThan(0.5);
  expect(guessed / Number(roots)).toBeLessThan(2);
});
