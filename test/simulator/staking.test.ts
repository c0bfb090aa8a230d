import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import type { ComplaintJson } from '../../src/simulator/network/staking/complaint.ts';
import type { CycleJson, ElectionJson } from '../../src/simulator/network/staking/cycle-json.ts';
import type { PoolEventJson } from '../../src/simulator/network/staking/pool-events.ts';
import type { ValidatorEventJson } from '../../src/simulator/network/staking/validator-event.ts';
import { makeValidator } from './open-api.ts';
import { hasOpenapi, NO_OPENAPI } from '../support/shared-data.ts';

const START = 1_767_225_600;
const LENGTH = 600;
const SIZE = {
  start: START,
  duration: 3000,
  load: 15,
  accounts: 200,
  electionSeconds: LENGTH,
  ties: [
    { second: START + 1205, count: 1100, of: 'validator_events' },
    { second: START + 1310, count: 1001, of: 'pool_events' },
  ],
} as const;
const EVENTS = '/api/v3/validators/events';
const COMPLAINTS = '/api/v3/validators/complaints';
const NOMINATOR_EVENTS = '/api/v3/staking/nominatorPools/nominatorEvents';
const POOL_EVENTS = '/api/v3/staking/nominatorPools/validatorEvents';

interface Body {
  readonly error?: string;
  readonly start_utime?: number;
  readonly end_utime?: number;
  readonly events?: unknown[];
  readonly complaints?: ComplaintJson[];
  readonly elections?: ElectionJson[];
  readonly cycles?: CycleJson[];
  readonly transactions?: TransactionJson[];
}

interface Member {
  readonly validator_pubkey: string;
  readonly stake: string;
}

