import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import {
  addCoverage,
  readCoverage,
  subtractCoverage,
  type Stream,
} from '../../src/ledger/stored-coverage.ts';
import { HOLD_SECONDS, claimLease } from '../../src/ledger/leases.ts';
import type { Range } from '../../src/range.ts';
import { compile } from '../support/program/compile.ts';
import { slowness } from '../support/slowness.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import type { ClaimingOrder } from '../support/leases/claimant.ts';
import { claimTogether, go, startClaimant, thaw } from '../support/leases/claimants.ts';
import { thorough } from '../support/thorough.ts';

let compiled: string;
let store: TestStore;
beforeAll(async () => {
  [compiled, store] = await Promise.all([compile(), openTestStore()]);
});
afterAll(async () => {
  await store.close();
});

const start = (order: Omit<ClaimingOrder, 'database'>) =>
  startClaimant(compiled, { ...order, database: store.url });

/** The long form is test/long/claims.long.ts. */
thorough(
  'processes that claim and commit hundreds of parts at once never get the same second twice',
  async () => {
    const stream: Stream = { dataset: 'shared', scope: '', pass: 0 };
    const wanted: Range = { from: 0, to: 500 };
    const reports = await claimTogether(compiled, 4, { database: store.url, stream, wanted });
    expect(reports.map(({ error }) => error)).toEqual(reports.map(() => undefined));
    const seconds = reports.flatMap(({ covered }) => covered.map(({ from }) => from)).sort((a, b) => a - b);
    expect(seconds).toEqual(Array.from({ length: wanted.to }, (_, second) => second));
    expect(await readCoverage(store.database, stream)).toEqual([wanted]);
  },
);

test.concurrent(
  'a process frozen within its commit blocks no process for long, and writes nothing',
  async () => {
    const stream: Stream = { dataset: 'frozen', scope: '', pass: 0 };
    const process = await start({ stream, wanted: { from: 0, to: 100 }, kind: 'freeze' });
    expect(await go(process)).toBe('frozen');
    const begin = performance.now();
    // Waits for the row of coverage that the frozen process holds.
    await addCoverage(store.database, stream, { from: 200, to: 300 });
    expect(performance.now() - begin).toBeLessThan(1000 * HOLD_SECONDS * slowness());
    expect(await thaw(process)).toMatchObject({ covered: [], error: 'lease_lost' });
    expect(await readCoverage(store.database, stream)).toEqual([{ from: 200, to: 300 }]);
    expect(await rowsOf('frozen')).toBe(0);
  },
);

test.concurrent(
  'a process frozen past its lease finds that another process has its range, and writes nothing',
  async () => {
    const stream: Stream = { dataset: 'overtaken', scope: '', pass: 0 };
    const wanted = { from: 0, to: 100 };
    const process = await start({ stream, wanted, kind: 'overtaken' });
    expect(await go(process)).toBe('frozen');
    await store.database.run(sql`
    update etl.leases set expires_at = clock_timestamp() where dataset = ${stream.dataset}`);
    const other = { stream, wanted: [wanted], length: () => 1000, owner: 'other', priority: 'backfill' };
    expect((await claimLease(store.database, other))?.span).toEqual(wanted);
    expect(await thaw(process)).toMatchObject({ covered: [], error: 'lease_lost' });
    expect(await readCoverage(store.database, stream)).toEqual([]);
    expect(await rowsOf('overtaken')).toBe(0);
  },
);

test.concurrent('a hole that is found while a page of it is in flight stays a hole', async () => {
  const stream: Stream = { dataset: 'holed', scope: '', pass: 0 };
  await addCoverage(store.database, stream, { from: 0, to: 100 });
  const process = await start({ stream, wanted: { from: 100, to: 200 }, kind: 'overtaken' });
  expect(await go(process)).toBe('frozen');
  await store.database.transaction((session) => subtractCoverage(session, stream, [{ from: 90, to: 110 }]));
  expect(await thaw(process)).toMatchObject({ covered: [], error: 'lease_lost' });
  expect(await readCoverage(store.database, stream)).toEqual([{ from: 0, to: 90 }]);
});

async function rowsOf(dataset: string): Promise<number> {
  const [row] = await store.database.rows(
    sql`select count(*)::int as count from etl.wanted where dataset like ${`${dataset} %`}`,
    z.object({ count: z.number() }),
  );
  return row?.count ?? NaN;
}
