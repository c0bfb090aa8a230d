import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { ask, hashesOf, type Reply } from './ask.ts';
import { makeValidator } from './open-api.ts';
import { hasOpenapi, NO_OPENAPI } from '../support/shared-data.ts';
import { some } from '../support/thorough.ts';

const START = 1_767_225_600;
const SIZE = { start: START, duration: 600, load: 12, accounts: 200 } as const;

describe.each(some(['1.3', '1.2'] as const, 1))('a simulated server of build %s', (build) => {
  let simulator: Simulator;
  let all: TransactionJson[];

  beforeAll(async () => {
    simulator = await startSimulator({ ...SIZE, build });
    all = [...simulator.truth.transactions()];
  });
  afterAll(() => simulator.close());

  test('says its version, and its health', async () => {
    const reply = await ask(simulator, '/api/v3/masterchainInfo');
    expect(reply.version).toMatch(build === '1.2' ? /^1\.2\.10$/ : /^1\.3\.\d+$/);
    expect(await (await fetch(`${simulator.url}/healthcheck`)).text()).toBe('OK');
  });

  test.skipIf(!hasOpenapi)(
    `responds as the description of the real server says (${NO_OPENAPI} if it is absent)`,
    async () => {
      const validate = makeValidator();
      const some = all[2000]!;
      const paths = [
        '/api/v3/masterchainInfo',
        '/api/v3/blocks?limit=1000&sort=asc',
        '/api/v3/masterchainBlockShards?seqno=50&limit=1000',
        '/api/v3/masterchainBlockShardState?seqno=50',
        '/api/v3/transactions?limit=1000&sort=asc',
        '/api/v3/transactions?limit=1000&offset=1000',
        '/api/v3/transactions?limit=1000&offset=3000&x_no_address_book=1',
        '/api/v3/transactionsByMasterchainBlock?seqno=60&limit=1000',
        `/api/v3/transactionsByMessage?msg_hash=${encodeURIComponent(some.in_msg?.hash ?? '')}`,
        `/api/v3/adjacentTransactions?hash=${encodeURIComponent(all.find((transaction) => transaction.out_msgs.length > 0)?.hash ?? '')}`,
        '/api/v3/messages?limit=1000&sort=asc',
        '/api/v3/messages?limit=1000&sort=desc&start_lt=1',
        '/api/v3/traces?limit=300&sort=asc&offset=500',
        '/api/v3/traces?limit=50&include_actions=true',
        '/api/v3/blocks?limit=1001',
        '/api/v3/transactions?limit=x',
        '/api/v3/transactionsByMasterchainBlock?seqno=999999',
        '/api/v3/masterchainBlockShards?seqno=999999',
      ];
      for (const path of paths) {
        const { status, body } = await ask(simulator, path);
        expect(validate(path.split('?')[0]!, status, body), path).toBeUndefined();
      }
    },
  );

  test('serves every transaction once, in pages of a closed window, in the order of time', async () => {
    const [from, to] = [START + 100, START + 400];
    const read: string[] = [];
    for (let offset = 0; ; offset += 700) {
      const path = `/api/v3/transactions?start_utime=${from}&end_utime=${to}&sort=asc&limit=700&offset=${offset}`;
      const page = hashesOf(await ask(simulator, path));
      read.push(...page);
      if (page.length < 700) break;
    }
    expect(read).toEqual(
      [...simulator.truth.transactions({ from, to: to + 1 })].map((transaction) => transaction.hash),
    );
    expect(simulator.stats.maxOffset).toBeGreaterThan(1000);
  });

  test('orders by lt and account, and breaks ties downwards in its own way', async () => {
    const upwards = all.toSorted((a, b) => Number(a.lt) - Number(b.lt) || (a.account < b.account ? -1 : 1));
    const asc = hashesOf(await ask(simulator, '/api/v3/transactions?sort=asc&limit=1000&offset=500'));
    expect(asc).toEqual(upwards.slice(500, 1500).map((transaction) => transaction.hash));
    const sign = build === '1.2' ? -1 : 1;
    const downwards = all.toSorted(
      (a, b) => Number(b.lt) - Number(a.lt) || (a.account < b.account ? sign : -sign),
    );
    const desc = hashesOf(await ask(simulator, '/api/v3/transactions?limit=1000&offset=500'));
    expect(desc).toEqual(downwards.slice(500, 1500).map((transaction) => transaction.hash));
  });

  test('filters transactions by block, account, lt, hash and masterchain block', async () => {
    const some = all[1500]!;
    const { workchain, shard, seqno } = some.block_ref;
    const inBlock = all.filter(
      (transaction) => JSON.stringify(transaction.block_ref) === JSON.stringify(some.block_ref),
    );
    const block = await ask(
      simulator,
      `/api/v3/transactions?workchain=${workchain}&shard=0x${shard.toLowerCase()}&seqno=${seqno}&sort=asc&limit=1000`,
    );
    expect(hashesOf(block).toSorted()).toEqual(inBlock.map((transaction) => transaction.hash).toSorted());
    const friendly = Object.values(
      (await ask(simulator, `/api/v3/transactions?account=${some.account}&limit=1`)).body.address_book ?? {},
    );
    expect(friendly.length).toBeGreaterThan(0);
    const own = all
      .filter((transaction) => transaction.account === some.account)
      .map((transaction) => transaction.hash);
    expect(
      hashesOf(await ask(simulator, `/api/v3/transactions?account=${some.account}&sort=asc&limit=1000`)),
    ).toEqual(own);
    const sameLt = all.filter((transaction) => transaction.lt === some.lt).length;
    expect(hashesOf(await ask(simulator, `/api/v3/transactions?lt=${some.lt}&limit=1000`)).length).toBe(
      sameLt,
    );
    const hex = Buffer.from(some.hash, 'base64').toString('hex');
    expect(hashesOf(await ask(simulator, `/api/v3/transactions?hash=${hex}`))).toEqual([some.hash]);
    const ofMc = all.filter((transaction) => transaction.mc_block_seqno === some.mc_block_seqno);
    expect(
      hashesOf(await ask(simulator, `/api/v3/transactions?mc_seqno=${some.mc_block_seqno}&limit=1000`))
        .length,
    ).toBe(ofMc.length);
    const byMc = hashesOf(
      await ask(
        simulator,
        `/api/v3/transactionsByMasterchainBlock?seqno=${some.mc_block_seqno}&limit=1000&sort=asc`,
      ),
    );
    expect(byMc.toSorted()).toEqual(ofMc.map((transaction) => transaction.hash).toSorted());
  });

  test('finds an account by its friendly address', async () => {
    const some = all[1500]!;
    const book =
      (await ask(simulator, `/api/v3/transactions?hash=${encodeURIComponent(some.hash)}`)).body
        .address_book ?? {};
    const friendly = book[some.account]?.user_friendly ?? '';
    const found = await ask(simulator, `/api/v3/transactions?account=${friendly}&limit=1`);
    expect(found.body.transactions?.[0]?.account).toBe(some.account);
  });

  test('clamps a limit below 1 and refuses one above 1000', async () => {
    expect(hashesOf(await ask(simulator, '/api/v3/transactions?limit=0')).length).toBe(1);
    expect(hashesOf(await ask(simulator, '/api/v3/transactions?limit=')).length).toBe(1);
    expect(hashesOf(await ask(simulator, '/api/v3/transactions?offset=-5')).length).toBe(100);
    const refused = await ask(simulator, '/api/v3/transactions?limit=5000');
    expect([refused.status, refused.body.error]).toEqual([
      build === '1.2' ? 500 : 422,
      'limit is not allowed: 5000 > 1000',
    ]);
    const wrong = await ask(simulator, '/api/v3/blocks?sort=up');
    expect([wrong.status, wrong.body.error]).toEqual([
      build === '1.2' ? 500 : 422,
      'wrong value for sort parameter',
    ]);
  });

  test('refuses what it cannot convert and ignores unknown parameters', async () => {
    for (const query of [
      'limit=abc',
      'limit=99999999999',
      'start_utime=',
      'account=nobody',
      'hash=1',
      'start_lt=-1',
    ])
      expect((await ask(simulator, `/api/v3/transactions?${query}`)).status, query).toBe(422);
    const [plain, misspelt] = [
      await ask(simulator, '/api/v3/transactions?limit=5'),
      await ask(simulator, '/api/v3/transactions?limit=5&star_utime=9&exclude_account=' + all[0]!.account),
    ];
    expect(misspelt.body).toEqual(plain.body);
    const sorted = await ask(simulator, '/api/v3/transactions?limit=1&limit=7');
    expect(hashesOf(sorted).length).toBe(7);
  });

  test('takes lists as repeated keys, and typed ones joined by commas', async () => {
    const [one, two] = [all[100]!.account, all[900]!.account];
    const repeated = await ask(simulator, `/api/v3/transactions?account=${one}&account=${two}&limit=1000`);
    const joined = await ask(simulator, `/api/v3/transactions?account[]=${one},${two}&limit=1000`);
    expect(hashesOf(joined)).toEqual(hashesOf(repeated));
    expect(new Set(repeated.body.transactions?.map((transaction) => transaction.account))).toEqual(
      new Set([one, two]),
    );
  });

  test('has no masterchain blocks above the head', async () => {
    const byMc = await ask(simulator, '/api/v3/transactionsByMasterchainBlock?seqno=99999');
    expect([byMc.status, byMc.body.error]).toEqual([404, 'masterchain block 99999 not found']);
    const state = await ask(simulator, '/api/v3/masterchainBlockShardState?seqno=99999');
    expect([state.status, state.body.error]).toEqual([404, 'blocks not found']);
    const past = await ask(simulator, '/api/v3/masterchainBlockShards?seqno=50&limit=10&offset=100');
    expect(past.status).toBe(404);
    const garbage = await ask(simulator, '/api/v3/masterchainBlockShardState?seqno=abc');
    expect(garbage.status).toBe(build === '1.2' ? 404 : 422);
  });

  test('orders blocks by time, and within a second only as far as the build does', async () => {
    const path = '/api/v3/blocks?limit=1000&sort=asc';
    const [first, second] = [await ask(simulator, path), await ask(simulator, path)];
    const times = first.body.blocks?.map((block) => Number(block.gen_utime)) ?? [];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const ids = (reply: Reply): string[] => (reply.body.blocks ?? []).map((block) => block.root_hash);
    if (build === '1.3') expect(ids(second)).toEqual(ids(first));
    else expect(ids(second)).not.toEqual(ids(first));
    const unsorted = await ask(simulator, '/api/v3/blocks?limit=1000');
    expect(ids(unsorted).toSorted()).not.toEqual(ids(first).slice(0, 100));
  });

  test('loses and repeats blocks for a client that pages by offset without a sort', async () => {
    const seen = new Set<string>();
    let rows = 0;
    for (let offset = 0; offset < 800; offset += 50) {
      const reply = await ask(simulator, `/api/v3/blocks?limit=50&offset=${offset}`);
      for (const block of reply.body.blocks ?? []) seen.add(block.root_hash);
      rows += reply.body.blocks?.length ?? 0;
    }
    expect(seen.size).toBeLessThan(rows);
  });

  test('filters blocks by id, masterchain block, time, lt and hash', async () => {
    const some = [...simulator.truth.blocks()][300]!;
    const id = `workchain=${some.workchain}&shard=${some.shard}&seqno=${some.seqno}`;
    expect((await ask(simulator, `/api/v3/blocks?${id}`)).body.blocks).toEqual([some]);
    const byHash = await ask(
      simulator,
      `/api/v3/blocks?root_hash=${encodeURIComponent(some.root_hash)}&sort=asc`,
    );
    expect(byHash.body.blocks).toEqual([some]);
    const inMc = await ask(
      simulator,
      `/api/v3/blocks?mc_seqno=${some.masterchain_block_ref.seqno}&sort=asc&limit=100`,
    );
    expect(inMc.body.blocks).toContainEqual(some);
    const byLt = await ask(
      simulator,
      `/api/v3/blocks?start_lt=${some.start_lt}&end_lt=${some.start_lt}&sort=asc&limit=100`,
    );
    expect(byLt.body.blocks?.every((block) => block.start_lt === some.start_lt)).toBe(true);
    expect(byLt.body.blocks).toContainEqual(some);
    const shards = await ask(
      simulator,
      `/api/v3/masterchainBlockShards?seqno=${some.masterchain_block_ref.seqno}&limit=100`,
    );
    expect(shards.body.blocks).toContainEqual(some);
    expect(shards.body.blocks?.some((block) => block.workchain === -1)).toBe(true);
  });

  test('serves each message once, with both its transactions, and only one with a direction', async () => {
    const [from, to] = [START + 200, START + 260];
    const window = `start_utime=${from}&end_utime=${to}&limit=1000&sort=asc&x_no_metadata=true`;
    const found = (await ask(simulator, `/api/v3/messages?${window}`)).body.messages ?? [];
    const truth = [...simulator.truth.messages({ from, to: to + 1 })].filter(
      (message) => message.created_at !== null,
    );
    expect(found.map((message) => message.hash).toSorted()).toEqual(
      truth.map((message) => message.hash).toSorted(),
    );
    expect(found.find((message) => message.hash === truth[5]?.hash)).toEqual(truth[5]);
    const received = (await ask(simulator, `/api/v3/messages?${window}&direction=in`)).body.messages ?? [];
    expect(
      received.every(
        (message) => message.in_msg_tx_hash !== undefined && message.out_msg_tx_hash === undefined,
      ),
    ).toBe(true);
  });

  test('puts externals at their position in its order', async () => {
    const desc = (await ask(simulator, '/api/v3/messages?limit=300&sort=desc')).body.messages ?? [];
    const externals = desc.filter((message) => message.created_lt === null).length;
    if (build === '1.2') expect(externals).toBe(300);
    else expect(externals).toBeLessThan(200);
    const only = (await ask(simulator, '/api/v3/messages?limit=50&only_externals=true')).body.messages ?? [];
    expect(only.every((message) => message.source === null)).toBe(true);
    const without =
      (await ask(simulator, '/api/v3/messages?limit=50&exclude_externals=1')).body.messages ?? [];
    expect(without.every((message) => message.created_lt !== null)).toBe(true);
    const logs = (await ask(simulator, '/api/v3/messages?limit=50&destination=null')).body.messages ?? [];
    expect(logs.length > 0 && logs.every((message) => message.destination === null)).toBe(true);
  });

  test('finds transactions by message and by neighbour', async () => {
    const sender = all.find((transaction) =>
      transaction.out_msgs.some((message) => message.destination !== null),
    )!;
    const message = sender.out_msgs.find((candidate) => candidate.destination !== null)!;
    const receiver = all.find((transaction) => transaction.in_msg?.hash === message.hash)!;
    const hash = encodeURIComponent(message.hash);
    expect(
      hashesOf(await ask(simulator, `/api/v3/transactionsByMessage?msg_hash=${hash}&direction=in`)),
    ).toEqual([receiver.hash]);
    expect(hashesOf(await ask(simulator, `/api/v3/transactionsByMessage?msg_hash=${hash}&sort=asc`))).toEqual(
      [sender.hash, receiver.hash],
    );
    const normal = encodeURIComponent(
      all.find((transaction) => transaction.in_msg?.hash_norm !== undefined)?.in_msg?.hash_norm ?? '',
    );
    expect(hashesOf(await ask(simulator, `/api/v3/transactionsByMessage?msg_hash=${normal}`)).length).toBe(1);
    const parent = await ask(
      simulator,
      `/api/v3/adjacentTransactions?hash=${encodeURIComponent(receiver.hash)}&direction=in`,
    );
    expect(hashesOf(parent)).toEqual([sender.hash]);
    expect((await ask(simulator, '/api/v3/adjacentTransactions')).status).toBe(404);
    expect((await ask(simulator, '/api/v3/transactionsByMessage')).status).toBe(422);
    expect((await ask(simulator, '/api/v3/messages?direction=up')).status).toBe(422);
  });

  test('serves every complete trace once, in the order of its end', async () => {
    const [from, to] = [START + 200, START + 300];
    const truth = [...simulator.truth.traces({ from, to: to + 1 })];
    const window = `start_utime=${from}&end_utime=${to}&limit=1000&sort=asc&x_no_address_book=true`;
    const found = (await ask(simulator, `/api/v3/traces?${window}`)).body.traces ?? [];
    expect(found).toEqual(truth);
    for (const trace of found) {
      const rows = Object.values(trace.transactions);
      expect(trace.transactions_order.length).toBe(trace.trace_info.transactions);
      expect(new Set(rows.map((row) => row.trace_id))).toEqual(new Set([trace.trace_id]));
      expect(Math.max(...rows.map((row) => row.now))).toBe(trace.end_utime);
      expect(Math.max(...rows.map((row) => row.mc_block_seqno))).toBe(Number(trace.mc_seqno_end));
    }
    const some = truth.find((trace) => trace.transactions_order.length > 3)!;
    const last = encodeURIComponent(some.transactions_order.at(-1) ?? '');
    const name = encodeURIComponent(some.trace_id);
    const external = encodeURIComponent(some.external_hash ?? '');
    const filters = [
      `trace_id=${name}`,
      `tx_hash=${last}`,
      `msg_hash=${external}`,
      `trace_id=${name}&mc_seqno=${some.mc_seqno_end}`,
    ];
    for (const filter of filters)
      expect((await ask(simulator, `/api/v3/traces?${filter}`)).body.traces).toEqual([some]);
    const inBlock = (await ask(simulator, `/api/v3/traces?mc_seqno=${some.mc_seqno_end}&limit=1000`)).body
      .traces;
    expect(inBlock).toContainEqual(some);
    const both = await ask(simulator, `/api/v3/traces?trace_id=${name}&tx_hash=${last}`);
    expect(both.status).toBe(422);
  });

  test('leaves the address book and the metadata out on request, by parameter or header', async () => {
    const full = await ask(simulator, '/api/v3/messages?limit=300&exclude_externals=true');
    expect(Object.keys(full.body.address_book ?? {}).length).toBeGreaterThan(50);
    expect(Object.keys(full.body.metadata ?? {}).length).toBeGreaterThan(5);
    const empty = await ask(simulator, '/api/v3/messages?limit=300&x_no_address_book=true&x_no_metadata=1');
    expect([empty.body.address_book, empty.body.metadata]).toEqual([{}, {}]);
    const byHeader = await fetch(`${simulator.url}/api/v3/transactions?limit=3`, {
      headers: { 'X-No-Address-Book': 'true' },
    });
    expect(((await byHeader.json()) as Reply['body']).address_book).toEqual({});
  });

  test('responds to other methods with a 500, to HEAD as to GET, and to unknown paths as its build does', async () => {
    const blocks = `${simulator.url}/api/v3/blocks`;
    expect((await fetch(blocks, { method: 'POST' })).status).toBe(500);
    expect((await fetch(blocks, { method: 'HEAD' })).status).toBe(200);
    const unknown = await fetch(`${simulator.url}/api/v3/nothing`);
    expect([unknown.status, await unknown.text()]).toEqual([
      500,
      '{"error":"internal server error: Cannot GET nothing"}',
    ]);
  });

  test('responds to a second before all time with nothing, and to a limit above its own with the number', async () => {
    expect((await ask(simulator, '/api/v3/transactions?start_utime=-1')).body.transactions).toEqual([]);
    simulator.faults.maxLimit = 100;
    const refused = await fetch(`${simulator.url}/api/v3/transactions?limit=1000`);
    delete simulator.faults.maxLimit;
    expect([refused.status, await refused.text()]).toEqual([
      build === '1.2' ? 500 : 422,
      '{"error":"limit is not allowed: 1000 \\u003e 100"}',
    ]);
    expect((await ask(simulator, '/api/v3/topAccountsByBalance?limit=1001')).status).toBe(422);
  });
});
