import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MessageJson } from '../../src/simulator/json/message-json.ts';
import { jettonMovements } from '../support/books/books-of-accounts.ts';
import { legsOf, type TradeLeg } from '../support/books/books-of-trades.ts';
import { dayOf, groupBy, phases, sum } from '../support/books/facts.ts';
import { askAfter, openCrawledStore, put, type CrawledStore } from '../support/database/crawled-store.ts';
import { twoDays } from '../support/two-days.ts';

/* Compares what pools hold with what the API's JSON gives without SQL, and tries it on look-ups at other moments. */

let store: CrawledStore;
let legs: TradeLeg[];
beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  legs = legsOf(store.truth, store.span).filter(
    ({ pool, sold, bought }) => pool !== null && sold.asset !== null && bought.asset !== null,
  );
});
afterAll(() => store.close());

const FIRST = '2026-01-31';
const MIDNIGHT = Date.UTC(2026, 1, 1) / 1000;

/** What a jetton wallet sends to another one, or a master to a wallet. */
const TRANSFERRED = '0x178d4519';

const pairOf = ({ sold, bought }: TradeLeg) => [String(sold.asset), String(bought.asset)].sort();
const marketOf = (leg: TradeLeg) => [leg.pool, ...pairOf(leg)].join(' ');

/** Another transaction of an account. */
function transaction(account: string, { utime, lt }: { utime: number; lt: number | bigint }): string {
  const row = { account, utime: new Date(utime * 1000).toISOString(), lt: Number(lt), hash: 'made' };
  return `insert into transactions select (jsonb_populate_record(t, '${JSON.stringify(row)}')).* from transactions t limit 1`;
}

