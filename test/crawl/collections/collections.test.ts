import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runBackfill, type BackfillReport } from '../../../src/backfill/run-backfill.ts';
import { chooseDatasets, splitKinds } from '../../../src/dataset/dataset.ts';
import { loadDatasets } from '../../../src/dataset/load-jobs.ts';
import { claimCursor, releaseClaim } from '../../../src/ledger/stored-cursors.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { release } from '../../../src/write/commit.ts';
import { actions } from '../../../src/tables/ton/actions.ts';
import { never, openTestCrawl } from '../../support/crawl.ts';
import type { Entities } from '../../../src/simulator/network/entities/entities.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { bare, readOnce, readStreamsOf, select, sorted } from '../../support/collections.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { rebuilt } from '../../support/rebuild/rebuild-collections.ts';
import { some } from '../../support/thorough.ts';

const START = 1_767_225_600;
const NETWORK = { start: START, duration: 300, load: 16, accounts: 400 };

let store: TestStore;
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(() => store.close());

const LISTS = {
  jetton_masters: { path: '/api/v3/jetton/masters', truth: (entities: Entities) => entities.jettonMasters() },
  nft_collections: {
    path: '/api/v3/nft/collections',
    truth: (entities: Entities) => entities.nftCollections(),
  },
  jetton_wallets: { path: '/api/v3/jetton/wallets', truth: (entities: Entities) => entities.jettonWallets() },
  nft_items: { path: '/api/v3/nft/items', truth: (entities: Entities) => entities.nftItems() },
} as const;

describe.each(some(['1.3', '1.2'] as const, 1))('lists of build %s', (build) => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator({ ...NETWORK, build });
  });
  afterAll(() => simulator.close());

  test.each(Object.keys(LISTS) as (keyof typeof LISTS)[])(
    '%s end equal to the truth, and a second look is one request',
    async (name) => {
      const { path, truth } = LISTS[name];
      const records = truth(simulator.truth.entities());
      expect(records.length).toBeGreaterThan(1);
      expect(await readOnce(store, simulator.url, [name])).toEqual([]);
      expect(sorted(await rebuilt[name](store))).toEqual(sorted(records));
      simulator.stats.clear();
      await readOnce(store, simulator.url, [name]);
      expect(simulator.stats.byPath.get(path)).toBe(1);
      expect(sorted(await rebuilt[name](store))).toEqual(sorted(records));
    },
  );

  test('names, symbols and decimals are columns if the content has them', async () => {
    await readOnce(store, simulator.url, ['jetton_masters']);
    const rows = await select(store, 'select name, symbol, decimals, jetton_content from ton.jetton_masters');
    for (const { name, symbol, decimals, jetton_content } of rows) {
      const content = (jetton_content ?? {}) as Record<string, string>;
      expect([name, symbol]).toEqual([content['name'] ?? null, content['symbol'] ?? null]);
      expect(decimals).toBe(/^\d+$/.test(content['decimals'] ?? '') ? Number(content['decimals']) : null);
    }
    const kinds = new Set(rows.map(({ decimals }) => decimals));
    expect(kinds.has(null) && kinds.size > 2).toBe(true);
  });

  test('the shard states of a range end equal to the truth; a second reading requests nothing', async () => {
    const range = { from: START + 100, to: START + 150 };
    await readOnce(store, simulator.url, ['shard_states'], { range });
    const masters = [...simulator.truth.blocks(range)].filter(({ workchain }) => workchain === -1);
    const stored = await rebuilt.shard_states(store);
    expect([...stored.keys()].sort()).toEqual(masters.map(({ seqno }) => seqno).sort());
    for (const { seqno } of masters) {
      const response = await fetch(`${simulator.url}/api/v3/masterchainBlockShardState?seqno=${seqno}`);
      const { blocks } = (await response.json()) as { blocks: Record<string, unknown>[] };
      const tops = blocks.map(({ workchain, shard, seqno: top }) => ({ workchain, shard, seqno: top }));
      expect(sorted(stored.get(seqno) ?? [], 'shard')).toEqual(sorted(tops, 'shard'));
    }
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['shard_states'], { range });
    expect(simulator.stats.byPath.get('/api/v3/masterchainBlockShardState')).toBeUndefined();
    expect(simulator.stats.byPath.get('/api/v3/blocks')).toBeUndefined();
  });

  test('a shard state that was cut short is requested again', async () => {
    simulator.faults.shortBlocks = 0.3;
    const range = { from: START + 100, to: START + 130 };
    await readOnce(store, simulator.url, ['shard_states'], { range });
    delete simulator.faults.shortBlocks;
    await readOnce(store, simulator.url, ['shard_states'], { range });
    const stored = await rebuilt.shard_states(store);
    const masters = [...simulator.truth.blocks(range)].filter(({ workchain }) => workchain === -1);
    expect([...stored.keys()].sort()).toEqual(masters.map(({ seqno }) => seqno).sort());
    for (const tops of stored.values()) expect(tops.length).toBeGreaterThan(1);
  });
});

