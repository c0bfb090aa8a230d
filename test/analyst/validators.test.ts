import { afterAll, beforeAll, expect, test } from 'vitest';
import { incomes } from '../support/books/books-of-validators.ts';
import { groupBy, sorted, sum } from '../support/books/facts.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { twoDays } from '../support/two-days.ts';

let store: CrawledStore;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
});
afterAll(() => store.close());

/** Expects these rows of the statement, in any order, and at least one. */
async function expectRows(statement: string, expected: readonly object[]): Promise<void> {
  expect(expected.length).toBeGreaterThan(0);
  expect(sorted(await store.ask(statement))).toEqual(sorted(expected));
}

test('validator_stakes adds the stakes of each election', async () => {
  const staked = [...store.truth.validatorEvents(store.spanOf('validator_events'))].filter(
    ({ election_id }) => election_id !== undefined,
  );
  await expectRows(
    `select election_id, extract(epoch from starts)::bigint as starts, validator_pubkey, stake_holder_address, stake, accepted,
       rejected, extract(epoch from first_at)::bigint as first, extract(epoch from last_at)::bigint as last from validator_stakes`,
    [
      ...groupBy(
        staked,
        (each) => `${each.election_id} ${each.validator_pubkey} ${each.stake_holder_address}`,
      ).values(),
    ].map((all) => {
      const accepted = all.filter(({ type }) => type === 'stake_accepted');
      const { election_id, validator_pubkey, stake_holder_address } = all[0]!;
      return {
        election_id,
        starts: election_id,
        validator_pubkey,
        stake_holder_address,
        stake: sum(accepted.map(({ amount }) => amount)),
        accepted: accepted.length,
        rejected: all.length - accepted.length,
        first: all[0]!.utime,
        last: all.at(-1)?.utime,
      };
    }),
  );
});

test('validator_income pairs what is returned with what was staked', async () => {
  const rows = incomes([...store.truth.validatorEvents(store.spanOf('validator_events'))]);
  expect(rows.filter(({ reward }) => reward !== null && reward > 0n).length).toBeGreaterThan(0);
  await expectRows(
    `select election_id, stake_holder_address, elections, stake, returned, reward,
       extract(epoch from returned_at)::bigint as returned_at from validator_income`,
    rows,
  );
});

test('complaints come with their votes', async () => {
  await expectRows(
    `select complaint_hash, election_id, validator_pubkey, stake_holder_address, is_passed, votes, weight, voters from complaints`,
    store.truth.validatorComplaints(store.spanOf('validator_complaints')).map((each) => ({
      complaint_hash: each.complaint_hash,
      election_id: each.election_id,
      validator_pubkey: each.validator_pubkey,
      stake_holder_address: each.stake_holder_address,
      is_passed: each.is_passed ? 't' : 'f',
      votes: each.voted_validators.length,
      weight: sum(each.voted_validators.map(({ weight }) => weight)),
      voters:
        each.voted_validators.length === 0
          ? null
          : `{${each.voted_validators.map(({ validator_index }) => validator_index).join(',')}}`,
    })),
  );
});

test('nominator_pool_cycles accounts for each pool', async () => {
  const span = store.spanOf('nominator_pool_events');
  const rows = store.truth.pools.flatMap((pool) => {
    let settled: number | undefined;
    const events = [...store.truth.poolEvents(pool, span)].map((event) => {
      settled = event.cycle_start ?? settled;
      return { ...event, settled };
    });
    return [
      ...groupBy(events, ({ validator_address, settled: cycle }) => `${validator_address} ${cycle}`).values(),
    ].map((all) => {
      const of = (kind: string) => sum(all.filter(({ type }) => type === kind).map(({ amount }) => amount));
      return {
        pool_address: pool,
        validator_address: all[0]!.validator_address,
        cycle: all[0]!.settled,
        opening: all[0]!.balance_before,
        rewards: of('reward'),
        penalties: of('penalty'),
        deposits: of('deposit'),
        withdrawals: of('withdrawal'),
        closing: all.at(-1)?.balance_after,
        events: all.length,
      };
    });
  });
  await expectRows(
    `select pool_address, validator_address, extract(epoch from cycle_start)::bigint as cycle, opening, rewards, penalties,
       deposits, withdrawals, closing, events from nominator_pool_cycles`,
    rows,
  );
  await expectRows(
    'select count(*) as wrong from nominator_pool_cycles where opening + rewards - penalties + deposits - withdrawals <> closing',
    [{ wrong: 0 }],
  );
});

test('nominators are those of the pools, and their balances are those after their last event', async () => {
  const rows = store.truth.pools.flatMap((pool) => {
    const last = new Map(
      [...store.truth.nominatorEvents(pool)].map((event) => [event.nominator_address, event]),
    );
    return [...last.values()]
      .filter(
        ({ balance_after, pending_balance_after }) => balance_after !== '0' || pending_balance_after !== '0',
      )
      .map((event) => ({
        pool_address: pool,
        nominator_address: event.nominator_address,
        balance: event.balance_after,
        pending_balance: event.pending_balance_after,
      }));
  });
  expect(rows.length).toBeGreaterThan(0);
  await expectRows(
    `select n.pool_address, n.nominator_address, n.balance, n.pending_balance from nominators n
     where exists (select from nominator_events e where (e.pool_address, e.nominator_address) = (n.pool_address, n.nominator_address))`,
    rows,
  );
});

test('vesting_unlocks adds up to what the contract has unlocked, at every moment', async () => {
  /** The rule of the contract: what is locked yet, seconds after the start. */
  const locked = (
    now: number,
    [total, duration, period, cliff]: readonly [bigint, number, number, number],
  ) => {
    if (now > duration) return 0n;
    if (now < cliff) return total;
    return total - (total * BigInt(Math.floor(now / period))) / BigInt(Math.floor(duration / period));
  };
  const contracts = [
    [1_000_000_000_003n, 100, 10, 35],
    [100n, 90, 30, 0],
    [7n, 60, 7, 14],
    [10n ** 18n, 50, 50, 20],
    [5n, 40, 1, 40],
  ] as const;
  const row = ([total, duration, period, cliff]: (typeof contracts)[number], at: number) =>
    `('${at}', 1000, ${duration}, ${period}, ${cliff}, ${total})`;
  await store.ask(
    `insert into vesting_contracts (address, start_time, total_duration, unlock_period, cliff_duration, total_amount)
     values ${contracts.map(row).join(', ')}, ('endless', 1000, 100, 0, 0, 5), ('huge', 1000, 9000000000000000000, 1, 0, 5)`,
  );
  const moments = contracts.flatMap((contract, at) =>
    Array.from({ length: contract[1] + 2 }, (_, now) => ({
      address: at,
      now,
      unlocked: contract[0] - locked(now, contract),
    })),
  );
  await expectRows(
    `select c.address, n as now, coalesce((select sum(amount * 1000000000)::numeric(38,0) from vesting_unlocks u
         where u.address = c.address and u.unlocks_at <= to_timestamp(1000 + n)), 0) as unlocked
     from vesting_contracts c, generate_series(0, c.total_duration + 1) n where c.address ~ '^[0-9]$' and c.unlock_period > 0`,
    moments,
  );
  expect(await store.ask(`select 1 from vesting_unlocks where address in ('endless', 'huge')`)).toEqual([]);
});