describe('a pool that holds its jettons itself', () => {
  /** The pool that traded most on the first day, its jetton, and one of its swaps. */
  function chosen() {
    const markets = groupBy(
      legs.filter((leg) => dayOf(leg.utime) === FIRST && leg.legs === 1),
      marketOf,
    );
    const [first] = [...markets.values()].sort((a, b) => b.length - a.length);
    const [leg] = first ?? [];
    if (leg === undefined) throw new TypeError('no pool traded');
    const [one = ''] = pairOf(leg);
    return { pool: leg.pool ?? '', one, action: leg.action };
  }

  /** What a jetton wallet held after one of its transactions, and what was sent to it before and arrived later. */
  interface WalletState {
    readonly balance: bigint;
    readonly lt: bigint;
    readonly utime: number;
    readonly isUnderWay?: boolean;
  }

  /**
   * What a wallet held after each of its transactions, by its own messages, and at each moment at which jettons were sent
   * to it.
   */
  function statesOf(wallet: string): WalletState[] {
    const amountOf = (message: MessageJson) => {
      const { amount } = (message.message_content.decoded ?? {}) as { amount?: { value: string } };
      return BigInt(amount?.value ?? 0);
    };
    let balance = 0n;
    return [...store.truth.transactions()]
      .filter(({ account }) => account === wallet)
      .sort((one, other) => Number(BigInt(one.lt) - BigInt(other.lt)))
      .flatMap((each, place, all): WalletState[] => {
        const message = each.in_msg;
        const has = message?.opcode === TRANSFERRED && !phases(each).aborted ? message : undefined;
        const sent = { lt: BigInt(has?.created_lt ?? 0), utime: Number(has?.created_at ?? 0) };
        const before = { ...sent, balance, isUnderWay: true };
        if (has !== undefined) balance += amountOf(has);
        for (const out of each.out_msgs) if (out.opcode === TRANSFERRED) balance -= amountOf(out);
        const after = { balance, lt: BigInt(each.lt), utime: each.now };
        return sent.lt > BigInt(all[place - 1]?.lt ?? sent.lt) ? [before, after] : [after];
      });
  }

  /** What moved until midnight since the network began. */
  function heldOf(pool: string, jetton: string): string {
    const moved = jettonMovements(store.truth, store.span).filter(
      (one) => one.account === pool && one.jetton === jetton && one.utime < MIDNIGHT,
    );
    return String(sum(moved.map(({ amount }) => amount)));
  }

  const lookUp = (wallet: string, { balance, lt }: Pick<WalletState, 'balance' | 'lt'>) =>
    `update jetton_wallets set balance = ${balance}, last_transaction_lt = ${lt} where address = '${wallet}'`;

  async function walletOf(pool: string, jetton: string): Promise<string> {
    const [row] = await store.ask(
      `select address from jetton_wallets where owner = '${pool}' and jetton = '${jetton}'`,
    );
    return String(row?.['address']);
  }

  const question = (pool: string) =>
    `select reserve_1_raw, reserve_2_raw, asset_1 from dex_pools where day = '${FIRST}' and pool = '${pool}'`;

  test('is the same whenever its wallet was looked up, even while jettons were under way to it', async () => {
    const { pool, one } = chosen();
    const wallet = await walletOf(pool, one);
    const states = statesOf(wallet);
    const kinds = states.map(({ utime, isUnderWay = false }) => `${utime < MIDNIGHT} ${isUnderWay}`);
    expect(new Set(kinds).size).toBe(4);
    for (const state of states) {
      const made = state.isUnderWay === true ? [transaction(wallet, state)] : [];
      const rows = await askAfter(store, [...made, lookUp(wallet, state)], question(pool));
      expect(rows[0]).toMatchObject({ asset_1: one, reserve_1_raw: heldOf(pool, one) });
    }
  });

  test('has none if what moved between the look-up and the end of the day is not stored', async () => {
    const { pool, one } = chosen();
    const wallet = await walletOf(pool, one);
    const last = statesOf(wallet).at(-1);
    if (last === undefined) throw new TypeError('the wallet has no transaction');
    const without = (seconds: string, dataset: string) =>
      `update etl.coverage set covered = covered - '{${seconds}}'::int8multirange where dataset = '${dataset}'`;
    const hole = `[${MIDNIGHT + 5},${MIDNIGHT + 6})`;
    const streams = await store.ask(
      `select dataset from etl.feeds join etl.datasets using (dataset) where relation = 'jetton_movements' and kind = 'stream'`,
    );
    expect(streams.length).toBe(3);
    for (const { dataset } of streams) {
      const [row] = await askAfter(
        store,
        [lookUp(wallet, last), without(hole, String(dataset))],
        question(pool),
      );
      expect([dataset, row?.['reserve_1_raw']]).toEqual([dataset, null]);
    }
    const before = `[${MIDNIGHT - 86_400},${MIDNIGHT})`;
    const after = `[${last.utime + 1},)`;
    for (const seconds of [before, after]) {
      const [row] = await askAfter(
        store,
        [lookUp(wallet, last), without(seconds, 'jetton_transfers')],
        question(pool),
      );
      expect(row).toMatchObject({ reserve_1_raw: heldOf(pool, one) });
    }
    const [row] = await askAfter(store, [lookUp(wallet, { balance: 5n, lt: 0n })], question(pool));
    expect(row).toMatchObject({ reserve_1_raw: null });
  });

  test('is the same for a role that can only read', async () => {
    const name = `reader_of_${store.url.split('/').at(-1) ?? ''}`;
    const pools = `select to_jsonb(p)::text as row from dex_pools p where day = '${FIRST}' order by 1`;
    const own = await store.ask(pools);
    await store.ask(`select etl.allow_reading('${name}', 'none', interval '1 minute')`);
    await store.ask(`set role ${name}`);
    const read = await store.ask(pools).finally(() => store.ask('reset role'));
    await store.ask(`drop owned by ${name}; drop role ${name}`);
    expect(own.length).toBeGreaterThan(3);
    expect(read).toEqual(own);
  });

  test('has none if it trades other pairs on the day, or if its wallet was never looked up', async () => {
    const { pool, action } = chosen();
    const { details, action_id } = action;
    const asset = `0:${'EF'.repeat(32)}`;
    const other = JSON.stringify({
      action_id: 'other',
      details: {
        ...details,
        asset_out: asset,
        dex_outgoing_transfer: { ...details.dex_outgoing_transfer, asset },
      },
    });
    const stays = `delete from actions where type = 'dex_withdraw_liquidity' and details->>'pool' = '${pool}'`;
    const pairs = await askAfter(
      store,
      [
        stays,
        `insert into actions select (jsonb_populate_record(null::actions, to_jsonb(a) || '${other}')).* from actions a where action_id = '${action_id}'`,
      ],
      question(pool),
    );
    expect(pairs).toHaveLength(2);
    for (const row of pairs) expect(row['reserve_1_raw']).toBe(null);
    const [row] = await askAfter(
      store,
      [stays, `delete from jetton_wallets where owner = '${pool}'`],
      question(pool),
    );
    expect(row).toMatchObject({ reserve_1_raw: null, reserve_2_raw: null });
  });
});