test('accounts that have moved since a list was read are looked up by name, and no others', async () => {
  const simulator = await startSimulator({ ...NETWORK, headTime: START + 150 });
  try {
    const names = ['jetton_wallets', 'nft_items'];
    await readOnce(store, simulator.url, names);
    const before = simulator.truth.entities();
    simulator.headTime = START + 300;
    const range = { from: START, to: START + 300 };
    const streams = ['jetton_transfers', 'jetton_burns', 'nft_transfers', 'transactions'];
    await readStreamsOf(store, simulator.url, range, streams);
    simulator.stats.clear();
    await readOnce(store, simulator.url, names);
    const entities = simulator.truth.entities();
    const moved = async (statement: string) =>
      new Set((await select(store, statement)).map(({ address }) => address));
    const wallets = await moved(
      'select source_wallet as address from ton.jetton_transfers union select jetton_wallet from ton.jetton_burns',
    );
    // Only the message of a mint names it.
    const given = await moved(`select destination as address from ton.messages where opcode = '0x178d4519'
      except (select source_wallet from ton.jetton_transfers union select jetton_wallet from ton.jetton_burns)`);
    const old = new Map(before.jettonWallets().map(({ address, balance }) => [address, balance]));
    const stale = entities
      .jettonWallets()
      .filter(
        ({ address, balance }) => given.has(address) && old.has(address) && old.get(address) !== balance,
      );
    expect(stale.length).toBeGreaterThan(0);
    for (const address of given) wallets.add(address);
    const items = await moved('select nft_address as address from ton.nft_transfers');
    const changed = entities
      .nftItems()
      .filter(
        (item) => items.has(item.address) && before.nftItems().some((old) => old.address === item.address),
      );
    expect(Math.min(wallets.size, changed.length)).toBeGreaterThan(1);
    const of = (rows: readonly { readonly address?: unknown }[], chosen: ReadonlySet<unknown>) =>
      sorted(rows.filter(({ address }) => chosen.has(address)));
    expect(of(await rebuilt.jetton_wallets(store), wallets)).toEqual(of(entities.jettonWallets(), wallets));
    expect(of(await rebuilt.nft_items(store), items)).toEqual(of(entities.nftItems(), items));
    // A page at the list's end, and one batch.
    for (const path of ['/api/v3/jetton/wallets', '/api/v3/nft/items'])
      expect(simulator.stats.byPath.get(path)).toBe(2);
  } finally {
    await simulator.close();
  }
});

