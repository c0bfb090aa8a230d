import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { claimCursor, moveCursor, releaseClaim } from '../../src/db/cursors/cursors.ts';
import { readReport } from '../../src/status/report.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

/** What is said of the walks of a collection. */
async function walksOf(name: string) {
  const report = await readReport(store.database, await loadDatasets(), { rows: 'estimated' });
  return report.collections.find(({ dataset }) => dataset === name)?.walks;
}

test.each([
  ['jetton_masters', 'list', 'not read yet'],
  ['account_states', 'lookup', 'not read yet'],
])('%s was never read while nobody has committed a page of its %s', async (dataset, scope, progress) => {
  const claim = { dataset, scope, owner: 'host/1/a' };
  await claimCursor(store.database, claim);
  expect(await walksOf(dataset)).toEqual([{ walk: scope, at: null, progress, beingRead: true }]);
  // The source answered nothing.
  await releaseClaim(store.database, claim);
  expect(await walksOf(dataset)).toEqual([{ walk: scope, at: null, progress, beingRead: false }]);
});

test('a list was read when it came to its end, and a look-up at its last page', async () => {
  const { database } = store;
  const list = { at: 9, end: 9, round: false, ended: 1_700_000_000, beyond: null };
  await moveCursor(database, { dataset: 'jetton_masters', scope: 'list', owner: '' }, list);
  expect(await walksOf('jetton_masters')).toMatchObject([{ at: 1_700_000_000, progress: 'whole' }]);
  await moveCursor(database, { dataset: 'account_states', scope: 'lookup', owner: '' }, { gathered: 1 });
  const [walk] = (await walksOf('account_states')) ?? [];
  const { at } = await readReport(database, [], { rows: 'estimated' });
  expect(walk?.at).toBeGreaterThan(at - 300);
  expect(walk?.at).toBeLessThanOrEqual(at + 1);
});
