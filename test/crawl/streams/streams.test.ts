import { sql, type SQL } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { fillRange, readLeases } from '../../../src/crawl/streams/read-leases.ts';
import { type Want, streamOf } from '../../../src/crawl/streams/planner.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { actionTypes } from '../../../jobs/actions.ts';
import type { Crawl } from '../../../src/app/open-crawl.ts';
import { addWatch } from '../../../src/ledger/subjects.ts';
import type { Range } from '../../../src/range.ts';
import type { SimulatorOptions } from '../../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { useNetwork } from '../../support/network.ts';
import { some } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

const network = useNetwork({ start: START, duration: 500, seed: 15, load: 3, accounts: 400 });

async function crawl(names: string[], options: SimulatorOptions): Promise<Range> {
  await network.serve(options);
  const datasets = await datasetsNamed(...names);
  const opened = await openTestCrawl(network.store, network.simulator.url);
  try {
    const readable = await findReadablePart({
      ...opened,
      wanted: { from: 0, to: opened.chain.last.utime },
      delaySeconds: 0,
      signal: never.leaving,
    });
    expect(await fillRange({ ...opened, datasets, readable, stop: never })).toEqual(new Map());
    return readable.range!;
  } finally {
    await opened.close();
  }
}

const Participants = z.array(z.looseObject({ stake: z.string() }));

const PoolPage = z.looseObject({ events: z.array(z.looseObject({ pool_address: z.string() })) });

/** Reads one wanted range of a stream to its end. */
async function crawlWants(opened: Crawl, want: Want): Promise<void> {
  await readLeases({
    ...opened,
    stop: never,
    priority: want.priority,
    isOver: () => Promise.resolve(true),
    take: (readers) => opened.planner.takeSome([want], readers),
  });
}

async function ids(query: SQL): Promise<string[]> {
  const rows = await network.store.database.rows(query, z.object({ id: z.string() }));
  return rows.map(({ id }) => id).sort();
}

const between = ({ from, to }: Range) => sql`utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`;

describe.each(some(['1.3', '1.2'] as const, 1))('from build %s', (build) => {
  test('every trace is stored, with the transactions and messages on its pages', async () => {
    const range = await crawl(['traces'], { build });
    const traces = [...network.simulator.truth.traces(range)];
    expect(await ids(sql`select trace_id as id from ton.traces where ${between(range)}`)).toEqual(
      traces.map(({ trace_id }) => trace_id).sort(),
    );
    const transactions = traces.flatMap(({ transactions_order }) => transactions_order);
    expect(await ids(sql`select hash as id from ton.transactions`)).toEqual(transactions.sort());
  });

  test('every transfer and burn is stored, even if the server shuffles those of one second', async () => {
    const range = await crawl(['jetton_transfers', 'jetton_burns', 'nft_transfers'], { build });
    const expected = {
      jetton_transfers: [...network.simulator.truth.jettonTransfers(range)],
      jetton_burns: [...network.simulator.truth.jettonBurns(range)],
      nft_transfers: [...network.simulator.truth.nftTransfers(range)],
    };
    for (const [table, rows] of Object.entries(expected)) {
      expect(rows.length).toBeGreaterThan(0);
      const stored = await ids(
        sql`select transaction_hash as id from ${sql.raw(`ton.${table}`)} where ${between(range)}`,
      );
      expect(stored).toEqual(rows.map(({ transaction_hash }) => transaction_hash).sort());
    }
  });
});