describe('a list', () => {
  test('continues at its position, reads what is appended, and is read again whole on its schedule', async () => {
    const simulator = await startSimulator({ ...NETWORK, headTime: START + 150 });
    try {
      const halt = new AbortController();
      const truth = () => simulator.truth.entities().jettonWallets();
      await readOnce(store, simulator.url, ['jetton_wallets']);
      const before = await rebuilt.jetton_wallets(store);
      simulator.headTime = START + 300;
      simulator.stats.clear();
      await readOnce(store, simulator.url, ['jetton_wallets']);
      const after = await rebuilt.jetton_wallets(store);
      expect(after.length).toBe(truth().length);
      expect(after.length).toBeGreaterThan(before.length);
      // New rows are stored; changed rows wait for the next full reading.
      expect(simulator.stats.byPath.get('/api/v3/jetton/wallets')).toBe(1);
      await store.database.script(
        `update etl.cursors set cursor = jsonb_set(cursor, '{ended}', '0') where dataset = 'jetton_wallets' and scope = 'list'`,
      );
      halt.abort();
      const stop = { finishing: halt.signal, leaving: new AbortController().signal };
      await readOnce(store, simulator.url, ['jetton_wallets'], { stop });
      await readOnce(store, simulator.url, ['jetton_wallets']);
      expect(sorted(await rebuilt.jetton_wallets(store))).toEqual(sorted(truth()));
    } finally {
      await simulator.close();
    }
  });

  test('stops if the server runs out of time for a small page, too', async () => {
    const simulator = await startSimulator({
      ...NETWORK,
      before: ({ path, search }) =>
        path === '/api/v3/nft/items' && Number(search.get('offset')) + Number(search.get('limit')) > 60
          ? {
              status: 500,
              body: '{"error":"timeout: context deadline exceeded"}',
              headers: { 'content-type': 'application/json' },
            }
          : undefined,
    });
    try {
      expect(await readOnce(store, simulator.url, ['nft_items'])).toEqual([]);
      const [cursor] = await select(
        store,
        `select cursor from etl.cursors where dataset = 'nft_items' and scope = 'list'`,
      );
      expect((cursor?.['cursor'] as { beyond: number }).beyond).toBeGreaterThan(0);
      simulator.stats.clear();
      await readOnce(store, simulator.url, ['nft_items']);
      expect(simulator.stats.byPath.get('/api/v3/nft/items')).toBeUndefined();
    } finally {
      await simulator.close();
    }
  });

  test('that this server does not have is reported, and the other lists are read', async () => {
    const simulator = await startSimulator({ ...NETWORK, faults: { absent: ['/api/v3/jetton/masters'] } });
    try {
      const failed = await readOnce(store, simulator.url, ['jetton_masters', 'nft_collections']);
      expect(failed).toEqual(['jetton_masters']);
      expect(await rebuilt.nft_collections(store)).not.toEqual([]);
      const failures = await select(store, 'select dataset, code from etl.failures');
      expect(failures.map(bare)).toEqual([{ dataset: 'jetton_masters', code: 'no_endpoint' }]);
      expect(simulator.stats.byPath.get('/api/v3/jetton/masters')).toBe(1);
    } finally {
      await simulator.close();
    }
  });
});

