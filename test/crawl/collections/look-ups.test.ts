import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'drizzle-orm';
import { readDueSubjects } from '../../../src/ledger/subjects.ts';
import { htmlResponse } from '../../../src/simulator/http/response.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { bare, readOnce, readStreamsOf, select, sorted } from '../../support/collections.ts';
import { DOT_TON } from '../../support/books/books-of-items.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { plain, rebuilt } from '../../support/rebuild/rebuild-collections.ts';
import { some } from '../../support/thorough.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { actions } from '../../../src/tables/ton/actions.ts';

const START = 1_767_225_600;
const NETWORK = { start: START, duration: 300, load: 4, accounts: 400 };
const RANGE = { from: START, to: START + 240 };

let store: TestStore;
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(() => store.close());

async function watch(addresses: readonly string[]): Promise<void> {
  const values = addresses.map((address) => `('${address}')`).join(',');
  await store.database.script(`insert into etl.watch (address) values ${values} on conflict do nothing`);
}

const readStreams = (simulator: Simulator, ...names: string[]) =>
  readStreamsOf(store, simulator.url, RANGE, names);

function numbers(row: Readonly<Record<string, unknown>>, ...names: string[]): object {
  return Object.fromEntries(names.map((name) => [name, Number(row[name])]));
}

async function asked(
  simulator: Simulator,
  path: string,
  names: readonly string[],
  seen = false,
): Promise<number> {
  simulator.stats.clear();
  const choices = { accounts: seen ? ('seen' as const) : ('watched' as const) };
  await readOnce(store, simulator.url, names, { choices });
  return simulator.stats.byPath.get(path) ?? 0;
}

describe('an endpoint that the server lacks', () => {
  test('leaves nothing behind that marks a subject as unknown, and is requested once', async () => {
    const simulator = await startSimulator({ ...NETWORK, faults: { absent: ['/api/v2'] } });
    try {
      await watch([`0:${'A'.repeat(64)}`, `0:${'B'.repeat(64)}`]);
      expect(
        await asked(simulator, '/api/v2/getExtendedAddressInformation', ['extended_account_states']),
      ).toBe(1);
      expect(await select(store, 'select * from etl.lookups where found is not null')).toEqual([]);
    } finally {
      await simulator.close();
    }
  });
});

