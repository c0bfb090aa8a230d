import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseAddress } from '../../../src/simulator/json/address-json.ts';
import { htmlResponse } from '../../../src/simulator/http/response.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import type { V2TransactionJson } from '../../../src/simulator/http/v2/v2-api.ts';
import { bare, readOnce, readStreamsOf, select } from '../../support/collections.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { rebuiltHistory, untagged } from '../../support/rebuild/rebuild-collections.ts';
import { some } from '../../support/thorough.ts';

const START = 1_767_225_600;
const NETWORK = { start: START, duration: 400, load: 20, accounts: 70 };
const RANGE = { from: START + 200, to: START + 215 };

const raw = (friendly: string): string => parseAddress(friendly) ?? friendly;
const comparable = (transactions: readonly V2TransactionJson[]): unknown => bare(untagged(transactions, raw));

/** The nodes name a block of the account's own shard. */
let ofShard = false;
let store: TestStore;
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(() => store.close());

async function watch(...addresses: string[]): Promise<void> {
  for (const address of addresses)
    await store.database.script(`insert into etl.watch (address) values ('${address}')`);
}

/** The accounts with the most transactions, and how many they have. */
function busiest(simulator: Simulator, count: number): string[] {
  const counts = new Map<string, number>();
  for (const { account } of simulator.truth.transactions())
    counts.set(account, (counts.get(account) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([account]) => account);
}

describe.each(some(['1.3', '1.2'] as const, 1))('v2 of build %s', (build) => {
  let simulator: Simulator;
  const v2Requests = (method: string): number => simulator.stats.byPath.get(`/api/v2/${method}`) ?? 0;
  beforeAll(async () => {
    simulator = await startSimulator({
      ...NETWORK,
      build,
      after: (_request, response) =>
        ofShard
          ? {
              ...response,
              body: response.body.toString().replace(/("block_id":\{[^}]*"workchain":)-1/, '$10'),
            }
          : response,
    });
  });
  afterAll(() => simulator.close());

  test('histories of watched accounts end equal to the truth; a second run sends one request', async () => {
    const accounts = busiest(simulator, 3);
    await watch(...accounts);
    await readOnce(store, simulator.url, ['account_transactions']);
    for (const account of accounts) {
      const truth = simulator.truth.accountTransactions(account);
      expect(truth.length).toBeGreaterThan(100);
      expect(bare(await rebuiltHistory(store, account))).toEqual(comparable(truth));
    }
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['account_transactions']);
    expect(v2Requests('getTransactions')).toBe(0);
    expect(simulator.stats.byPath.get('/api/v3/accountStates')).toBe(1);
  });

  test('a state as of a block of a shard has no masterchain seqno', async () => {
    const [account = ''] = busiest(simulator, 1);
    await watch(account);
    ofShard = true;
    await readOnce(store, simulator.url, ['extended_account_states']).finally(() => (ofShard = false));
    const rows = await select(store, 'select address, mc_seqno from ton.extended_account_states');
    expect(rows).toEqual([{ address: account, mc_seqno: null }]);
  });

  test('a server with only JSON-RPC gives the same histories', async () => {
    const [account = ''] = busiest(simulator, 1);
    await watch(account);
    simulator.faults.absent = ['/api/v2/get'];
    try {
      await readOnce(store, simulator.url, ['account_transactions']);
    } finally {
      delete simulator.faults.absent;
    }
    expect(bare(await rebuiltHistory(store, account))).toEqual(
      comparable(simulator.truth.accountTransactions(account)),
    );
  });

  test('states of watched accounts are parsed, and located messages have their transaction', async () => {
    const [wallet = '', other = ''] = busiest(simulator, 2);
    await watch(wallet, other);
    await readOnce(store, simulator.url, ['extended_account_states']);
    const stored = await select(store, 'select * from ton.extended_account_states order by address');
    expect(stored.map(({ address }) => address)).toEqual([wallet, other].sort());
    for (const row of stored) {
      const response = await fetch(
        `${simulator.url}/api/v2/getExtendedAddressInformation?address=${String(row['address'])}`,
      );
      const { result } = (await response.json()) as { result: Record<string, Record<string, unknown>> };
      expect(row['account_state']).toEqual(result['account_state']);
      expect(row['kind']).toBe(result['account_state']!['@type']);
      expect(row['seqno']).toBe(result['account_state']!['seqno'] ?? null);
      expect(row['balance']).toBe(result['balance']);
      expect(row['last_transaction_lt']).toBe(result['last_transaction_id']!['lt']);
      expect([row['mc_seqno'], row['block_root_hash']]).toEqual([
        result['block_id']!['seqno'],
        result['block_id']!['root_hash'],
      ]);
    }
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['extended_account_states']);
    expect(v2Requests('getExtendedAddressInformation')).toBe(0);
  });

  test('heads are sampled together, and not again at once', async () => {
    await readOnce(store, simulator.url, ['masterchain_heads']);
    const [lag] = await select(
      store,
      'select node_seqno, index_seqno, blocks_behind from ton.masterchain_lag',
    );
    const { seqno } = simulator.truth.head();
    expect(lag).toEqual({ node_seqno: seqno, index_seqno: seqno, blocks_behind: 0 });
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['masterchain_heads']);
    expect(v2Requests('getMasterchainInfo')).toBe(0);
  });

  test('proofs of the stored blocks of a range are kept whole, with one request each', async () => {
    await readOnce(store, simulator.url, ['shard_states'], { range: RANGE });
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['shard_block_proofs'], { range: RANGE });
    const blocks = await select(
      store,
      `select b.workchain, b.shard, b.seqno from ton.blocks b where workchain = 0
       and utime >= to_timestamp(${RANGE.from}) and utime < to_timestamp(${RANGE.to})`,
    );
    const proofs = await select(store, 'select * from ton.shard_block_proofs');
    expect(blocks.length).toBeGreaterThan(3);
    expect(proofs).toHaveLength(blocks.length);
    expect(v2Requests('getShardBlockProof')).toBe(blocks.length);
    for (const { workchain, shard, seqno, ...proof } of proofs) {
      expect(blocks).toContainEqual({ workchain, shard, seqno });
      const signed = BigInt.asIntN(64, BigInt(`0x${String(shard)}`));
      const url = `${simulator.url}/api/v2/getShardBlockProof?workchain=0&shard=${signed}&seqno=${String(seqno)}`;
      const { result } = (await (await fetch(url)).json()) as {
        result: Record<string, { seqno: number; root_hash: string }>;
      };
      expect(proof['mc_seqno']).toBe(result['mc_id']!.seqno);
      expect(proof['from_root_hash']).toBe(result['from']!.root_hash);
      const links = proof['links'] as { id: Record<string, unknown>; proof: string }[];
      const sent = result['links'] as unknown as typeof links;
      expect(links.map((link) => link.proof)).toEqual(sent.map((link) => link.proof));
      expect(links[0]!.id).toMatchObject({ workchain, shard, seqno });
      expect((proof['mc_proof'] as object[]).length).toBe((result['mc_proof'] as unknown as object[]).length);
    }
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['shard_block_proofs'], { range: RANGE });
    expect(v2Requests('getShardBlockProof')).toBe(0);
  });

  test('balances are a snapshot with ranks', async () => {
    await readOnce(store, simulator.url, ['top_accounts']);
    const stored = await select(store, 'select rank, account, balance from ton.top_accounts order by rank');
    const truth = simulator.truth.entities().balances().slice(0, 1000);
    expect(stored.map(({ rank }) => rank)).toEqual(truth.map((_, index) => index + 1));
    expect(stored.map(({ balance }) => balance)).toEqual(truth.map(({ balance }) => balance));
  });

  test('with a range, states are kept as of each block in which a watched account moved', async () => {
    const accounts = busiest(simulator, 2);
    await watch(...accounts);
    await readStreamsOf(store, simulator.url, RANGE, ['transactions']);
    await readOnce(store, simulator.url, ['extended_account_states'], { range: RANGE });
    const moves = new Set(
      [...simulator.truth.transactions(RANGE)]
        .filter(({ account }) => accounts.includes(account))
        .map(({ account, mc_block_seqno }) => `${account}@${String(mc_block_seqno)}`),
    );
    expect(moves.size).toBeGreaterThan(4);
    const stored = await select(
      store,
      'select address, mc_seqno, balance, last_transaction_lt, account_state from ton.extended_account_states',
    );
    const states = new Map(
      stored.map((row) => [`${String(row['address'])}@${String(row['mc_seqno'])}`, row]),
    );
    for (const move of moves) {
      const [address = '', seqno = ''] = move.split('@');
      const url = `${simulator.url}/api/v2/getExtendedAddressInformation?address=${address}&seqno=${seqno}`;
      const { result } = (await (await fetch(url)).json()) as { result: Record<string, unknown> };
      const lt = (result['last_transaction_id'] as { lt: string }).lt;
      expect(states.get(move)).toMatchObject({
        balance: result['balance'],
        last_transaction_lt: lt,
        account_state: result['account_state'],
      });
    }
    simulator.stats.clear();
    await readOnce(store, simulator.url, ['extended_account_states'], { range: RANGE });
    expect(v2Requests('getExtendedAddressInformation')).toBe(0);
  });

  test('messages without a stored receiver are located', async () => {
    // Some of the traffic is stored: some receivers are after it.
    const range = { from: START + 200, to: START + 210 };
    await readStreamsOf(store, simulator.url, range, ['transactions']);
    const missing = await select(store, 'select hash, destination from etl.unlocated_messages');
    expect(missing.length).toBeGreaterThan(0);
    await readOnce(store, simulator.url, ['message_locations'], { range });
    const located = await select(
      store,
      `select l.hash, l.account, l.tx_hash, m.hash as received from ton.message_locations l
       join ton.account_messages m on m.account = l.account and m.lt = l.lt and m.position = 0`,
    );
    expect(located.length).toBe(missing.length);
    const receivers = new Map([...simulator.truth.messages()].map((row) => [row.hash, row.in_msg_tx_hash]));
    for (const row of located) {
      expect(row['received']).toBe(row['hash']);
      expect(row['tx_hash']).toBe(receivers.get(String(row['hash'])));
    }
  });
});