describe('a run ends when nothing is left that it could read', () => {
  const DNS = '/api/v3/dns/records';

  test('it reads what another worker holds when that one has ended: a list, look-ups, a history', async () => {
    const simulator = await startSimulator(NETWORK);
    try {
      const entities = simulator.truth.entities();
      const vestings = entities.vestings().map(({ address }) => address);
      const [rich] = entities.balances();
      const watched = [rich!.account, ...vestings];
      await store.database.script(
        `insert into etl.watch (address) values ${watched.map((one) => `('${one}')`).join()}`,
      );
      const claims = [
        ['jetton_masters', 'list'],
        ['vesting_contracts', 'lookup'],
        ['account_transactions', `backward:${rich!.account}`],
      ].map(([dataset = '', scope = '']) => ({ dataset, scope, owner: 'another' }));
      for (const claim of claims) await claimCursor(store.database, claim);
      const names = ['account_transactions', 'jetton_masters', 'multisig_wallets', 'vesting_contracts'];
      const reading = readOnce(store, simulator.url, names);
      // The last walk is looked into after those that are held.
      const others = `select from etl.cursors where dataset = 'vesting_contracts' and scope = 'of_wallets' and cursor is not null`;
      while ((await select(store, others)).length === 0) await new Promise((done) => setTimeout(done, 20));
      for (const claim of claims) await releaseClaim(store.database, claim);
      expect(await reading).toEqual([]);
      expect(sorted(await rebuilt.jetton_masters(store))).toEqual(sorted(entities.jettonMasters()));
      const found = await select(store, 'select address from ton.vesting_contracts order by 1');
      expect(found.map(({ address }) => address)).toEqual([...vestings].sort());
      const [history] = await select(
        store,
        `select count(*)::int as rows from ton.account_transactions where account = '${rich!.account}'`,
      );
      expect(history).not.toEqual({ rows: 0 });
    } finally {
      await simulator.close();
    }
  });

  test('a response that names another subject is followed to the end of the chain, and nothing is asked twice', async () => {
    const domains: string[] = [];
    const simulator = await startSimulator({
      ...NETWORK,
      after: ({ path, search }, response) => {
        const at = domains.indexOf(search.get('domain') ?? '');
        if (path !== DNS || at < 0) return response;
        const body = JSON.parse(String(response.body)) as { address_book: Record<string, unknown> };
        const address = `0:${String(at).padStart(64, '0')}`;
        const domain = domains[at + 1] ?? null;
        body.address_book[address] = { user_friendly: address, domain, interfaces: [] };
        return { ...response, body: JSON.stringify(body) };
      },
    });
    try {
      domains.push(
        ...simulator.truth
          .entities()
          .dnsRecords()
          .map(({ domain }) => domain)
          .slice(0, 5),
      );
      await store.database.script(
        `insert into ton.address_book (address, domain) values ('0:${'F'.repeat(64)}', '${domains[0]}')`,
      );
      simulator.stats.clear();
      expect(await readOnce(store, simulator.url, ['dns_records'])).toEqual([]);
      const stored = await select(store, 'select domain from ton.dns_records');
      expect(stored.map(({ domain }) => String(domain)).sort()).toEqual([...domains].sort());
      expect(simulator.stats.byPath.get(DNS)).toBe(domains.length);
    } finally {
      await simulator.close();
    }
  });

  test('a record that leaves the quarantine names subjects like any other', async () => {
    const simulator = await startSimulator(NETWORK);
    try {
      const names = ['vesting_contracts'];
      expect(await readOnce(store, simulator.url, names)).toEqual([]);
      const [first] = simulator.truth.entities().vestings();
      const partitions = createPartitions(store.database, 'month');
      await partitions.ensure([actions], [new Date(START * 1000).toISOString()]);
      await store.database.script(`
        insert into ton.actions (utime, trace_id, action_id, type, start_lt, start_utime, end_utime, end_lt, trace_end_lt, details)
        values (to_timestamp(${START}), 't', 'a', 'vesting_add_whitelist', 1, now(), now(), 1, 1, '{"vesting": "${first!.address}"}')`);
      const stream = { dataset: 'actions', scope: '', pass: 0 };
      await release(store.database, partitions, {
        ...{ stream, recordId: 'a', second: START, tables: {}, rows: {}, extra: {} },
      });
      expect(await readOnce(store, simulator.url, names)).toEqual([]);
      expect(await select(store, 'select address from ton.vesting_contracts')).toEqual([
        { address: first!.address },
      ]);
    } finally {
      await simulator.close();
    }
  });

  test('a run that is stopped between streams and collections says that these are incomplete', async () => {
    const simulator = await startSimulator(NETWORK);
    const stopping = new AbortController();
    const crawl = await openTestCrawl(store, simulator.url);
    try {
      const [all, names] = [await loadDatasets(), ['blocks', 'jetton_masters']];
      const { streams, collections } = splitKinds(chooseDatasets(names, all));
      const ends: boolean[] = [];
      const report: BackfillReport = {
        onReadable: () => Promise.resolve(),
        onStreams: () => Promise.resolve({ replaceLeft: () => undefined, end: () => undefined }),
        onCovered: (_covered, _range, isWhole) => {
          ends.push(isWhole);
          stopping.abort();
        },
        onCollections: ({ isWhole }) => void ends.push(isWhole),
      };
      const run = {
        ...crawl,
        ...{ jobs: splitKinds(all).streams, datasets: streams, collections, piggybacked: [] },
        stop: { ...never, finishing: stopping.signal },
        wanted: { from: START, to: START + 60 },
        ...{ delaySeconds: 0, attempts: 3, again: false, dryRun: false },
        choices: { accounts: 'watched' as const, bocs: false },
      };
      expect(await runBackfill(run, report)).toBe(false);
      expect(ends).toEqual([true, false]);
    } finally {
      await crawl.close();
      await simulator.close();
    }
  });
});