describe('what only build 1.3 knows', () => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator({ ...NETWORK, duration: 1500, electionSeconds: 300 });
  });
  afterAll(() => simulator.close());

  test('pools that had events, or that an interface names, end equal to the truth with their nominators', async () => {
    const [active, named, ...others] = simulator.truth.pools;
    expect(others.length).toBeGreaterThan(0);
    await watch([active!]);
    await readStreamsOf(store, simulator.url, { from: START, to: START + 600 }, ['nominator_events']);
    await store.database.script(`
      insert into ton.address_book (address, interfaces) values ('${named}', '{tv_pool}'), ('0:${'C'.repeat(64)}', '{wallet_v4r2}')`);
    expect(await readOnce(store, simulator.url, ['nominator_pools'])).toEqual([]);
    const truth = await Promise.all(
      [active, named].map(async (address) => {
        const answer = await fetch(`${simulator.url}/api/v3/staking/nominatorPools/pool?pool=${address}`);
        return { ...((await answer.json()) as Record<string, unknown>), address, address_book: undefined };
      }),
    );
    const counts = ['validator_reward_share', 'state', 'nominators_count', 'max_nominators_count'];
    const stored = (await plain(store, 'nominator_pools')).map((row) => ({
      ...row,
      ...numbers(row, ...counts),
    }));
    expect(sorted(stored)).toEqual(sorted(truth));
    const nominators = await select(
      store,
      'select pool_address, nominator_address, balance from ton.nominators',
    );
    expect(nominators.length).toBeGreaterThan(4);
    expect(await asked(simulator, '/api/v3/staking/nominatorPools/pool', ['nominator_pools'])).toBe(0);
  });

  test('auctions of watched bidders, and of those that bid in stored actions, end equal to the truth', async () => {
    const auctions = simulator.truth.entities().dnsAuctions();
    const [watched, ...bidders] = [...new Set(auctions.map(({ max_bid_address: bidder }) => bidder))];
    expect(bidders.length).toBeGreaterThan(3);
    await watch([watched!]);
    const seen = bidders.slice(1);
    await createPartitions(store.database, 'month').ensure([actions], [new Date(START * 1000).toISOString()]);
    const [bid, began] = [seen.filter((_, at) => at % 2 === 0), seen.filter((_, at) => at % 2 === 1)];
    // The collection makes the item of who sends it coins.
    for (const [type, some, source] of [
      ['auction_bid', bid, 'b'],
      ['ton_transfer', began, 'b'],
      ['nft_mint', began, `'${DOT_TON}'`],
    ] as const)
      await store.database.script(`
        insert into ton.actions (utime, trace_id, action_id, type, source, destination, start_lt, start_utime, end_utime, end_lt, trace_end_lt, details)
        select to_timestamp(${START}), b, '${type}', '${type}', ${source}, '${DOT_TON}', 1, now(), now(), 1, 1,
          '{"nft_collection": "${DOT_TON}"}' from unnest('{${some.join(',')}}'::text[]) b`);
    expect(await readOnce(store, simulator.url, ['dns_auctions'])).toEqual([]);
    const stored = (await plain(store, 'dns_auctions')).map(
      ({ auction_end_time, last_fill_up_time, ...row }) => ({
        ...row,
        auction_end_time: String((auction_end_time as Date).getTime() / 1000),
        last_fill_up_time: String((last_fill_up_time as Date).getTime() / 1000),
      }),
    );
    const truth = auctions.filter(
      ({ max_bid_address: bidder }) => bidder === watched || seen.includes(bidder),
    );
    expect(sorted(stored, 'nft_item_address')).toEqual(sorted(truth, 'nft_item_address'));
    expect(new Set(stored.map((row) => (row as { finished?: boolean }).finished)).size).toBe(2);
    expect(await asked(simulator, '/api/v3/dns/activeAuctions', ['dns_auctions'])).toBe(0);
  });
});