test('a history continues at both ends: new transactions, and the older part that was cut off', async () => {
  let [fail, isCutOff] = [0, true];
  const simulator = await startSimulator({
    ...NETWORK,
    headTime: START + 300,
    before: ({ path }) => {
      if (path !== '/api/v2/getTransactions') return undefined;
      fail += 1;
      return isCutOff && fail >= 2
        ? {
            status: 422,
            body: '{"ok":false,"error":"no","code":422}',
            headers: { 'content-type': 'application/json' },
          }
        : undefined;
    },
  });
  try {
    const [account = ''] = busiest(simulator, 1);
    await watch(account);
    expect(await readOnce(store, simulator.url, ['account_transactions'])).toEqual(['account_transactions']);
    const [cursor] = await select(store, `select cursor from etl.cursors where scope like 'backward:%'`);
    expect(cursor?.['cursor']).toMatchObject({ complete: false });
    simulator.headTime = START + 400;
    isCutOff = false;
    await readOnce(store, simulator.url, ['account_transactions']);
    const truth = simulator.truth.accountTransactions(account);
    expect(bare(await rebuiltHistory(store, account))).toEqual(comparable(truth));
  } finally {
    await simulator.close();
  }
});

test('a long history does not delay other accounts, and a gateway with short queries delays nothing', async () => {
  const asked: string[] = [];
  const simulator = await startSimulator({
    ...NETWORK,
    // Pages are short, so that each history has many.
    after: ({ path }, response) => {
      if (path !== '/api/v2/getTransactions' || response.status !== 200) return response;
      const body = JSON.parse(response.body.toString()) as { result: unknown[] };
      return { ...response, body: JSON.stringify({ ...body, result: body.result.slice(0, 10) }) };
    },
    before: ({ path, search }) => {
      if (search.toString().length > 200) return htmlResponse(414, 'URI Too Long');
      if (path === '/api/v2/getTransactions') asked.push(search.get('address') ?? '');
      return undefined;
    },
  });
  try {
    const accounts = busiest(simulator, 3);
    await watch(...accounts);
    for (const account of accounts)
      expect(simulator.truth.accountTransactions(account).length).toBeGreaterThan(110);
    await readOnce(store, simulator.url, ['account_transactions']);
    for (const account of accounts) {
      const truth = simulator.truth.accountTransactions(account);
      expect(bare(await rebuiltHistory(store, account))).toEqual(comparable(truth));
      // Its newest page did not wait for the end of the other histories.
      expect(asked.indexOf(account)).toBeLessThan(30);
    }
    expect(new Set(asked.slice(0, 25)).size).toBe(3);
  } finally {
    await simulator.close();
  }
});