describe('actions', () => {
  test.each(some(['1.3', '1.2'] as const, 1))(
    'from build %s are stored as they are finally classified',
    async (build) => {
      const range = await crawl(['actions'], { build });
      const expected = [...network.simulator.truth.actions(range, actionTypes)].map(
        ({ trace_id, action_id }) => `${trace_id} ${action_id}`,
      );
      expect(expected.length).toBeGreaterThan(500);
      expect(
        await ids(sql`select trace_id || ' ' || action_id as id from ton.actions where ${between(range)}`),
      ).toEqual(expected.sort());
    },
  );

  test('that were reclassified after the first reading are replaced in the second, whole seconds at a time', async () => {
    const options = { duration: 900, faults: { reclassify: { probability: 0.3, seconds: 200 } } };
    await network.serve({ load: 4, ...options, headTime: START + 620 });
    const [dataset] = await datasetsNamed('actions');
    const opened = await openTestCrawl(network.store, network.simulator.url);
    const range = { from: START, to: START + 500 };
    const read = (pass: number) =>
      crawlWants(opened, {
        dataset: dataset!,
        stream: { ...streamOf(dataset!), pass },
        zones: [[range]],
        priority: 'refresh',
      });
    await read(0);
    const stored = () =>
      ids(sql`select trace_id || ' ' || action_id as id from ton.actions where ${between(range)}`);
    const settled = [...network.simulator.truth.actions(range, actionTypes)]
      .map(({ trace_id, action_id }) => `${trace_id} ${action_id}`)
      .sort();
    expect(await stored()).not.toEqual(settled);
    network.simulator.headTime = START + 900;
    await read(1);
    expect(await stored()).toEqual(settled);
    const orphans = await ids(sql`select a.action_id as id from ton.action_accounts a
      where not exists (select 1 from ton.actions b where (b.utime, b.trace_id, b.action_id) = (a.utime, a.trace_id, a.action_id))`);
    expect(orphans).toEqual([]);
    await opened.close();
  });
});

describe.each(some(['1.2', '1.3'] as const, 1))('ties of a shuffled list of build %s', (build) => {
  const quiet = { build, load: 0.3, duration: 420, accounts: 2600 };
  const stored = (range: Range) =>
    ids(sql`select transaction_hash as id from ton.jetton_transfers where ${between(range)}`);
  const expected = (range: Range) =>
    [...network.simulator.truth.jettonTransfers(range)]
      .map(({ transaction_hash }) => transaction_hash)
      .sort();

  test.each(some([[[2, 999, 1000, 1001]], [[5000]]], 1))(
    '%j transfers in one second are all read',
    async (counts) => {
      const ties = counts.map((count, index) => ({
        second: START + 300 + 20 * index,
        count,
        of: 'jetton_transfers' as const,
      }));
      const range = await crawl(['jetton_transfers'], { ...quiet, ties });
      for (const { second, count } of ties)
        expect(expected({ from: second, to: second + 1 }).length).toBe(count);
      expect(await stored(range)).toEqual(expected(range));
      const all = ties.reduce((sum, { count }) => sum + count, 0);
      // A second larger than a page is halved until its parts fit, and a first long page is doubted once.
      expect(network.simulator.stats.byPath.get('/api/v3/jetton/transfers')).toBeLessThan(10 + all / 100);
    },
  );

  test('900 transfers that share one logical time are all read', async () => {
    const ties = [{ second: START + 300, count: 900, sameLt: true, of: 'jetton_transfers' as const }];
    const range = await crawl(['jetton_transfers'], { ...quiet, ties });
    expect(await stored(range)).toEqual(expected(range));
  });

  test('more than a page in one logical time is collected, or reported as saturated: never covered unread', async () => {
    const ties = [{ second: START + 300, count: 1250, sameLt: true, of: 'jetton_transfers' as const }];
    const range = await crawl(['jetton_transfers'], { ...quiet, ties });
    const refused = await ids(sql`select reason as id from etl.refused`);
    if (refused.length === 0) expect(await stored(range)).toEqual(expected(range));
    else expect(refused).toEqual(['saturated']);
  });
});