describe.each(some(['1.3', '1.2'] as const, 1))('look-ups of build %s', (build) => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator({ ...NETWORK, build });
  });
  afterAll(() => simulator.close());

  test('states of all accounts that transactions name end equal to the truth; a second run requests nothing', async () => {
    await readStreams(simulator, 'transactions');
    expect(await asked(simulator, '/api/v3/accountStates', ['account_states'], true)).toBeGreaterThan(0);
    const entities = simulator.truth.entities();
    const seen = await select(store, 'select distinct account from ton.transactions');
    const truth = seen.flatMap(({ account }) => entities.accountState(String(account), false) ?? []);
    expect(truth.length).toBeGreaterThan(100);
    const stored = (await plain(store, 'account_states')).map(({ contract_methods, ...row }) => ({
      ...row,
      contract_methods: (contract_methods as string[] | null)?.map(Number),
    }));
    expect(sorted(stored)).toEqual(sorted(truth));
    expect(await asked(simulator, '/api/v3/accountStates', ['account_states'], true)).toBe(0);
    const [history] = await select(store, 'select count(*)::int as rows from ton.account_state_changes');
    expect(history).toEqual({ rows: truth.length });
    // The names came with the states.
    const named = await plain(store, 'address_book');
    expect(new Set(named.map(({ address }) => address))).toEqual(
      new Set(truth.map(({ address }) => address)),
    );
    expect(await asked(simulator, '/api/v3/addressBook', ['address_book'], true)).toBe(0);
    const book = await fetch(
      `${simulator.url}/api/v3/addressBook?${named.map(({ address }) => `address=${String(address)}`).join('&')}`,
    );
    const entries = Object.entries((await book.json()) as Record<string, object>);
    expect(sorted(named)).toEqual(sorted(entries.map(([address, entry]) => ({ address, ...entry }))));
  });

  test('token data, sales, and items that transfers name end equal to the truth', async () => {
    await readOnce(store, simulator.url, ['jetton_masters', 'nft_items', 'nft_sales', 'token_metadata']);
    const entities = simulator.truth.entities();
    const sales = entities.nftSales();
    expect(sales.length).toBeGreaterThan(0);
    const stored = (await plain(store, 'nft_sales')).map(({ created_at, ...row }) => ({
      ...row,
      created_at: created_at === null ? null : (created_at as Date).getTime() / 1000,
    }));
    // An auction of a name is the item itself, which names no auction.
    expect(
      sales.filter(({ type, address, nft_address }) => type === 'telemint' && address === nft_address),
    ).not.toEqual([]);
    expect(sorted(stored)).toEqual(sorted(sales.map((sale) => ({ ...sale, nft_item: undefined }))));
    // Sales carry incomplete items: the sales and owners that the items have stay.
    expect(sorted(await rebuilt.nft_items(store))).toEqual(sorted(entities.nftItems()));
    const tokens = await plain(store, 'token_metadata');
    const masters = entities.jettonMasters().map(({ address }) => address);
    expect(tokens.map(({ address }) => address)).toEqual(expect.arrayContaining(masters));
    const sent = await fetch(
      `${simulator.url}/api/v3/metadata?${tokens.map(({ address }) => `address=${String(address)}`).join('&')}`,
    );
    const truth = Object.entries((await sent.json()) as Record<string, object>);
    const back = tokens.map(({ address, is_indexed, token_info }) => ({ address, is_indexed, token_info }));
    expect(sorted(back)).toEqual(sorted(truth.map(([address, entry]) => ({ address, ...entry }))));
    const names = ['nft_sales', 'token_metadata'];
    expect(await asked(simulator, '/api/v3/nft/sales', names)).toBe(0);
    expect(await asked(simulator, '/api/v3/metadata', names)).toBe(0);
  });

  test('multisig wallets, orders, vesting contracts and domains end equal to the truth', async () => {
    const entities = simulator.truth.entities();
    const [multisigs, vestings] = [entities.multisigs(false), entities.vestings()];
    const domains = entities.dnsRecords();
    expect(Math.min(multisigs.length, vestings.length, domains.length)).toBeGreaterThan(0);
    await watch([...multisigs, ...vestings].map(({ address }) => address));
    await watch(domains.map(({ dns_wallet }) => String(dns_wallet)));
    const names = ['multisig_wallets', 'multisig_orders', 'vesting_contracts', 'dns_records'];
    expect(await readOnce(store, simulator.url, names)).toEqual([]);
    expect(sorted(await plain(store, 'multisig_wallets', 'next_order_seqno_text'))).toEqual(
      sorted(multisigs),
    );
    const terms = (await plain(store, 'vesting_contracts')).map((row) => ({
      ...row,
      ...numbers(row, 'start_time', 'total_duration', 'unlock_period', 'cliff_duration'),
    }));
    expect(sorted(terms)).toEqual(sorted(vestings));
    expect(sorted(await rebuilt.multisig_orders(store))).toEqual(sorted(entities.multisigOrders(true)));
    expect(sorted(await plain(store, 'dns_records'), 'domain')).toEqual(sorted(domains, 'domain'));
    simulator.stats.clear();
    await readOnce(store, simulator.url, names);
    expect([...simulator.stats.byPath.keys()]).toEqual(['/api/v3/masterchainInfo']);
  });

  test('code and data of accounts are kept if they are chosen', async () => {
    const accounts = simulator.truth.entities().balances().slice(0, 20);
    await watch(accounts.map(({ account }) => account));
    await readOnce(store, simulator.url, ['account_states'], { choices: { bocs: true } });
    const stored = await select(store, 'select address, code_boc, data_boc from ton.account_states');
    const truth = accounts.map(({ account }) => {
      const state = simulator.truth.entities().accountState(account, true);
      return { address: account, code_boc: state?.code_boc ?? null, data_boc: state?.data_boc ?? null };
    });
    expect(sorted(stored)).toEqual(sorted(truth));
    expect(truth.some(({ code_boc, data_boc }) => code_boc !== null && data_boc !== null)).toBe(true);
  });

  test('vesting contracts are found by their owners, domains by their names', async () => {
    const entities = simulator.truth.entities();
    const [vestings, domains] = [entities.vestings(), entities.dnsRecords()];
    await watch(vestings.map(({ owner_address }) => owner_address));
    await store.database.script(
      domains
        .map(
          ({ domain }, index) =>
            `insert into ton.address_book (address, domain) values ('0:${String(index).padStart(64, '0')}', '${domain}')`,
        )
        .join(';'),
    );
    await readOnce(store, simulator.url, ['vesting_contracts', 'dns_records']);
    const found = await plain(store, 'vesting_contracts');
    expect(found.map(({ address }) => address).sort()).toEqual(vestings.map(({ address }) => address).sort());
    expect(sorted(await plain(store, 'dns_records'), 'domain')).toEqual(sorted(domains, 'domain'));
  });

  test('signers are found in actions', async () => {
    await readStreams(simulator, 'actions');
    await readOnce(store, simulator.url, ['multisig_wallets', 'vesting_contracts']);
    const named = await select(store, 'select distinct address from etl.seen_multisigs order by 1');
    const known = simulator.truth
      .entities()
      .multisigs(false)
      .map(({ address }) => address);
    const expected = named.map(({ address }) => String(address)).filter((address) => known.includes(address));
    const stored = (await plain(store, 'multisig_wallets')).map(({ address }) => address);
    expect(stored.sort()).toEqual(expected.sort());
    const [unknown] = await select(
      store,
      `select count(*)::int as rows from etl.lookups where dataset = 'multisig_wallets' and not found and again_at > now()`,
    );
    expect(unknown).toEqual({ rows: named.length - expected.length });
  });

  test('a balance that cannot have moved is not requested; one that has is, and its history is kept', async () => {
    const early = await startSimulator({ ...NETWORK, build, headTime: START + 150 });
    try {
      await readStreams(early, 'transactions');
      await asked(early, '/api/v3/accountStates', ['account_states'], true);
      early.headTime = START + 300;
      await readStreams(early, 'transactions');
      expect(await asked(early, '/api/v3/accountStates', ['account_states'], true)).toBeGreaterThan(0);
      const moved = await select(
        store,
        `select address from ton.account_state_changes group by address having count(*) > 1`,
      );
      expect(moved.length).toBeGreaterThan(0);
      const [stale] = await select(
        store,
        `select count(*)::int as rows from ton.account_states s
         join (select account, max(lt) as lt from ton.transactions group by 1) t on t.account = s.address
         where t.lt > s.last_transaction_lt`,
      );
      expect(stale).toEqual({ rows: 0 });
    } finally {
      await early.close();
    }
  });
});

