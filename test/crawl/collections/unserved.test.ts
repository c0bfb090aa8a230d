import { beforeEach, describe, expect, test } from 'vitest';
import { errorResponse, htmlResponse, type HttpResponse } from '../../../src/simulator/http/response.ts';
import type { Faults } from '../../../src/simulator/faults.ts';
import { readOnce, readStreamsOf, select } from '../../support/collections.ts';
import { useNetwork } from '../../support/network.ts';
import { some } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const KINDS = ['500', '422', 'timeout', 'broken'] as const;

const network = useNetwork({ start: START, duration: 300, seed: 11, load: 1, accounts: 200 });

const read = (name: string, range?: { from: number; to: number }) =>
  readOnce(network.store, network.simulator.url, [name], range === undefined ? {} : { range });

async function texts(statement: string): Promise<string[]> {
  return (await select(network.store, statement)).map(({ id }) => String(id));
}

/** What the server does not serve from now on; if nothing is named, it serves all again. */
function withhold(
  path: string,
  member: string,
  values: readonly string[],
  unservableAs: Faults['unservableAs'] = '500',
) {
  const unservable = values.map((value) => ({ path, member, value }));
  Object.assign(network.simulator.faults, { unservable, unservableAs });
  network.simulator.stats.clear();
}

const requestsTo = (path: string) => network.simulator.stats.byPath.get(path) ?? 0;

const failureOf = async (name: string) =>
  (await texts(`select message as id from etl.failures where dataset = '${name}'`))[0];

describe('a row of a list that cannot be served', () => {
  beforeEach(() => network.serve({ duration: 1800, accounts: 2000, load: 2 }));

  test.each(
    some(
      [
        ['jetton_masters', '/api/v3/jetton/masters', '500'],
        ['nft_collections', '/api/v3/nft/collections', '422'],
        ['nft_items', '/api/v3/nft/items', 'timeout'],
        ['nft_items', '/api/v3/nft/items', 'broken'],
      ] as const,
      2,
    ),
  )('of %s (%s, %s) is skipped, and read when it is served', async (name, path, as) => {
    const all = `select address as id from ton.${name} order by 1`;
    await read(name);
    const truth = await texts(all);
    expect(truth.length).toBeGreaterThan(2);
    await network.store.database.script(`truncate etl.cursors, etl.lookups, ton.${name}`);
    const bad = [truth[0]!, truth[Math.floor(truth.length / 2)]!, truth.at(-1)!];
    withhold(path, 'address', bad, as);
    expect(await read(name)).toEqual([name]);
    expect(await texts(all)).toEqual(truth.filter((id) => !bad.includes(id)));
    const [cursor] = await texts(
      `select jsonb_array_length(cursor -> 'lacking')::text as id from etl.cursors where dataset = '${name}' and scope = 'list'`,
    );
    expect(cursor).toBe('3');
    // Requested one by one, and found at last.
    withhold(path, 'address', []);
    expect(await read(name)).toEqual([]);
    expect(await texts(all)).toEqual(truth);
    expect(requestsTo(path)).toBeLessThan(10);
  });
});

describe('a subject that cannot be served', () => {
  beforeEach(() => network.serve());

  test.each(some(KINDS, 1))('is skipped, and the rest of its batch is stored: %s', async (as) => {
    const addresses = await watchAccounts();
    const bad = [addresses[0]!, addresses[7]!];
    withhold('/api/v3/accountStates', 'address', bad, as);
    expect(await read('account_states')).toEqual(['account_states']);
    const found = await texts(`select address as id from ton.account_states order by 1`);
    expect(found).toEqual(addresses.filter((address) => !bad.includes(address)).sort());
    expect(
      await texts(`select subject as id from etl.lookups
      where dataset = 'account_states' and found is null and again_at > clock_timestamp() + interval '50 seconds' order by 1`),
    ).toEqual([...bad].sort());
    expect(await failureOf('account_states')).toMatch(/is not served: /);
    withhold('/api/v3/accountStates', 'address', []);
    expect(await read('account_states')).toEqual([]);
    expect(await texts(`select address as id from ton.account_states`)).toHaveLength(addresses.length);
  });
});

