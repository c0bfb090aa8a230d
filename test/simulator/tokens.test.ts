import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { ask, type Reply } from './ask.ts';
import { makeValidator } from './open-api.ts';
import { hasOpenapi, NO_OPENAPI } from '../support/shared-data.ts';
import { some } from '../support/thorough.ts';

const START = 1_767_225_600;
const SIZE = { seed: 3, start: START, duration: 900, load: 15, accounts: 200 } as const;
const NOTHING_ELSE = 'x_no_address_book=true&x_no_metadata=true';

type Row = Record<string, unknown> & {
  transaction_hash: string;
  transaction_lt: string;
  transaction_now: number;
};

const FAMILIES = [
  { path: '/api/v3/jetton/transfers', member: 'jetton_transfers', truth: 'jettonTransfers' },
  { path: '/api/v3/jetton/burns', member: 'jetton_burns', truth: 'jettonBurns' },
  { path: '/api/v3/nft/transfers', member: 'nft_transfers', truth: 'nftTransfers' },
] as const;

type Family = (typeof FAMILIES)[number];

const rowsOf = (reply: Reply, { member }: Family): Row[] => (reply.body[member] ?? []) as unknown as Row[];
const truthOf = (simulator: Simulator, { truth }: Family, from = 0, to = Infinity): Row[] =>
  [...simulator.truth[truth]({ from, to })] as unknown as Row[];
const hashesOf = (rows: readonly Row[]): string[] => rows.map((row) => row.transaction_hash);

describe.each(some(['1.3', '1.2'] as const, 1))('transfers and burns of build %s', (build) => {
  let simulator: Simulator;
  let transactions: Map<string, TransactionJson>;

  beforeAll(async () => {
    simulator = await startSimulator({ ...SIZE, build });
    transactions = new Map([...simulator.truth.transactions()].map((row) => [row.hash, row]));
  });
  afterAll(() => simulator.close());

  test.skipIf(!hasOpenapi).each(FAMILIES)(
    `$path responds as described (${NO_OPENAPI} if it is absent)`,
    async ({ path }) => {
      const validate = makeValidator();
      for (const query of ['?limit=1000&sort=asc', '', '?limit=5000', '?start_utime=x']) {
        const { status, body } = await ask(simulator, path + query);
        expect(validate(path, status, body), query).toBeUndefined();
      }
    },
  );

  test.each(FAMILIES)('$path serves the rows of a window unchanged', async (family) => {
    const [from, to] = [START + 300, START + 799];
    const query = `?start_utime=${from}&end_utime=${to}&sort=asc&limit=1000&${NOTHING_ELSE}`;
    const found = rowsOf(await ask(simulator, family.path + query), family);
    const truth = truthOf(simulator, family, from, to + 1);
    const byHash = (a: Row, b: Row): number => (a.transaction_hash < b.transaction_hash ? -1 : 1);
    expect(found.toSorted(byHash)).toEqual(truth.toSorted(byHash));
    expect(found.length).toBeGreaterThan(20);
    const times = found.map((row) => row.transaction_now);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test.each(FAMILIES)('$path names transactions of the network', (family) => {
    for (const row of truthOf(simulator, family)) {
      const transaction = transactions.get(row.transaction_hash)!;
      expect([row.transaction_lt, row.transaction_now, row['trace_id'], row['transaction_aborted']]).toEqual([
        transaction.lt,
        transaction.now,
        transaction.trace_id,
        transaction.description.aborted,
      ]);
    }
  });

  test('hides failed jetton transfers, and shows failed burns and item transfers', () => {
    const aborted = FAMILIES.map((family) =>
      truthOf(simulator, family).some((row) => row['transaction_aborted'] === true),
    );
    const failed = [...transactions.values()].filter(
      ({ in_msg, description }) => in_msg?.opcode === '0x0f8a7ea5' && description.aborted === true,
    );
    expect(failed.length).toBeGreaterThan(0);
    expect(aborted[0]).toBe(false);
    expect(aborted[2]).toBe(true);
  });

  test.each(FAMILIES)('$path orders by lt, shuffling those that share one', async (family) => {
    const query = `${family.path}?limit=1000&${NOTHING_ELSE}`;
    const [first, second] = [
      rowsOf(await ask(simulator, query), family),
      rowsOf(await ask(simulator, query), family),
    ];
    const lts = first.map((row) => Number(row.transaction_lt));
    expect(lts).toEqual(lts.toSorted((a, b) => b - a));
    expect(second.map((row) => Number(row.transaction_lt))).toEqual(lts);
  });

  test('does not order a second if a time is given', async () => {
    const family = FAMILIES[0];
    const query = `${family.path}?start_utime=${START}&sort=asc&limit=1000&${NOTHING_ELSE}`;
    const pages = [await ask(simulator, query), await ask(simulator, query)].map((reply) =>
      hashesOf(rowsOf(reply, family)),
    );
    expect(pages[1]).not.toEqual(pages[0]);
    expect(pages[1]?.toSorted()).not.toEqual([]);
  });

  test('filters by owner and direction, wallet or item, master or collection', async () => {
    const jettons = FAMILIES[0];
    const all = [...simulator.truth.jettonTransfers()];
    const some = all[200]!;
    const expected: [string, (row: (typeof all)[number]) => boolean][] = [
      [`owner_address=${some.source}`, (row) => [row.source, row.destination].includes(some.source)],
      [`address=${some.source}&direction=out`, (row) => row.source === some.source],
      [`owner_address=${some.source}&direction=in`, (row) => row.destination === some.source],
      [`jetton_wallet=${some.source_wallet}`, (row) => row.source_wallet === some.source_wallet],
      [`jetton_master=${some.jetton_master}`, (row) => row.jetton_master === some.jetton_master],
      [
        `start_lt=${some.transaction_lt}&end_lt=${some.transaction_lt}`,
        (row) => row.transaction_lt === some.transaction_lt,
      ],
    ];
    for (const [filter, passes] of expected) {
      const found = rowsOf(await ask(simulator, `${jettons.path}?${filter}&limit=1000`), jettons);
      const wanted = all.filter(passes).map((row) => row.transaction_hash);
      expect(hashesOf(found).toSorted(), filter).toEqual(wanted.slice(-1000).toSorted());
    }
    const item = [...simulator.truth.nftTransfers()][5]!;
    const filter = `item_address=${item.nft_address}&collection_address=${item.nft_collection}&owner_address=${item.new_owner}`;
    const found = (await ask(simulator, `/api/v3/nft/transfers?${filter}`)).body.nft_transfers ?? [];
    expect(hashesOf(found as unknown as Row[])).toContain(item.transaction_hash);
    expect(found.every((row) => row.nft_address === item.nft_address)).toBe(true);
  });

  test('prints amounts beyond what a number holds, and payloads with and without a meaning', () => {
    const all = [...simulator.truth.jettonTransfers()];
    expect(all.some((row) => Number(row.amount) > Number.MAX_SAFE_INTEGER)).toBe(true);
    expect(all.some((row) => row.decoded_forward_payload !== null)).toBe(true);
    expect(all.some((row) => row.forward_payload !== null && row.decoded_forward_payload === null)).toBe(
      true,
    );
    expect(all.some((row) => row.response_destination === null)).toBe(true);
    expect(all.some((row) => row.custom_payload !== null)).toBe(true);
  });

  test('refuses a limit above 1000 as the build does', async () => {
    const { status, body } = await ask(simulator, '/api/v3/jetton/burns?limit=1001');
    expect([status, body.error]).toEqual([build === '1.2' ? 500 : 422, 'limit is not allowed: 1001 > 1000']);
  });
});
