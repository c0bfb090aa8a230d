import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { readOnce } from '../../support/collections.ts';
import { sql } from 'drizzle-orm';
import * as z from 'zod';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;

beforeEach(async () => {
  store = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 1800, seed: 11, load: 3 });
});
afterEach(async () => {
  await simulator.close();
  await store.close();
});

const Text = z.object({ id: z.string() });
const texts = async (text: string) => (await store.database.rows(sql.raw(text), Text)).map(({ id }) => id);

describe('a row of a list that cannot be served', () => {
  test.each([
    ['jetton_masters', '/api/v3/jetton/masters'],
    ['nft_collections', '/api/v3/nft/collections'],
    ['nft_items', '/api/v3/nft/items'],
  ])('of %s is passed over, and read when it can be', async (name, path) => {
    const all = `select address as id from ton.${name} order by 1`;
    await readOnce(store, simulator.url, [name]);
    const truth = await texts(all);
    expect(truth.length).toBeGreaterThan(2);
    await store.database.script(`truncate etl.cursors, etl.lookups, ton.${name}`);
    const bad = [truth[0]!, truth[Math.floor(truth.length / 2)]!, truth.at(-1)!];
    simulator.faults.unservable = bad.map((value) => ({ path, member: 'address', value }));
    expect(await readOnce(store, simulator.url, [name])).toEqual([name]);
    expect(await texts(all)).toEqual(truth.filter((id) => !bad.includes(id)));
    const [cursor] = await texts(
      `select jsonb_array_length(cursor -> 'lacking')::text as id from etl.cursors where dataset = '${name}' and scope = 'list'`,
    );
    expect(cursor).toBe('3');
    // Asked for one by one, and found at last.
    simulator.faults.unservable = [];
    simulator.stats.clear();
    expect(await readOnce(store, simulator.url, [name])).toEqual([]);
    expect(await texts(all)).toEqual(truth);
    expect(simulator.stats.byPath.get(path)).toBeLessThan(10);
  });
});

describe('a subject that cannot be served', () => {
  test('is set aside, and all others of its batch are stored', async () => {
    const addresses = await accounts();
    const bad = [addresses[0]!, addresses[7]!];
    const path = '/api/v3/accountStates';
    simulator.faults.unservable = bad.map((value) => ({ path, member: 'address', value }));
    // As this endpoint says of whatever goes wrong.
    simulator.faults.unservableAs = '422';
    expect(await readOnce(store, simulator.url, ['account_states'])).toEqual(['account_states']);
    const found = await texts(`select address as id from ton.account_states order by 1`);
    expect(found).toEqual(addresses.filter((address) => !bad.includes(address)).sort());
    expect(
      await texts(`select subject as id from etl.lookups
      where dataset = 'account_states' and found is null and again_at > clock_timestamp() + interval '50 seconds' order by 1`),
    ).toEqual([...bad].sort());
    const [failure] = await texts(`select message as id from etl.failures where dataset = 'account_states'`);
    expect(failure).toMatch(/is not served: .*422/);
  });
});

/** Watches some accounts that the network knows. */
async function accounts(): Promise<string[]> {
  const response = await fetch(`${simulator.url}/api/v3/transactions?limit=200`);
  const { transactions } = (await response.json()) as { transactions: { account: string }[] };
  const addresses = [...new Set(transactions.map(({ account }) => account))].slice(0, 20);
  for (const address of addresses)
    await store.database.run(sql`insert into etl.watch (address) values (${address})`);
  return addresses;
}
