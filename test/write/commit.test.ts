import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { commitCursor, commitPage, type PageCommit } from '../../src/write/commit.ts';
import { linesOfRows } from '../../src/write/lines.ts';
import { readCoverage, type Stream, readRefused } from '../../src/ledger/stored-coverage.ts';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { claimLease, type Lease } from '../../src/ledger/leases.ts';
import { claimCursor } from '../../src/ledger/stored-cursors.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { createPartitions } from '../../src/write/target.ts';
import { jetton_burns } from '../../src/tables/ton/jettons-and-nfts.ts';
import { DatabaseError, LeaseLostError } from '../../src/errors.ts';
import { formatTime } from '../../src/range.ts';
import { openTestStore } from '../support/database/database.ts';
import { openStandingCopy } from '../support/database/standing-copy.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';
import { writeRows } from '../support/database/write-rows.ts';

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

/** `contradicting`: another amount of the last row. */
const page = (lease: Lease, amounts: readonly string[], contradicting?: string): PageCommit => ({
  lease,
  rows: [
    linesOfRows(
      jetton_burns,
      [...amounts, contradicting ?? []].flat().map((amount, index) => ({
        ...row,
        utime: formatTime(wanted.from + 10 * Math.min(index, amounts.length - 1)),
        transaction_lt: String(Math.min(index, amounts.length - 1)),
        // A server may learn it later, which makes no difference.
        trace_id: lease.stream.pass > 0 ? 'y'.repeat(44) : null,
        amount,
      })),
    ),
  ],
  rejected: [],
  extras: [],
  ids: [],
  replace: false,
  overwrite: lease.stream.pass > 0,
  ...(lease.stream.pass > 0 && { again: { scope: undefined, pauseSeconds: 3600 } }),
  pages: [],
  done: { span: lease.span, outcome: 'covered' },
});

/** Reads the whole range once, and resolves to what second readings have confirmed. */
async function readWhole(database: Database, pass: number, amounts: readonly string[]) {
  const claim = { stream: { ...stream, pass }, wanted: [wanted], length: () => 1000, owner: 'a' };
  const lease = await claimLease(database, { ...claim, priority: 'refresh' });
  await commitPage(database, createPartitions(database, 'month'), page(lease!, amounts));
  return readCoverage(database, { ...stream, pass: 1 });
}

test('a second reading waits for other transactions that write its tables, and sees their rows', async () => {
  const store = await openTestStore();
  const { database } = store;
  await readWhole(database, 0, ['1', '2']);
  const added = { ...row, utime: formatTime(wanted.from), transaction_lt: '9' };
  const reading = await database.transaction(async (session) => {
    await writeRows(session, [linesOfRows(jetton_burns, [added])]);
    const confirmed = readWhole(database, 1, ['1', '2']);
    await untilOneWaits(database, session, '%pg_advisory_xact_lock(%');
    return { confirmed };
  });
  expect(await reading.confirmed).toEqual([{ ...wanted, from: wanted.from + 1 }]);
  await store.close();
});