describe('a block that cannot be served', () => {
  const path = '/api/v3/masterchainBlockShardState';
  const range = { from: START + 100, to: START + 200 };
  const asked = 'select distinct mc_seqno as id from ton.shard_states order by 1';
  beforeEach(() => network.serve());

  test.each(some(KINDS, 2))('is skipped, and read when it is served: %s', async (as) => {
    const masters = [...network.simulator.truth.blocks(range)].filter(({ workchain }) => workchain === -1);
    const all = masters.map(({ seqno }) => String(seqno));
    const bad = [masters[0]!, masters[20]!, masters.at(-1)!];
    withhold(
      path,
      'root_hash',
      bad.map(({ root_hash }) => root_hash),
      as,
    );
    expect(await read('shard_states', range)).toEqual(['shard_states']);
    const left = bad.map(({ seqno }) => String(seqno));
    expect(await texts(asked)).toEqual(all.filter((seqno) => !left.includes(seqno)));
    expect(await failureOf('shard_states')).toMatch(/masterchain block \d+ is not served: /);
    // It requests what is missing, and no other block.
    withhold(path, 'root_hash', []);
    expect(await read('shard_states', range)).toEqual([]);
    expect(await texts(asked)).toEqual(all);
    expect(requestsTo(path)).toBe(3);
  });

  test('is a failure of the endpoint if it serves no other block either: few requests are sent', async () => {
    const masters = [...network.simulator.truth.blocks(range)].filter(({ workchain }) => workchain === -1);
    withhold(
      path,
      'root_hash',
      masters.map(({ root_hash }) => root_hash),
    );
    expect(await read('shard_states', range)).toEqual(['shard_states']);
    expect(requestsTo(path)).toBeLessThan(20);
    withhold(path, 'root_hash', []);
    expect(await read('shard_states', range)).toEqual([]);
    expect(await texts(asked)).toHaveLength(masters.length);
  });
});

test('404 for many blocks without any state postpones the walk: an hour of blocks is not requested in vain', async () => {
  const path = '/api/v3/masterchainBlockShardState';
  const range = { from: START + 10, to: START + 280 };
  let isBroken = true;
  await network.serve({
    before: (request) => (isBroken && request.path === path ? errorResponse(404, 'nothing here') : undefined),
  });
  expect(await read('shard_states', range)).toEqual(['shard_states']);
  expect(requestsTo(path)).toBeLessThanOrEqual(64);
  expect(await failureOf('shard_states')).toContain('answers 404 for each of 64 blocks');
  isBroken = false;
  expect(await read('shard_states', range)).toEqual([]);
  const masters = [...network.simulator.truth.blocks(range)].filter(({ workchain }) => workchain === -1);
  expect(masters.length).toBeGreaterThan(64);
  expect(await texts('select distinct mc_seqno as id from ton.shard_states')).toHaveLength(masters.length);
});

describe('a transaction of a history that cannot be served', () => {
  const path = '/api/v2/getTransactions';
  const stored = (account: string) =>
    texts(`select lt as id from ton.account_transactions where account = '${account}' order by lt desc`);
  beforeEach(() => network.serve({ accounts: 60, load: 10, duration: 300 }));

  test.each(some(KINDS, 2))('keeps what is before it, and every other history: %s', async (as) => {
    const { simulator, store } = network;
    const accounts = busiest(3);
    await store.database.script(
      accounts.map((one) => `insert into etl.watch (address) values ('${one}');`).join(''),
    );
    const lts = new Map(
      accounts.map((one) => [
        one,
        simulator.truth.accountTransactions(one).map(({ transaction_id }) => transaction_id.lt),
      ]),
    );
    const [victim = ''] = accounts;
    const history = simulator.truth.accountTransactions(victim);
    expect(history.length).toBeGreaterThan(20);
    const bad = history[12]!;
    withhold(path, 'data', [bad.data], as);
    expect(await read('account_transactions')).toEqual(['account_transactions']);
    const descending = (account: string) =>
      [...lts.get(account)!].sort((a, b) => Number(BigInt(b) - BigInt(a)));
    const index = descending(victim).indexOf(bad.transaction_id.lt);
    expect(await stored(victim)).toEqual(descending(victim).slice(0, index));
    for (const account of accounts.slice(1)) expect(await stored(account)).toEqual(descending(account));
    expect(await failureOf('account_transactions')).toContain(`the history of ${victim} is not served`);
    withhold(path, 'data', []);
    expect(await read('account_transactions')).toEqual([]);
    expect(await stored(victim)).toEqual(descending(victim));
  });
});

