import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { ApiRequest } from '../../src/simulator/http/api.ts';
import type { HttpResponse } from '../../src/simulator/http/response.ts';
import { openCli, type Cli, type CliResult } from '../support/program/cli.ts';
import { formatAddress } from '../../src/ton/address.ts';
import { select } from '../support/collections.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

let cli: Cli;
let store: TestStore;
let simulator: Simulator;
/** The path whose responses are changed. */
let spoiled = '';
let spoil = (body: string) => body;

beforeAll(async () => {
  [cli, store] = [await openCli(), await openTestStore()];
  const after = ({ path }: ApiRequest, response: HttpResponse) =>
    path === spoiled ? { ...response, body: spoil(response.body.toString()) } : response;
  simulator = await startSimulator({ start: START, duration: 7 * 3600, load: 0.5, accounts: 200, after });
});
afterAll(async () => {
  await Promise.all([cli.close(), simulator.close()]);
  await store.close();
});

function run(...args: string[]): Promise<CliResult> {
  const settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '500' };
  return cli.ask(args, { ...settings, ETL_ATTEMPTS: spoiled === '' ? '6' : '1' });
}

test('lists and look-ups need no range; status and datasets show them; the other datasets name what they need', async () => {
  const [account] = simulator.truth.entities().balances();
  const friendly = formatAddress(account!.account);
  const added = await run('watch', 'add', friendly, '--note', 'the richest');
  expect(added.stdout).toBe(
    `watching  ${account!.account} (${formatAddress(account!.account, { testnet: true })})\n`,
  );
  const names = 'jetton_masters,account_states,account_transactions';
  const first = await run('backfill', '--only', names);
  expect(first.stderr).toBe('');
  expect(first.stdout).toMatch(/^read: account_states, account_transactions, jetton_masters, \d+ requests/m);
  expect(first.code).toBe(0);
  const [label] = await select(
    store,
    `select label, balance from ton.accounts where address = '${account!.account}'`,
  );
  expect(label).toEqual({ label: 'the richest', balance: account!.balance });

  const status = await run('status');
  expect(status.stdout).toMatch(/jetton_masters +\d+ +0 +list: whole /);
  expect(status.stdout).toMatch(/account_states +1 .*1 known, 0 unknown to the source, 0 due/);
  const json = JSON.parse((await run('status', '--json')).stdout) as { collections: { dataset: string }[] };
  expect(json.collections.map(({ dataset }) => dataset)).toContain('account_transactions');

  const described = await run('datasets', 'nft_sales');
  expect(described.stdout).toContain('GET /api/v3/nft/sales');
  expect(described.stdout).toMatch(/^limits +it cannot know /m);
  expect(described.stdout).toMatch(/^cost +one request for up to 1000 of those that are new or have moved/m);
  expect(described.stdout).toContain('marketplace_address');

  const ranged = await run('backfill', '--only', 'shard_states');
  expect(ranged.code).toBe(2);
  expect(ranged.stderr).toContain('--from and --to are needed together: for shard_states');
  const states = await run(
    'backfill',
    '--only',
    'shard_states',
    '--from',
    '2026-05-01',
    '--to',
    '2026-05-01T00:01Z',
  );
  expect(states.code).toBe(0);
  expect((await select(store, 'select distinct mc_seqno from ton.shard_states')).length).toBeGreaterThan(20);

  const capped = await run('backfill', '--only', 'nft_items', '--max-requests', '1');
  expect(capped.code).toBe(3);
});

test.each([
  ['does not fit', (body: string) => body.replaceAll(/"address":"0:/g, '"address":"x:')],
  ['names an error beside an empty list', () => '{"error":"timeout","nft_collections":[]}'],
  ['is another list', () => '{"jetton_masters":[]}'],
])('if there are several lists, the last line names only the one whose response %s', async (_, change) => {
  spoiled = '/api/v3/nft/collections';
  spoil = change;
  const { code, stdout } = await run(
    'backfill',
    '--only',
    'jetton_masters,nft_collections,jetton_wallets',
  ).finally(() => (spoiled = ''));
  expect(code).toBe(3);
  expect(stdout).toMatch(/^incomplete: nft_collections, \d+ requests/m);
});
