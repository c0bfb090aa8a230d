import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiUnavailableError } from '../../src/errors.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { recordFailure } from '../../src/ledger/stored-coverage.ts';
import { claimCursor, moveCursor, releaseClaim } from '../../src/ledger/stored-cursors.ts';
import { collectionLines } from '../../src/commands/status-command.ts';
import { readReport } from '../../src/status/report.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

/** What the status says about the walks of a collection. */
async function walksOf(name: string) {
  const report = await readReport(store.database, await loadDatasets(), { rows: 'estimated' });
  return report.collections.find(({ dataset }) => dataset === name)?.walks;
}

test.each([
  ['jetton_masters', 'list', 'list', 'not read yet'],
  ['account_states', 'lookup', 'look-ups', 'not read yet'],
  ['dns_records', 'of_domains', 'look-ups (of domains)', 'not read yet'],
  ['masterchain_heads', 'node', 'sample of the node', 'not read yet'],
  ['account_transactions', 'backward', 'history', ''],
])(
  '%s was never read while no process has committed a page of its %s',
  async (dataset, scope, title, progress) => {
    const claim = { dataset, scope, owner: 'host/1/a' };
    await claimCursor(store.database, claim);
    const walk = { walk: scope, title, at: null, wholeAt: null, progress };
    expect(await walksOf(dataset)).toEqual([{ ...walk, beingRead: true }]);
    // The source returned nothing.
    await releaseClaim(store.database, claim);
    expect(await walksOf(dataset)).toEqual([{ ...walk, beingRead: false }]);
  },
);

test('a list was read when the source last responded, apart from when it was last complete; a look-up at its last page', async () => {
  const { database } = store;
  const list = { at: 9, end: 9, round: false, ended: 1_700_000_000, beyond: null };
  await moveCursor(database, { dataset: 'jetton_masters', scope: 'list', owner: '' }, list);
  const { at: now } = await readReport(database, [], { rows: 'estimated' });
  const [masters] = (await walksOf('jetton_masters')) ?? [];
  expect(masters).toMatchObject({ wholeAt: 1_700_000_000, progress: '' });
  expect(masters?.at).toBeGreaterThan(now - 300);
  await moveCursor(database, { dataset: 'account_states', scope: 'lookup', owner: '' }, { gathered: 1 });
  const [walk] = (await walksOf('account_states')) ?? [];
  const { at } = await readReport(database, [], { rows: 'estimated' });
  expect(walk?.at).toBeGreaterThan(at - 300);
  expect(walk?.at).toBeLessThanOrEqual(at + 1);
});

test('status says in plain words how far each walk is', async () => {
  const { database } = store;
  const covered = [
    { from: 10, to: 20 },
    { from: 30, to: 2508 },
  ];
  const claim = { dataset: 'shard_states', scope: 'per_block', owner: 'host/1/a' };
  await claimCursor(database, claim);
  await moveCursor(database, claim, { covered, borders: [] });
  await releaseClaim(database, claim);
  const error = new ApiUnavailableError('it was away');
  for (const [dataset, scope] of [
    ['shard_states', 'per_block'],
    ['dns_records', 'of_domains'],
    ['account_transactions', 'backward'],
  ] as const)
    await recordFailure(database, { dataset, scope, pass: 0 }, error);
  const report = await readReport(database, await loadDatasets(), { rows: 'estimated' });
  const text = collectionLines(report.collections, report.at).join('\n');
  expect(text).toMatch(
    /shard_states .*block by block: 2488 masterchain blocks, 1 gap between them, last read /,
  );
  expect(text).toMatch(/jetton_masters .*list: whole \d+d( \d+[hm])? ago, last read /);
  expect(text).toContain('shard_states (block by block): it was away');
  expect(text).toContain('dns_records (look-ups (of domains)): it was away');
  expect(text).not.toMatch(/per_block|backward|of_domains/);
});
