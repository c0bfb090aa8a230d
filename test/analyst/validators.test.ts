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
