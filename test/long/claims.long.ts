import { expect, test } from 'vitest';
import { readCoverage, type Stream } from '../../src/ledger/stored-coverage.ts';
import { compile } from '../support/program/compile.ts';
import { openTestStore } from '../support/database/database.ts';
import { claimTogether } from '../support/leases/claimants.ts';

test('eight processes that claim and commit thousands of parts at once never get the same second twice', async () => {
  const [compiled, store] = await Promise.all([compile(), openTestStore()]);
  const stream: Stream = { dataset: 'shared', scope: '', pass: 0 };
  const wanted = { from: 0, to: 12_000 };
  const begin = performance.now();
  const reports = await claimTogether(compiled, 8, { database: store.url, stream, wanted });
  const claims = reports.reduce((sum, report) => sum + report.claims, 0);
  const seconds = reports.flatMap(({ covered }) => covered.map(({ from }) => from)).sort((a, b) => a - b);
  console.log(`8 claimants: ${claims} claims, ${seconds.length} commits`, {
    claimsAndCommitsASecond: Math.round((1000 * (claims + seconds.length)) / (performance.now() - begin)),
  });
  expect(reports.map(({ error }) => error)).toEqual(reports.map(() => undefined));
  expect(seconds).toEqual(Array.from({ length: wanted.to }, (_, second) => second));
  expect(await readCoverage(store.database, stream)).toEqual([wanted]);
  expect(claims).toBeGreaterThan(4000);
  await store.close();
});