describe('404 for each of many subjects', () => {
  const path = '/api/v2/getExtendedAddressInformation';
  const answers: [string, HttpResponse][] = [
    ['a page of a gateway', htmlResponse(404, '404 Not Found')],
    ['JSON of a server', errorResponse(404, 'nothing here')],
    [
      'JSON of v2',
      {
        status: 404,
        body: '{"ok":false,"error":"no","code":404}',
        headers: { 'content-type': 'application/json' },
      },
    ],
  ];

  test.each(some(answers, 1))('marks none of them as unknown: %s', async (_, answer) => {
    let isBroken = true;
    await network.serve({ before: (request) => (isBroken && request.path === path ? answer : undefined) });
    const addresses = await watchAccounts();
    expect(await read('extended_account_states')).toEqual(['extended_account_states']);
    expect(await texts(`select subject as id from etl.lookups where found is not null`)).toEqual([]);
    expect(requestsTo(path)).toBeLessThan(addresses.length * 3);
    isBroken = false;
    expect(await read('extended_account_states')).toEqual([]);
    expect(await texts('select address as id from ton.extended_account_states')).toHaveLength(
      addresses.length,
    );
  });

  test('marks none of them as unknown if many are requested at once', async () => {
    let isBroken = true;
    const states = '/api/v3/accountStates';
    await network.serve({
      before: (request) => (isBroken && request.path === states ? answers[0]![1] : undefined),
    });
    const addresses = await watchAccounts();
    expect(await read('account_states')).toEqual(['account_states']);
    expect(await texts(`select subject as id from etl.lookups where found is not null`)).toEqual([]);
    expect(requestsTo(states)).toBeLessThan(30);
    isBroken = false;
    expect(await read('account_states')).toEqual([]);
    expect(await texts('select address as id from ton.account_states')).toHaveLength(addresses.length);
  });

  test('marks a few as unknown, and those whose batch got a response for another one', async () => {
    let known = '';
    await network.serve({
      before: ({ path: asked, search }) =>
        asked === path && search.get('address') !== known ? answers[2]![1] : undefined,
    });
    const addresses = (await watchAccounts()).sort();
    known = addresses[3]!;
    expect(await read('extended_account_states')).toEqual([]);
    const unknown = await texts(`select subject as id from etl.lookups where not found order by 1`);
    expect(unknown).toEqual(addresses.filter((one) => one !== known));
  });
});

describe('an empty response for each of many accounts that stored transactions name', () => {
  const empty: [string, string, string, (body: string) => string][] = [
    ['an empty list', 'account_states', '/api/v3/accountStates', () => '{"accounts":[]}'],
    ['null', 'account_states', '/api/v3/accountStates', () => '{"accounts":null}'],
    ['an empty map', 'address_book', '/api/v3/addressBook', () => '{}'],
  ];

  test.each(some(empty, 2))('marks none of them as unknown: %s (%s)', async (_, name, path, answer) => {
    let isBroken = true;
    const { url, truth } = await network.serve({
      after: (request, response) =>
        isBroken && request.path === path
          ? { ...response, body: answer(response.body.toString()) }
          : response,
    });
    const range = { from: START, to: START + 200 };
    await readStreamsOf(network.store, url, range, ['transactions']);
    const choices = { accounts: 'seen' as const, bocs: false };
    const look = () => readOnce(network.store, url, [name], { range, choices });
    expect(await look()).toEqual([name]);
    expect(await texts(`select subject as id from etl.lookups where found is not null`)).toEqual([]);
    expect(await failureOf(name)).toMatch(/knows none of the \d+ subjects/);
    isBroken = false;
    expect(await look()).toEqual([]);
    const seen = new Set([...truth.transactions(range)].map(({ account }) => account));
    expect((await texts(`select address as id from ton.${name}`)).length).toBeGreaterThanOrEqual(seen.size);
  });
});

describe('a list whose server', () => {
  test.each([
    ['ignores the offset', (search: URLSearchParams) => search.set('offset', '0')],
    ['takes another name for the offset', (search: URLSearchParams) => search.delete('offset')],
    [
      'caps the offset',
      (search: URLSearchParams) => search.set('offset', String(Number(search.get('offset')) % 20)),
    ],
  ])('%s ends with an error, because its pages repeat', async (_, change) => {
    const path = '/api/v3/nft/items';
    const { url } = await network.serve({
      duration: 600,
      accounts: 2000,
      load: 2,
      before: (request) => {
        if (request.path === path) change(request.search);
        return undefined;
      },
    });
    expect(await readOnce(network.store, url, ['nft_items'])).toEqual(['nft_items']);
    expect(requestsTo(path)).toBeLessThan(20);
    expect(await failureOf('nft_items')).toMatch(/begin with the same row: the server ignores the offset/);
  });
});

/** The accounts with the most transactions. */
function busiest(count: number): string[] {
  const counts = new Map<string, number>();
  for (const { account } of network.simulator.truth.transactions())
    counts.set(account, (counts.get(account) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([account]) => account);
}

/** Watches some accounts that the network knows. */
async function watchAccounts(): Promise<string[]> {
  const addresses = busiest(20);
  const values = addresses.map((address) => `('${address}')`).join();
  await network.store.database.script(`insert into etl.watch (address) values ${values}`);
  return addresses;
}
