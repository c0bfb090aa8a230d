import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { claimLease, releaseLease } from '../../src/ledger/leases.ts';
import {
  countUnrepaired,
  endPauses,
  forgetUnrepaired,
  forgetRefusals,
  readAllRefused,
  readUnrepaired,
  refuse,
  type RefusalReason,
} from '../../src/ledger/stored-coverage.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const stream = { dataset: 'transactions', scope: '', pass: 0 };
const ALL = { from: 0, to: 100 };

let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());
beforeEach(() => store.database.run(sql`delete from etl.refused`));

const refuseFor = (reason: RefusalReason, from: number, to: number, pauseSeconds = 0) =>
  refuse(store.database, stream, { from, to }, { reason, detail: 'why', pauseSeconds });

const Kept = z.object({
  from: z.number(),
  to: z.number(),
  attempts: z.number(),
  pause: z.number().nullable(),
});

/** The rows of the table; `pause` in minutes from now. */
const kept = () =>
  store.database.rows(
    sql`select lower(span)::int as from, upper(span)::int as to, attempts,
          round(extract(epoch from retry_at - clock_timestamp()) / 60)::int as pause
        from etl.refused order by lower(span)`,
    Kept,
  );

/** What a reader may lease of the seconds from 0 to 100. */
async function free() {
  const claim = { stream, wanted: [ALL], length: () => 100, owner: 'a', priority: 'backfill' };
  const lease = await claimLease(store.database, claim);
  if (lease !== undefined) await releaseLease(store.database, lease);
  return lease?.span;
}

test.each(['failing', 'source_gap', 'disputed', 'changed'] as const)(
  'a range that is %s again is one entry, although its borders have moved, and waits twice as long',
  async (reason) => {
    await refuseFor(reason, 10, 20);
    await refuseFor(reason, 15, 25);
    expect(await kept()).toEqual([{ from: 15, to: 25, attempts: 2, pause: 2 }]);
    await refuseFor(reason, 15, 25, 600);
    expect(await kept()).toEqual([{ from: 15, to: 25, attempts: 3, pause: 10 }]);
    await refuseFor('saturated', 50, 51);
    expect(await kept()).toHaveLength(2);
  },
);

test('a gap that was read again is no longer refused, and its attempts count until it is verified', async () => {
  await refuseFor('source_gap', 0, 60);
  expect(await free()).toEqual({ from: 60, to: 100 });
  await forgetRefusals(store.database, stream, { from: 0, to: 60 });
  expect([await readAllRefused(store.database), await free()]).toEqual([[], ALL]);
  expect(await readUnrepaired(store.database, stream)).toEqual([
    { span: { from: 0, to: 60 }, reason: 'source_gap', isDue: true },
  ]);
  await refuseFor('source_gap', 30, 31);
  expect(await kept()).toEqual([{ from: 30, to: 31, attempts: 2, pause: 2 }]);
  await forgetUnrepaired(store.database, stream, [ALL]);
  expect([await kept(), await countUnrepaired(store.database)]).toEqual([[], 0]);
});

test('a range with rows that disagree waits for a repair, not for a reader', async () => {
  await refuseFor('disputed', 0, 60);
  await endPauses(store.database, [stream.dataset], ALL);
  await forgetRefusals(store.database, stream, ALL);
  expect([await readAllRefused(store.database), await free()]).toEqual([[], ALL]);
  expect(await readUnrepaired(store.database, stream)).toMatchObject([{ reason: 'disputed', isDue: false }]);
  // Rows that turn out to be missing there are the same hole.
  await refuseFor('source_gap', 5, 6);
  expect(await kept()).toEqual([{ from: 5, to: 6, attempts: 2, pause: 2 }]);
});

test('a failed range is read when a part of it is read; other refused ranges when all of it is', async () => {
  await refuseFor('failing', 0, 10);
  await refuseFor('saturated', 20, 30);
  await forgetRefusals(store.database, stream, { from: 5, to: 25 });
  expect(await kept()).toMatchObject([{ from: 20, to: 30 }]);
  await forgetRefusals(store.database, stream, { from: 20, to: 30 });
  expect(await kept()).toEqual([]);
});