describe('from build 1.3', () => {
  const elections = { build: '1.3' as const, duration: 4000, load: 1, electionSeconds: 600 };
  /** Far enough behind the head for sources that lag. */
  const readable = ({ from, to }: Range): Range => ({ from, to: to - 900 });

  test('every event of the elector is stored, and every complaint with its votes', async () => {
    const range = readable(await crawl(['validator_events', 'validator_complaints'], elections));
    const events = [...network.simulator.truth.validatorEvents(range)].map(({ tx_hash }) => tx_hash);
    expect(events.length).toBeGreaterThan(0);
    expect(await ids(sql`select tx_hash as id from ton.validator_events where ${between(range)}`)).toEqual(
      events.sort(),
    );
    const complaints = [...network.simulator.truth.validatorComplaints(range)];
    expect(complaints.length).toBeGreaterThan(0);
    expect(
      await ids(sql`select complaint_hash as id from ton.validator_complaints where ${between(range)}`),
    ).toEqual(complaints.map(({ complaint_hash }) => complaint_hash).sort());
    const votes = complaints.flatMap(({ complaint_hash, voted_validators }) =>
      voted_validators.map(() => complaint_hash),
    );
    expect(
      await ids(sql`select complaint_hash as id from ton.complaint_votes where ${between(range)}`),
    ).toEqual(votes.sort());
  });

  test('every election is stored with its participants, and every cycle with its validators', async () => {
    const names = ['validator_elections', 'validator_cycles'];
    const range = readable(await crawl(names, elections));
    const ask = async (path: string, member: string) => {
      const response = await fetch(`${network.simulator.url}/api/v3/validators/${path}=true&limit=100`);
      const body = z.record(z.string(), z.unknown()).parse(await response.json());
      return z.array(z.looseObject({})).parse(body[member]);
    };
    const isWithin = (time: unknown) => range.from <= Number(time) && Number(time) < range.to;
    const held = (await ask('elections?return_participants', 'elections')).filter((one) =>
      isWithin(one['election_id']),
    );
    expect(held.length).toBeGreaterThan(2);
    expect(
      await ids(sql`select e.election_id || ' ' || e.total_stake || ' ' || p.position || ' ' || p.stake as id
        from ton.validator_elections e join ton.election_participants p using (utime, election_id)`),
    ).toEqual(
      held
        .flatMap(({ election_id, total_stake, participants }) =>
          Participants.parse(participants).map(({ stake }, at) =>
            [election_id, total_stake, at, stake].join(' '),
          ),
        )
        .sort(),
    );
    const cycles = (await ask('cycles?return_validators', 'cycles')).filter((one) =>
      isWithin(one['cycle_start']),
    );
    expect(cycles.length).toBeGreaterThan(2);
    expect(
      await ids(sql`select extract(epoch from c.utime)::int8 || ' ' || c.total_weight || ' ' || v.position || ' ' || v.stake as id
        from ton.validator_cycles c join ton.cycle_validators v using (utime)`),
    ).toEqual(
      cycles
        .flatMap(({ cycle_start, total_weight, validators }) =>
          Participants.parse(validators).map(({ stake }, at) =>
            [cycle_start, total_weight, at, stake].join(' '),
          ),
        )
        .sort(),
    );
  });

  test('pools of the watch list, and all of their nominators, are read one by one', async () => {
    await network.serve(elections);
    for (const pool of network.simulator.truth.pools) await addWatch(network.store.database, pool, 'a pool');
    let mixedUp = 0;
    const after: SimulatorOptions['after'] = ({ path }, response) => {
      if (mixedUp > 0 || !path.endsWith('/nominatorPools/validatorEvents')) return response;
      const body = PoolPage.parse(JSON.parse(String(response.body)));
      const [event] = body.events;
      if (event === undefined) return response;
      mixedUp += 1;
      event.pool_address = `0:${'A'.repeat(64)}`;
      return { ...response, body: JSON.stringify(body) };
    };
    const names = ['validator_events', 'nominator_pool_events', 'nominator_events'];
    const range = readable(await crawl(names, { ...elections, after }));
    expect(mixedUp).toBe(1);
    const expected = network.simulator.truth.pools.flatMap((pool) => [
      ...network.simulator.truth.poolEvents(pool, range),
    ]);
    expect(expected.length).toBeGreaterThan(0);
    expect(
      await ids(sql`select tx_hash as id from ton.nominator_pool_events where ${between(range)}`),
    ).toEqual(expected.map(({ tx_hash }) => tx_hash).sort());
    const scopes = await ids(
      sql`select scope as id from etl.coverage where dataset = 'nominator_pool_events'`,
    );
    const stakers = await ids(sql`select distinct stake_holder_address as id from ton.validator_events`);
    expect(scopes).toEqual([...new Set([...network.simulator.truth.pools, ...stakers])].sort());
    const changes = network.simulator.truth.pools.flatMap((pool) => [
      ...network.simulator.truth.nominatorEvents(pool, range),
    ]);
    expect(changes.length).toBeGreaterThan(expected.length);
    expect(
      await ids(sql`select tx_hash || nominator_address || type || balance_after || ' ' || pending_balance_after as id
        from ton.nominator_events where ${between(range)}`),
    ).toEqual(
      changes
        .map((one) =>
          [
            one.tx_hash,
            one.nominator_address,
            one.type,
            one.balance_after,
            ' ',
            one.pending_balance_after,
          ].join(''),
        )
        .sort(),
    );
  });
});