describe('a look-up of 5,000 addresses', () => {
  const MANY = 5000;
  const addresses = Array.from(
    { length: MANY },
    (_, index) => `0:${index.toString(16).toUpperCase().padStart(64, '0')}`,
  );

  // The longest query that a gateway accepts.
  test.each(some([{ longest: 8192 }, { longest: 1_000_000 }, { longest: 32_768 }], 1))(
    'needs at most 11 requests more than the minimum if a query has $longest characters at most',
    async ({ longest }) => {
      let most = 0;
      const simulator = await startSimulator({
        ...NETWORK,
        duration: 60,
        before: ({ path, search }) => {
          if (path !== '/api/v3/accountStates') return undefined;
          if (search.toString().length > longest) return htmlResponse(414, 'URI Too Long');
          most = Math.max(most, search.getAll('address').length);
          return undefined;
        },
      });
      try {
        await watch(addresses);
        const requests = await asked(simulator, '/api/v3/accountStates', ['account_states']);
        const least = Math.ceil(MANY / most);
        expect(requests).toBeLessThanOrEqual(least + 11);
        const [row] = await select(store, `select count(*)::int as rows from etl.lookups where not found`);
        expect(row).toEqual({ rows: MANY });
        // Unknown addresses are remembered as unknown for a while.
        expect(await asked(simulator, '/api/v3/accountStates', ['account_states'])).toBe(0);
      } finally {
        await simulator.close();
      }
    },
  );
});

