import { sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import * as z from 'zod';
import transactionsJob from '../../jobs/transactions.ts';
import { HOLD_SECONDS, claimLease } from '../../src/ledger/leases.ts';
import type { Database } from '../../src/postgres/database.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { commitPage, type PageCommit } from '../../src/write/commit.ts';
import { createPartitions } from '../../src/write/target.ts';
import { linesOfRows, type linesOfRecords } from '../../src/write/lines.ts';
import { formatTime } from '../../src/range.ts';
import { openTestStore } from '../support/database/database.ts';
import { stopping } from '../support/database/stopping.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';
import { sampleTransaction } from '../support/samples/sample-records.ts';

const base = 1_780_000_000;
const sample = transactionsJob.read([sampleTransaction()]).accepted[0]!.rows;
const transaction = { ...sample['transactions']![0]!, utime: formatTime(base + 50) };
const message = { ...sample['messages']![0]!, utime: formatTime(base + 10) };

type Rows = ReturnType<typeof linesOfRecords>;

/** Commits a page of a lease that it takes for these seconds. */
async function commit(
  database: Database,
  { dataset, from, to, rows }: { dataset: string; from: number; to: number; rows: Rows },
  half = false,
): Promise<void> {
  const claim = { stream: { dataset, scope: '', pass: 0 }, wanted: [{ from: base + from, to: base + to }] };
  const lease = await claimLease(database, {
    ...claim,
    length: () => 1000,
    owner: dataset,
    priority: 'tail',
  });
  const span = half ? { from: base + from, to: base + (from + to) / 2 } : lease!.span;
  const page: PageCommit = {
    lease: lease!,
    rows,
    rejected: [],
    extras: [],
    ids: ['a'],
    replace: false,
    overwrite: false,
    pages: [],
    done: { span, outcome: 'covered' },
  };
  await commitPage(database, createPartitions(database, 'month'), page);
}

/** A database whose transactions stop before a statement with this word. */
function stoppingBefore(real: Database, word: string) {
  const dialect = new PgDialect();
  return stopping(real, (session, stop) => ({
    run: async (query) => {
      if (dialect.sqlToQuery(query).sql.includes(word)) await stop();
      return session.run(query);
    },
  }));
}

test('a page that changes verified seconds waits for the rows of another one, which then covers its own', async () => {
  const store = await openTestStore();
  const { database } = store;
  const stream = { dataset: 'transactions', scope: '', pass: 0 };
  try {
    const older = linesOfRows(transactions, [{ ...transaction, trace_id: null }]);
    await commit(database, { dataset: 'transactions', from: 40, to: 60, rows: [older] });
    await database.run(sql`update etl.coverage set verified = covered`);

    const first = stoppingBefore(database, 'with ended');
    const writing = commit(first.database, {
      dataset: 'transactions',
      from: 0,
      to: 20,
      rows: [linesOfRows(messages, [message])],
    });
    await first.stopped;
    const fuller = linesOfRows(transactions, [{ ...transaction, trace_id: `${'z'.repeat(43)}=` }]);
    const waiting = commit(database, {
      dataset: 'traces',
      from: 30,
      to: 60,
      rows: [fuller, linesOfRows(messages, [message])],
    });
    await untilOneWaits(database, database, '%messages%');
    const deadlocks = sql`select deadlocks::int as count from pg_stat_database where datname = current_database()`;
    first.goOn();
    await Promise.all([writing, waiting]);
    await database.run(sql`select pg_stat_force_next_flush()`);
    expect(await database.rows(deadlocks, z.object({ count: z.number() }))).toEqual([{ count: 0 }]);
    expect(await readVerified(database, stream)).toEqual([
      { from: base + 40, to: base + 50 },
      { from: base + 51, to: base + 60 },
    ]);
  } finally {
    await store.close();
  }
});

test('the rest of a lease lasts from the end of the rows, however long they took', async () => {
  const store = await openTestStore();
  const { database } = store;
  try {
    await database.script(`
      create table public.written (at timestamptz);
      create function public.note() returns trigger language plpgsql as $$
        begin perform pg_sleep(0.5); insert into public.written values (clock_timestamp()); return null; end $$;
      create trigger note after insert on ton.messages for each statement execute function public.note();`);
    const rows = [linesOfRows(messages, [message])];
    await commit(database, { dataset: 'transactions', from: 0, to: 20, rows }, true);
    const left = sql`
      select expires_at >= (select max(at) from public.written) + ${HOLD_SECONDS} * interval '1 second' as whole
      from etl.leases`;
    expect(await database.rows(left, z.object({ whole: z.boolean() }))).toEqual([{ whole: true }]);
  } finally {
    await store.close();
  }
});