test('a second reading confirms the seconds of which it brings the stored rows, and counts as the first for other seconds', async () => {
  const store = await openTestStore();
  const { database } = store;
  const second = { ...stream, pass: 1 };
  const read = async (pass: number, amounts: readonly string[], contradicting?: string) => {
    const claim = { stream: { ...stream, pass }, wanted: [wanted], length: () => 1000, owner: 'a' };
    const lease = await claimLease(database, { ...claim, priority: 'refresh' });
    await commitPage(database, createPartitions(database, 'month'), page(lease!, amounts, contradicting));
    return readCoverage(database, second);
  };
  const { from, to } = wanted;
  const wait = () => database.run(sql`update etl.refused set retry_at = now()`);
  const amounts = () =>
    database.rows(
      sql`select amount from ton.jetton_burns order by transaction_lt`,
      z.object({ amount: z.string() }),
    );
  try {
    await read(0, ['1', '2', '3']);
    const confirmed = [
      { from, to: from + 10 },
      { from: from + 11, to },
    ];
    expect(await read(1, ['1', '5', '3'])).toEqual(confirmed);
    expect(await amounts()).toEqual(['1', '5', '3'].map((amount) => ({ amount })));
    const refused = await readRefused(database, second, 'changed');
    expect(refused.map(({ span }) => span)).toEqual([{ from: from + 10, to: from + 11 }]);
    expect(refused[0]!.retryAt - Date.now() / 1000).toBeGreaterThan(3500);
    expect(
      await claimLease(database, {
        stream: second,
        wanted: [wanted],
        length: () => 9,
        owner: 'b',
        priority: 'tail',
      }),
    ).toBe(undefined);
    // A stored row that the source no longer has is a difference.
    await wait();
    expect(await read(1, ['1'])).toEqual(confirmed);
    // Two contradicting versions of a row are a difference, even if one of them equals the stored row.
    await wait();
    expect(await read(1, ['1', '5'], '6')).toEqual(confirmed);
    await wait();
    expect(await read(1, ['1', '5'])).toEqual([wanted]);
    expect(await readRefused(database, second, 'changed')).toEqual([]);
    // A value that the source does not send stays, and its second loses its certificate.
    await database.run(sql`update ton.jetton_burns set extra = '{}' where transaction_lt = 0`);
    await database.run(sql`delete from etl.coverage where pass = 1`);
    await database.run(sql`update etl.coverage set verified = covered`);
    const rest = [{ from: from + 1, to }];
    expect(await read(1, ['1', '5', '3'])).toEqual(rest);
    expect(await readVerified(database, stream)).toEqual(rest);
    // A user's trigger drops rows: nothing is covered without them, whether other rows of the page are stored
    // or not.
    await database.script(`
      create function public.drop_row() returns trigger language plpgsql as $$
        begin return case when new.amount in (7, 8) then null else new end; end $$;
      create trigger dropper before insert on ton.jetton_burns for each row execute function public.drop_row();
      delete from etl.coverage`);
    for (const [sent, taken] of [
      [['1', '5', '3', '7', '4'], '4 of 5'],
      [['1', '5', '3', '7', '8'], '3 of 5'],
    ] as const) {
      const loss = await read(0, sent).catch((error: unknown) => error);
      expect(loss).toBeInstanceOf(DatabaseError);
      expect(loss).toHaveProperty('message', `ton.jetton_burns took ${taken} rows without an error`);
      expect(loss).toHaveProperty('hint', expect.stringContaining('doctor'));
      await database.run(sql`delete from etl.leases`);
    }
    expect(await readCoverage(database, stream)).toEqual([]);
  } finally {
    await store.close();
  }
});

test('a process that stops while it sends its rows holds nothing: another one reads its range, and it writes nothing', async () => {
  const store = await openTestStore();
  const line = await openStandingCopy(store.url, /copy pg_temp/);
  const standing = await openDatabase({ url: line.url, applicationName: 'standing' });
  const claim = (owner: string) =>
    claimLease(store.database, { stream, wanted: [wanted], length: () => 1000, owner, priority: 'backfill' });
  const commit = (database: Database, lease: Lease) =>
    commitPage(database, createPartitions(database, 'month'), page(lease, ['5']));
  try {
    const lease = await claim('stopped');
    const outcome = commit(standing, lease!);
    await Promise.race([line.stopped, outcome]);
    await store.database.run(sql`select 1 from etl.leases for update nowait`);
    await store.database.run(sql`update etl.leases set expires_at = clock_timestamp()`);
    const other = await claim('other');
    expect(other?.span).toEqual(wanted);
    line.goOn();
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
    await standing.close();
    await line.close();
    await store.close();
  }
});

test('nothing is covered or moved on in a database that a newer version has migrated, even without rows', async () => {
  const store = await openTestStore();
  const { database } = store;
  const newer = { of: 'a schema that this version of toncenter-etl does not know' };
  const claim = { stream, wanted: [wanted], length: () => 50, owner: 'a', priority: 'tail' };
  const commit = (lease: Lease | undefined, amounts: readonly string[]) =>
    commitPage(database, createPartitions(database, 'month'), page(lease!, amounts));
  try {
    const [one, other] = [await claimLease(database, claim), await claimLease(database, claim)];
    const walk = { dataset: 'jetton_masters', scope: '', owner: 'a' };
    await claimCursor(database, walk);
    await database.run(sql`insert into etl.migrations (hash, created_at) values ('of the future', 9e12)`);
    await expect(commit(one, ['5'])).rejects.toThrow(newer.of);
    await expect(commit(other, [])).rejects.toThrow(newer.of);
    await expect(commitCursor(database, walk, { next: 1 })).rejects.toThrow(newer.of);
    await expect(claimLease(database, claim)).rejects.toThrow(newer.of);
    expect(await readCoverage(database, stream)).toEqual([]);
  } finally {
    await store.close();
  }
});