test('unfit records go to quarantine, new members to extra', async () => {
  const simulator = await startSimulator({
    ...NETWORK,
    duration: 200,
    after: ({ path }, response) => {
      if (path !== '/api/v3/jetton/masters') return response;
      const body = JSON.parse(String(response.body)) as { jetton_masters: Record<string, unknown>[] };
      const [first, second] = body.jetton_masters;
      if (first !== undefined) first['total_supply'] = 'much';
      if (second !== undefined) second['newborn'] = { big: [1] };
      return { ...response, body: JSON.stringify(body) };
    },
  });
  try {
    await readOnce(store, simulator.url, ['jetton_masters']);
    const quarantined = await select(store, `select dataset, path from etl.quarantine`);
    expect(quarantined.map(bare)).toEqual([{ dataset: 'jetton_masters', path: 'total_supply' }]);
    const extra = await select(store, `select extra from ton.jetton_masters where extra is not null`);
    expect(extra).toEqual([{ extra: { newborn: { big: [1] } } }]);
  } finally {
    await simulator.close();
  }
});

describe('due subjects', () => {
  const name = { dataset: 'account_states', walk: 'lookup', onlyWatched: false, unserved: false };
  const key = (number: number) => `0:${String(number).padStart(4, '0')}`;
  const add = (from: number, to: number) =>
    store.database.run(sql`
      insert into etl.lookups (dataset, walk, subject, seen_lt, again_at)
      select 'account_states', 'lookup', '0:' || lpad(n::text, 4, '0'), 1, clock_timestamp()
      from generate_series(${from}::int, ${to}::int) n`);
  /** Requests a batch; all of its subjects have moved again by the next batch. */
  const askOnce = async (after: string, limit = 10) => {
    const due = await readDueSubjects(store.database, {
      ...name,
      before: Date.now() / 1000 + 60,
      limit,
      after,
    });
    await store.database.run(sql`
      update etl.lookups set asked_at = clock_timestamp(), again_at = null, known_lt = seen_lt, seen_lt = seen_lt + 1
      where subject = any(array(select json_array_elements_text(${JSON.stringify(due.subjects.map((one) => one.key))}::json)))`);
    return { keys: due.subjects.map((one) => one.key), after: due.after };
  };

  test.each([1, 7, 10, 64])(
    'are requested to the last one in batches of %i, although the first ones are due again each time',
    async (limit) => {
      await add(1, 100);
      const asked = new Set<string>();
      let [after, batches] = ['', 0];
      for (; asked.size < 100 && batches < 400; batches += 1) {
        const batch = await askOnce(after, limit);
        for (const one of batch.keys) asked.add(one);
        after = batch.after;
      }
      expect(asked.size).toBe(100);
      expect(batches).toBeLessThanOrEqual(Math.ceil((2 * 100) / limit) + 1);
    },
  );

  test('are requested at once if new, and delay nothing that waits', async () => {
    await add(1, 100);
    let batch = await askOnce('');
    for (let newest = 201; newest <= 260; newest += 10) {
      await add(newest, newest + 9);
      const before = batch.after;
      batch = await askOnce(before);
      expect(batch.keys.filter((one) => one >= key(newest)).length).toBeGreaterThanOrEqual(5);
      expect(batch.after > before).toBe(true);
    }
  });
});