describe('validators and pools of build 1.3', () => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator(SIZE);
  });
  afterAll(() => simulator.close());

  async function get(path: string): Promise<{ status: number; body: Body }> {
    const response = await fetch(simulator.url + path);
    return { status: response.status, body: (await response.json()) as Body };
  }
  const eventsOf = async (query: string): Promise<ValidatorEventJson[]> =>
    (await get(`${EVENTS}?${query}`)).body.events as ValidatorEventJson[];
  const poolEventsOf = async (query: string): Promise<PoolEventJson[]> =>
    (await get(`${POOL_EVENTS}?${query}`)).body.events as PoolEventJson[];
  const complaintsOf = async (query: string): Promise<ComplaintJson[]> =>
    (await get(`${COMPLAINTS}?${query}`)).body.complaints ?? [];

  test.skipIf(!hasOpenapi)(`are as described (${NO_OPENAPI} if it is absent)`, async () => {
    const validate = makeValidator();
    const [pool] = simulator.truth.pools;
    for (const path of [
      `${EVENTS}?limit=1000`,
      `${EVENTS}?start_utime=${START}&end_utime=${START + 900}`,
      `${COMPLAINTS}?limit=1000`,
      `${POOL_EVENTS}?pool=${pool}&limit=1000`,
      `${NOMINATOR_EVENTS}?pool=${pool}&limit=1000`,
      `/api/v3/staking/nominatorPools/pool?pool=${pool}`,
      `/api/v3/validators/elections?limit=100&return_participants=true`,
      `/api/v3/validators/cycles?limit=100&return_validators=true`,
      `/api/v3/staking/nominatorPools/pool?pool=0:${'0'.repeat(64)}`,
      POOL_EVENTS,
      `${EVENTS}?limit=1001`,
    ]) {
      const { status, body } = await get(path);
      expect(validate(path.split('?')[0]!, status, body), path).toBeUndefined();
    }
  });

  test('are unknown to build 1.2', async () => {
    const old = await startSimulator({ ...SIZE, ties: [], duration: 60, build: '1.2' });
    for (const path of [EVENTS, COMPLAINTS, `${POOL_EVENTS}?pool=x`]) {
      const response = await fetch(old.url + path);
      expect(response.status).toBe(500);
      expect(await response.text()).toMatch(/Cannot GET (?:validators|staking)\//);
    }
    await old.close();
  });

  test('events are the elector’s transactions, newest first, ten at a time', async () => {
    const truth = [...simulator.truth.validatorEvents()];
    const elector = `-1:${'3'.repeat(64)}`;
    const named = truth.slice(0, 100).map((event) => `hash=${encodeURIComponent(event.tx_hash)}`);
    const { body } = await get(`/api/v3/transactions?${named.join('&')}&limit=1000`);
    expect(body.transactions?.length).toBe(100);
    expect(body.transactions?.every((transaction) => transaction.account === elector)).toBe(true);
    expect(await eventsOf('')).toEqual(truth.slice(-10).reverse());
    expect(await eventsOf('sort=asc&limit=1000&offset=50')).toEqual(truth.slice(50, 1050));
    expect(new Set(truth.map((event) => event.type)).size).toBe(3);
    const recovered = truth.find((event) => event.type === 'stake_recovered')!;
    expect('validator_pubkey' in recovered || 'reason' in recovered).toBe(false);
  });

  test('events are filtered by holder, keys in every form, and type', async () => {
    const truth = [...simulator.truth.validatorEvents()].reverse();
    const some = truth.find((event) => event.type === 'stake_accepted')!;
    const base64 = encodeURIComponent(Buffer.from(some.validator_pubkey!, 'hex').toString('base64'));
    const expected: [string, (event: ValidatorEventJson) => boolean][] = [
      [
        `stake_holder_address=${some.stake_holder_address}`,
        (event) => event.stake_holder_address === some.stake_holder_address,
      ],
      [`validator_pubkey=${base64}`, (event) => event.validator_pubkey === some.validator_pubkey],
      [`adnl_address=${some.adnl_addr?.toLowerCase()}`, (event) => event.adnl_addr === some.adnl_addr],
      ['type=stake_rejected', (event) => event.type === 'stake_rejected'],
      ['type=whatever', () => false],
    ];
    for (const [query, passes] of expected)
      expect(await eventsOf(`${query}&limit=1000`), query).toEqual(truth.filter(passes).slice(0, 1000));
    const both = await get(
      `${EVENTS}?stake_holder_address=${some.stake_holder_address}&adnl_address=${some.adnl_addr}`,
    );
    expect(both.status).toBe(422);
  });

  test('a window is echoed only as far as it was requested', async () => {
    const { body } = await get(`${EVENTS}?end_utime=${START + 900}`);
    expect([body.start_utime, body.end_utime]).toEqual([undefined, START + 900]);
    const wrong = await get(`${EVENTS}?start_utime=9&end_utime=8`);
    expect([wrong.status, wrong.body.error]).toEqual([
      422,
      'start_utime must be less than or equal to end_utime',
    ]);
    expect((await get(`${COMPLAINTS}?start_utime=9&end_utime=8`)).status).toBe(422);
  });

  test('a second may hold more events than a page', async () => {
    const second = START + 1205;
    const truth = [...simulator.truth.validatorEvents({ from: second, to: second + 1 })];
    expect(truth.length).toBe(1100);
    expect((await eventsOf(`start_utime=${second}&end_utime=${second}&limit=1000`)).length).toBe(1000);
    const [pool] = simulator.truth.pools;
    const window = `start_utime=${START + 1310}&end_utime=${START + 1310}`;
    expect((await poolEventsOf(`pool=${pool}&${window}&limit=1000`)).length).toBe(1000);
    expect([...simulator.truth.poolEvents(pool!, { from: START + 1310, to: START + 1311 })].length).toBe(
      1001,
    );
  });

  test('pool events need a pool or a validator, and know no offset and no direction', async () => {
    const missing = await get(POOL_EVENTS);
    expect([missing.status, missing.body.error]).toEqual([422, 'validator or pool parameter is required']);
    const [pool] = simulator.truth.pools;
    const truth = [...simulator.truth.poolEvents(pool!)].reverse();
    expect(await poolEventsOf(`pool=${pool}&limit=50&offset=20&sort=asc`)).toEqual(truth.slice(0, 50));
    expect((await poolEventsOf(`pool=${pool}`)).length).toBe(100);
    expect(new Set(truth.map((event) => event.type))).toEqual(
      new Set(['reward', 'penalty', 'deposit', 'withdrawal']),
    );
    const ofValidator = await poolEventsOf(`validator=${truth[0]!.validator_address}&limit=1000`);
    expect(new Set(ofValidator.map((event) => event.pool_address)).size).toBe(2);
  });

  test('a pool’s balances continue from one event to the next', () => {
    expect(simulator.truth.pools.length).toBe(3);
    for (const pool of simulator.truth.pools) {
      const events = [...simulator.truth.poolEvents(pool)];
      expect(events.length).toBeGreaterThan(50);
      const broken = events.filter(
        (event, at) =>
          BigInt(event.balance_before) + BigInt(event.balance_delta) !== BigInt(event.balance_after) ||
          (at > 0 && events[at - 1]!.balance_after !== event.balance_before),
      );
      expect(broken).toEqual([]);
    }
  });

  test('nominators’ balances continue from one event to the next, and end in those of the pool', async () => {
    const [pool] = simulator.truth.pools;
    const events = [...simulator.truth.nominatorEvents(pool!)];
    const held = new Map<string, readonly [string, string]>();
    for (const event of events) {
      const { nominator_address: nominator } = event;
      const before = [event.balance_before, event.pending_balance_before] as const;
      expect(held.get(nominator) ?? before).toEqual(before);
      const after = [event.balance_after, event.pending_balance_after] as const;
      expect([event.balance_delta, event.pending_balance_delta].map(BigInt)).toEqual(
        after.map((amount, at) => BigInt(amount) - BigInt(before[at]!)),
      );
      held.set(nominator, after);
    }
    expect(new Set(events.map(({ type }) => type)).size).toBe(5);
    const { body } = await get(`/api/v3/staking/nominatorPools/pool?pool=${pool}`);
    const holders = (body as { active_nominators?: Record<string, string>[] }).active_nominators ?? [];
    expect(
      holders.map(({ address, balance, pending_balance }) => [address, [balance, pending_balance]]),
    ).toEqual(expect.arrayContaining([...held].filter(([, [own, waits]]) => own !== '0' || waits !== '0')));
    const newest = (await get(`${NOMINATOR_EVENTS}?pool=${pool}&limit=5`)).body.events;
    expect(newest).toEqual(events.slice(-5).reverse());
    expect((await get(NOMINATOR_EVENTS)).status).toBe(422);
  });

  test('complaints collect votes until they are passed, and some never are', async () => {
    const about = START + LENGTH;
    const at = async (utime: number): Promise<ComplaintJson[]> => {
      simulator.headTime = utime;
      return complaintsOf(`election_id=${about}&limit=1000&sort=asc`);
    };
    const unnamed = await at(about + LENGTH + LENGTH / 8);
    const [early, late] = [await at(about + LENGTH + LENGTH / 4), await at(about + 2.5 * LENGTH)];
    simulator.headTime = START + SIZE.duration;
    expect(unnamed).toEqual([]);
    expect(early.length).toBeGreaterThan(0);
    expect(late.length).toBe(6);
    const before = new Map(early.map((complaint) => [complaint.complaint_hash, complaint]));
    expect(late.some((complaint) => complaint.is_passed)).toBe(true);
    for (const complaint of late) {
      const { voted_validators: then } = before.get(complaint.complaint_hash) ?? { voted_validators: [] };
      expect(complaint.voted_validators.slice(0, then.length)).toEqual(then);
      expect(complaint.is_passed).toBe(BigInt(complaint.weight_remaining) < 0n);
    }
    expect(early.every((complaint) => !complaint.is_passed)).toBe(true);
  });

  test('complaints are ordered by creation, then always by hash', async () => {
    const truth = simulator.truth.validatorComplaints();
    expect(await complaintsOf('limit=1000&sort=asc')).toEqual(truth);
    const down = await complaintsOf('limit=1000');
    const compare = (a: ComplaintJson, b: ComplaintJson): number =>
      b.created_at - a.created_at || (a.complaint_hash < b.complaint_hash ? -1 : 1);
    expect(down).toEqual(truth.toSorted(compare));
    expect((await complaintsOf('')).length).toBe(10);
    expect(down.some((complaint) => !Number.isInteger(complaint.approved_percent))).toBe(true);
    expect(down.some((complaint) => complaint.adnl_addr === null)).toBe(true);
    const some = truth[4]!;
    const window = `start_utime=${some.created_at}&end_utime=${some.created_at}`;
    expect(await complaintsOf(`${window}&validator_pubkey=${some.validator_pubkey}`)).toEqual([some]);
  });

  test('cycles name their election late, and both lists can be complete', async () => {
    simulator.headTime = START + LENGTH + 10;
    const { body } = await get('/api/v3/validators/cycles?sort=asc');
    simulator.headTime = START + SIZE.duration;
    expect(body.cycles?.map((cycle) => cycle.election_id)).toEqual([START - LENGTH, undefined, undefined]);
    const whole = await get('/api/v3/validators/elections?return_participants=1&limit=101');
    expect(whole.status).toBe(422);
    const { body: finished } = await get('/api/v3/validators/elections?finished=true&limit=1');
    expect(finished.elections?.[0]?.finished).toBe(true);
  });

  test('elections, cycles and events have the same stakes, even while an election is open', async () => {
    const elections = async (at: number) => {
      simulator.headTime = at;
      const query = 'limit=100&sort=asc&return_participants=true&return_validators=true';
      const [took, serve] = [
        (await get(`/api/v3/validators/elections?${query}`)).body.elections ?? [],
        (await get(`/api/v3/validators/cycles?${query}`)).body.cycles ?? [],
      ];
      simulator.headTime = START + SIZE.duration;
      return { took, serve };
    };
    const accepted = (id: number, at = Infinity): Map<string, bigint> => {
      const stakes = new Map<string, bigint>();
      for (const { type, election_id, validator_pubkey: key = '', amount, utime } of events)
        if (type === 'stake_accepted' && election_id === id && utime <= at)
          stakes.set(key, (stakes.get(key) ?? 0n) + BigInt(amount));
      return stakes;
    };
    const staked = (members: readonly object[] = []): Map<string, bigint> =>
      new Map((members as Member[]).map(({ validator_pubkey, stake }) => [validator_pubkey, BigInt(stake)]));
    const total = (stakes: Map<string, bigint>): string =>
      String([...stakes.values()].reduce((sum, stake) => sum + stake, 0n));

    const events = [...simulator.truth.validatorEvents()];
    const { took, serve } = await elections(START + SIZE.duration);
    const known = took.filter(({ election_id }) => accepted(election_id).size > 0);
    expect(known.length).toBeGreaterThan(2);
    for (const { election_id, participants, total_stake, total_participants } of known) {
      const stakes = accepted(election_id);
      expect(staked(participants)).toEqual(stakes);
      expect([total_stake, total_participants]).toEqual([total(stakes), stakes.size]);
    }
    const ids = new Set(known.map(({ election_id }) => election_id));
    for (const { cycle_start, validators, total_stake } of serve.filter((one) => ids.has(one.cycle_start))) {
      expect(staked(validators)).toEqual(accepted(cycle_start));
      expect(total_stake).toBe(total(accepted(cycle_start)));
    }
    // Halfway through an election, some participants have not staked yet, or not everything.
    const next = START + 2 * LENGTH;
    const open = (await elections(START + LENGTH * 1.45)).took.find((one) => one.election_id === next);
    const first = staked(open?.participants);
    expect(first.size).toBeGreaterThan(0);
    for (const [key, stake] of first) expect(stake <= (accepted(next).get(key) ?? 0n)).toBe(true);
    expect(BigInt(total(first)) < BigInt(total(accepted(next)))).toBe(true);
    const unopened = (await elections(START + LENGTH * 1.1)).took.find((one) => one.election_id === next);
    expect(unopened).toMatchObject({ total_stake: '0', total_participants: 0, participants: [] });
  });

  test('come from a copy that lags if configured', async () => {
    const [newest] = await eventsOf('limit=1');
    simulator.faults.staleEvents = 300;
    const [stale] = await eventsOf('limit=1');
    delete simulator.faults.staleEvents;
    expect(newest!.utime - stale!.utime).toBeGreaterThan(280);
  });
});