describe('a pool whose assets are kept by a router or a vault', () => {
  /** A pool without LP tokens of its own that traded TON on the first day, and a moment between its trades. */
  function chosen() {
    const masters = new Set(
      store.truth
        .entities()
        .jettonMasters()
        .map(({ address }) => address),
    );
    const markets = groupBy(
      legs.filter(
        (leg) => dayOf(leg.utime) === FIRST && pairOf(leg).includes('TON') && !masters.has(leg.pool ?? ''),
      ),
      marketOf,
    );
    const [all] = [...markets.values()].sort((a, b) => b.length - a.length);
    const ordered = (all ?? []).toSorted((a, b) => a.utime - b.utime);
    const [leg] = ordered;
    if (leg === undefined) throw new TypeError('no pool traded TON');
    const jetton = pairOf(leg).find((asset) => asset !== 'TON') ?? '';
    const moment = ordered[Math.floor(ordered.length / 2)]?.utime ?? 0;
    return { pool: leg.pool ?? '', jetton, ordered, moment };
  }

  /** Its assets are not in its own wallets, and no share of them was withdrawn. */
  const kept = (pool: string) => [
    `delete from jetton_wallets where owner = '${pool}'`,
    `delete from actions where type = 'dex_withdraw_liquidity' and details->>'pool' = '${pool}'`,
  ];

  const [TON, JETTON, BURNED, SUPPLY] = [7_000_000_001n, 3_000_000n, 1000n, 50_000n] as const;

  const withdrawal = (
    pool: string,
    jetton: string,
    { utime, details = {}, success = true }: { utime: number; details?: object; success?: boolean },
  ) =>
    put('actions', {
      utime: new Date(utime * 1000).toISOString(),
      trace_id: `made ${utime} ${JSON.stringify(details).length}`,
      action_id: `made ${String(success)}`,
      type: 'dex_withdraw_liquidity',
      success,
      details: {
        dex: 'dedust',
        pool,
        asset_1: jetton.toLowerCase(),
        asset_2: null,
        amount_1: String(JETTON),
        amount_2: String(TON),
        user_jetton_wallet_1: `0:${'CD'.repeat(32)}`,
        user_jetton_wallet_2: null,
        lp_tokens_burnt: String(BURNED),
        is_refund: false,
        ...details,
      },
      start_utime: new Date(utime * 1000).toISOString(),
      end_utime: new Date(utime * 1000).toISOString(),
      start_lt: 1,
      end_lt: 2,
      trace_end_lt: 2,
    });

  /** The pool was looked up after a transaction. */
  const master = (pool: string, { utime, lt }: { utime: number; lt: number }) => [
    put('jetton_masters', {
      address: pool,
      total_supply: String(SUPPLY),
      decimals: 9,
      last_transaction_lt: lt,
    }),
    transaction(pool, { utime, lt }),
  ];

  const burn = (
    pool: string,
    { utime, lt, amount, aborted = false }: { utime: number; lt: number; amount: bigint; aborted?: boolean },
  ) =>
    put('jetton_burns', {
      utime: new Date(utime * 1000).toISOString(),
      transaction_lt: lt,
      transaction_hash: `made ${lt} ${String(aborted)}`,
      transaction_aborted: aborted,
      owner: pool,
      jetton_master: pool,
      amount: String(amount),
    });

  const question = (pool: string, jetton: string) =>
    `select asset_1, asset_2, reserve_1_raw, reserve_2_raw, lp_supply_raw, lp_supply, tvl_ton, lp_price_ton from dex_pools
     where day = '${FIRST}' and pool = '${pool}' and asset_1 = '${jetton}' and asset_2 = 'TON'`;

  test.each([
    { when: 'on the day', seconds: 0, lt: 1000, since: -3n },
    { when: 'on the next day', seconds: MIDNIGHT + 6, lt: 4000, since: 70n },
  ])('has the reserves that the last withdrawal names, plus trades after it ($when)', async (given) => {
    const { pool, jetton, ordered, moment } = chosen();
    const gained = (asset: string) =>
      sum(
        ordered
          .filter(({ utime }) => utime > moment)
          .map(({ sold, bought }) => (sold.asset === asset ? BigInt(sold.text) : -BigInt(bought.text))),
      );
    // None of these is a share of the pool: a refund, a failed withdrawal, one without its LP tokens, one of
    // another pool.
    const later = Math.max(...ordered.map(({ utime }) => utime)) + 1;
    const rows = await askAfter(
      store,
      [
        ...kept(pool),
        ...master(pool, { utime: given.seconds === 0 ? moment : given.seconds, lt: given.lt }),
        withdrawal(pool, jetton, { utime: moment - 1, details: { amount_1: '1' } }),
        withdrawal(pool, jetton, { utime: moment }),
        withdrawal(pool, jetton, { utime: later, details: { is_refund: true, amount_1: '5' } }),
        withdrawal(pool, jetton, { utime: later, success: false, details: { amount_1: '5' } }),
        withdrawal(pool, jetton, { utime: later, details: { lp_tokens_burnt: null } }),
        withdrawal(pool, jetton, { utime: later, details: { lp_tokens_burnt: '0', amount_1: '5' } }),
        withdrawal(jetton, jetton, { utime: later }),
        burn(pool, { utime: moment, lt: 800, amount: 11n }),
        burn(pool, { utime: moment + 1, lt: 2000, amount: 3n }),
        burn(pool, { utime: MIDNIGHT + 5, lt: 3000, amount: 70n }),
        burn(pool, { utime: MIDNIGHT + 5, lt: 3000, amount: 5n, aborted: true }),
      ],
      question(pool, jetton),
    );
    const supply = SUPPLY + given.since;
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      lp_supply_raw: String(supply),
      reserve_1_raw: String((JETTON * supply) / BURNED + gained(jetton)),
      reserve_2_raw: String((TON * supply + BURNED / 2n) / BURNED + gained('TON')),
    });
    const [row] = rows;
    if (row?.['tvl_ton'] != null)
      expect(Number(row['lp_price_ton'])).toBeCloseTo(Number(row['tvl_ton']) / Number(row['lp_supply']), 6);
  });

  test('has none if there was no withdrawal, or its LP tokens are not known', async () => {
    const { pool, jetton, moment } = chosen();
    const none = { reserve_1_raw: null, reserve_2_raw: null, tvl_ton: null, lp_price_ton: null };
    expect(
      (
        await askAfter(
          store,
          [...kept(pool), ...master(pool, { utime: moment, lt: 1000 })],
          question(pool, jetton),
        )
      )[0],
    ).toMatchObject(none);
    const changes = [...kept(pool), withdrawal(pool, jetton, { utime: moment })];
    expect((await askAfter(store, changes, question(pool, jetton)))[0]).toMatchObject({
      ...none,
      lp_supply_raw: null,
    });
  });
});
