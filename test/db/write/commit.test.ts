import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { commitPage } from '../../../src/db/write/commit.ts';
import { readCoverage, type Stream } from '../../../src/db/coverage/coverage.ts';
import type { Database } from '../../../src/db/connection/database.ts';
import { claimLease, type Lease } from '../../../src/db/coordination/leases.ts';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import { jetton_burns } from '../../../src/db/schema/jetton-burns.ts';
import { LeaseLostError } from '../../../src/errors.ts';
import { untilAborted } from '../../../src/stop.ts';
import { openTestStore } from '../../support/database.ts';

const stream: Stream = { dataset: 'jetton_burns', scope: '', pass: 0 };
const wanted = { from: 1_780_000_000, to: 1_780_000_100 };
const address = `0:${'A'.repeat(64)}`;
const row = {
  utime: '2026-05-28T20:26:45Z',
  transaction_hash: 'x'.repeat(44),
  transaction_lt: '1',
  query_id: '0',
  owner: address,
  jetton_wallet: address,
  jetton_master: address,
  amount: '5',
};

/** A database at which a process stops after the rows of a page were sent, until it may go on. */
function stopping(real: Database) {
  const gate = new AbortController();
  const reached = new AbortController();
  const database: Database = {
    ...real,
    transaction: (work) =>
      real.transaction((session) =>
        work({
          ...session,
          copyIn: async (...data) => {
            await session.copyIn(...data);
            reached.abort();
            await untilAborted(gate.signal);
          },
        }),
      ),
  };
  return { database, stopped: untilAborted(reached.signal), goOn: () => gate.abort() };
}

test('a process that stops while it sends its rows holds nothing: its range is read by another, and it writes nothing', async () => {
  const store = await openTestStore();
  const claim = (owner: string) =>
    claimLease(store.database, { stream, wanted: [wanted], length: 1000, owner, priority: 'backfill' });
  const commit = (database: Database, lease: Lease) =>
    commitPage(database, createPartitions(database, 'month'), {
      lease,
      tables: { jetton_burns },
      rows: [{ jetton_burns: [row] }],
      rejected: [],
      extras: [],
      ids: [],
      replace: false,
      overwrite: false,
      pages: [],
      done: { span: lease.span, outcome: 'covered', mature: false },
    });
  try {
    const lease = await claim('stopped');
    const { database, stopped, goOn } = stopping(store.database);
    const outcome = commit(database, lease!);
    await Promise.race([stopped, outcome]);
    await store.database.run(sql`select 1 from etl.leases for update nowait`);
    await store.database.run(sql`update etl.leases set expires_at = clock_timestamp()`);
    const other = await claim('other');
    expect(other?.span).toEqual(wanted);
    goOn();
    await expect(outcome).rejects.toThrow(LeaseLostError);
    expect(await readCoverage(store.database, stream)).toEqual([]);
    await commit(store.database, other!);
    expect(await readCoverage(store.database, stream)).toEqual([wanted]);
    const rows = await store.database.rows(
      sql`select amount from ton.jetton_burns`,
      z.object({ amount: z.string() }),
    );
    expect(rows).toEqual([{ amount: '5' }]);
  } finally {
    await store.close();
  }
});
