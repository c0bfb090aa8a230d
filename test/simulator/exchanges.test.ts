import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actionTypes } from '../../jobs/actions.ts';
import type { JettonMasterJson, JettonWalletJson } from '../../src/simulator/network/entities/entities.ts';
import { jettonMovements, type Movement } from '../support/books/books-of-accounts.ts';
import { legsOf, type TradeLeg } from '../support/books/books-of-trades.ts';
import { groupBy, sum } from '../support/books/facts.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { some } from '../support/thorough.ts';

const START = 1_767_225_600;
const SPAN = { from: START, to: Infinity };

type Details = Readonly<Record<string, string | null>>;

const NETWORKS = [
  { start: START, duration: 1800, load: 10, accounts: 200 },
  { start: START, duration: 1500, load: 15, accounts: 600, seed: 4, refusals: 0.02 },
  { start: START, duration: 900, load: 15, accounts: 40, seed: 5 },
];

describe.each(some(NETWORKS, 2))('pools of exchanges in a network of $accounts wallets', (options) => {
  let simulator: Simulator;
  let legs: TradeLeg[];
  let movements: Movement[];
  let wallets: JettonWalletJson[];
  let masters: ReadonlyMap<string, JettonMasterJson>;
  beforeAll(async () => {
    simulator = await startSimulator(options);
    legs = legsOf(simulator.truth, SPAN).filter(
      ({ sold, bought }) => sold.asset !== null && bought.asset !== null,
    );
    movements = jettonMovements(simulator.truth, SPAN);
    wallets = simulator.truth.entities().jettonWallets();
    masters = new Map(
      simulator.truth
        .entities()
        .jettonMasters()
        .map((master) => [master.address, master]),
    );
  });
  afterAll(() => simulator.close());

  const changesOf = (jetton: string, kind: string): bigint[] =>
    movements.filter((one) => one.jetton === jetton && one.kind === kind).map(({ amount }) => amount);
  const ofPool = () => groupBy(legs, ({ pool }) => String(pool));
  const liquidity = (type: string): { pool: string; details: Details }[] =>
    [...simulator.truth.actions(SPAN, actionTypes)]
      .filter((action) => action.type === type)
      .map(({ details }) => ({
        pool: (details as Details)['pool'] ?? '',
        details: details as Details,
      }));

  test('belong to one exchange and trade one pair, for TON, too, and by way of another pool', () => {
    const pools = ofPool();
    expect(pools.size).toBeGreaterThan(5);
    expect(pools.has('null')).toBe(false);
    for (const [pool, all] of pools) {
      const pairs = all.map(({ sold, bought }) => [sold.asset, bought.asset].sort().join(' '));
      expect([pool, new Set(pairs).size, new Set(all.map(({ action }) => action.details.dex)).size]).toEqual([
        pool,
        1,
        1,
      ]);
    }
    expect(new Set(legs.map(({ action }) => action.details.dex)).size).toBe(4);
    expect(legs.some(({ leg, sold }) => leg === 1 && sold.asset === 'TON')).toBe(true);
    expect(legs.some(({ leg, sold }) => leg === 1 && sold.asset !== 'TON')).toBe(true);
  });

  test('hold what came to them less what they paid, to the last unit', () => {
    const known = new Set(legs.map(({ pool }) => pool));
    const held = wallets.filter(({ owner }) => known.has(owner));
    expect(held.length).toBeGreaterThan(5);
    for (const { owner, jetton, balance } of held) {
      const moved = movements.filter((one) => one.account === owner && one.jetton === jetton);
      expect([owner, balance]).toEqual([owner, String(sum(moved.map(({ amount }) => amount)))]);
      for (const kind of ['sent', 'received'])
        expect([owner, kind, moved.some((one) => one.kind === kind)]).toEqual([owner, kind, true]);
    }
  });

  test('mint LP tokens for what is put in, and burn them for what is taken out', () => {
    const deposits = liquidity('dex_deposit_liquidity');
    expect(deposits.some(({ details }) => details['lp_tokens_minted'] === null)).toBe(true);
    for (const { pool, details } of deposits) {
      const minted = details['lp_tokens_minted'] ?? null;
      const position = details['nft_address'] ?? null;
      expect([masters.has(pool), position === null]).toEqual([minted !== null, minted !== null]);
      if (minted !== null) expect(changesOf(pool, 'minted')).toContain(BigInt(minted));
    }
    const withdrawals = liquidity('dex_withdraw_liquidity').filter(({ pool }) => masters.has(pool));
    expect(withdrawals.length).toBeGreaterThan(2);
    for (const { pool, details } of withdrawals)
      expect(changesOf(pool, 'burned')).toContain(-BigInt(details['lp_tokens_burnt'] ?? 0));
    for (const [pool, { total_supply }] of masters) {
      const supply = sum([...changesOf(pool, 'minted'), ...changesOf(pool, 'burned')]);
      const own = sum(wallets.filter(({ jetton }) => jetton === pool).map(({ balance }) => balance));
      expect([pool, total_supply, String(own)]).toEqual([pool, String(supply), String(supply)]);
    }
  });

  test('have prices near each other: each trade begins where the one before ended', () => {
    for (const all of ofPool().values()) {
      const prices = all
        .toSorted((a, b) => Number(BigInt(a.action.start_lt) - BigInt(b.action.start_lt)))
        .map(({ sold, bought }) =>
          String(sold.asset) < String(bought.asset) ? sold.raw / bought.raw : bought.raw / sold.raw,
        );
      for (const [at, price] of prices.slice(1).entries())
        expect(Math.abs(Math.log(price / prices[at]!))).toBeLessThan(0.25);
    }
  });
});
