import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { leaseLength } from '../../src/crawl/request-bounds.ts';
import {
  addCoverage,
  readCoverage,
  readMissing,
  subtractCoverage,
  type Stream,
  refuse,
} from '../../src/ledger/stored-coverage.ts';
import {
  claimLease,
  claimLeases,
  cutLease,
  findFree,
  holdLease,
  readOthers,
  releaseLease,
  shortenLease,
  releaseHeldBy,
  takeDuty,
} from '../../src/ledger/leases.ts';
import { claimCursor } from '../../src/ledger/stored-cursors.ts';
import { LeaseLostError } from '../../src/errors.ts';
import { hasEnded } from '../../src/ledger/workers.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
let number = 0;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

function newStream(): Stream {
  number += 1;
  return { dataset: `dataset${number}`, scope: '', pass: 0 };
}

const claimOf = (stream: Stream, changes: object = {}) => ({
  stream,
  wanted: [{ from: 0, to: 100 }],
  length: () => 30,
  owner: 'me',
  priority: 'backfill',
  ...changes,
});

const claim = (stream: Stream, changes: object = {}) => claimLease(store.database, claimOf(stream, changes));

async function expire(id: number) {
  await store.database.run(
    sql`update etl.leases set expires_at = clock_timestamp() - interval '1 s' where id = ${id}`,
  );
}

/** Releases a lease in another session, before this process does anything else. */
function releaseElsewhere(id: number): void {
  const program = `
    import pg from 'pg';
    const client = new pg.Client({ connectionString: ${JSON.stringify(store.url)} });
    await client.connect();
    await client.query('delete from etl.leases where id = ${id}');
    await client.end();`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: 'inherit',
  });
  expect(status).toBe(0);
}

describe('claiming', () => {
  test('leases the newest part of what is neither covered, leased nor refused', async () => {
    const stream = newStream();
    await addCoverage(store.database, stream, { from: 90, to: 100 });
    await refuse(store.database, stream, { from: 50, to: 60 }, { reason: 'saturated', detail: 'test' });
    const spans = [];
    for (let lease = await claim(stream); lease !== undefined; lease = await claim(stream))
      spans.push(lease.span);
    expect(spans).toEqual([
      { from: 60, to: 90 },
      { from: 20, to: 50 },
      { from: 0, to: 20 },
    ]);
  });

  test('never leases a second twice to claimants that ask at the same time', async () => {
    const stream = newStream();
    const take = async () => {
      const spans = [];
      for (;;) {
        const lease = await claim(stream, { wanted: [{ from: 0, to: 100 }], length: () => 1 });
        if (lease === undefined) return spans;
        spans.push(lease.span.from);
      }
    };
    const taken = (await Promise.all(Array.from({ length: 8 }, take))).flat().sort((a, b) => a - b);
    expect(taken).toEqual(Array.from({ length: 100 }, (_, second) => second));
  });

  test('leases several at once, each a share of what the previous ones left', async () => {
    const stream = newStream();
    const half = claimOf(stream, { length: (free: number) => Math.ceil(free / 2) });
    const spans = (await claimLeases(store.database, half, 3)).map(({ span }) => span);
    expect(spans).toEqual([
      { from: 50, to: 100 },
      { from: 25, to: 50 },
      { from: 12, to: 25 },
    ]);
    const rest = await claimLeases(store.database, claimOf(stream, { length: () => 10 }), 5);
    expect(rest.map(({ span }) => span)).toEqual([
      { from: 2, to: 12 },
      { from: 0, to: 2 },
    ]);
    expect(await claimLeases(store.database, claimOf(stream), 5)).toEqual([]);
  });

  test('takes a share of what is free: half of an even one, of four pages or more', async () => {
    const stream = newStream();
    const wanted = [{ from: 0, to: 10_000 }];
    const take = (readers: number) => claim(stream, { wanted, length: leaseLength(readers, 10) });
    const lengths = [];
    for (const readers of [1, 10, 10, 10, 100, 10]) {
      const lease = await take(readers);
      lengths.push(lease!.span.to - lease!.span.from);
    }
    // Of 1000, 952, 905, 860, 816, 812 pages of ten seconds; a fifth of a page is left over.
    expect(lengths).toEqual([478, 468, 448, 428, 38, 398]);
  });

  test('takes all of it if it is unknown what a page holds', async () => {
    const length = leaseLength(10, undefined);
    expect((await claim(newStream(), { length }))?.span).toEqual({ from: 0, to: 100 });
  });

  test('takes nothing if a lease ends after nothing was found free', async () => {
    const stream = newStream();
    const { id } = (await claim(stream, { length: () => 100 }))!;
    const length = (free: number) => {
      releaseElsewhere(id);
      return free;
    };
    expect(await claim(stream, { length, owner: 'other' })).toBeUndefined();
  });

  test('counts other readers: their leases of this priority, as long as they are held', async () => {
    const priority = 'refresh';
    const read = (owner: string, changes: object = {}) => claim(newStream(), { owner, priority, ...changes });
    for (const owner of ['me', 'me', 'busy', 'busy', 'other']) await read(owner);
    await read('tail', { priority: 'tail' });
    await expire((await read('gone'))!.id);
    expect(await readOthers(store.database, 'me', priority)).toEqual({ requests: 3, processes: 2 });
    expect(await readOthers(store.database, 'third', priority)).toEqual({ requests: 5, processes: 3 });
  });

  test('frees a lease that has expired', async () => {
    const stream = newStream();
    const lease = await claim(stream, { length: () => 100 });
    expect(await claim(stream)).toBeUndefined();
    await expire(lease!.id);
    expect((await claim(stream, { length: () => 100, owner: 'other' }))?.span).toEqual({ from: 0, to: 100 });
  });
});

test('what was held before the clock of the server was set back by an hour is free: a lease, a walk, a duty', async () => {
  const stream = newStream();
  const wanted = [{ from: 0, to: 100 }];
  const cursor = { dataset: stream.dataset, scope: '' };
  const taken = async (owner: string) => ({
    lease: (await claim(stream, { length: () => 100, owner }))?.owner,
    cursor: (await claimCursor(store.database, { ...cursor, owner })) !== undefined,
    duty: await takeDuty(store.database, 'watermark', owner, 20),
  });
  expect(await taken('first')).toEqual({ lease: 'first', cursor: true, duty: true });
  expect(await taken('second')).toEqual({ lease: undefined, cursor: false, duty: false });
  const later = (moment: SQL) => sql`${moment} + interval '1 hour'`;
  await store.database.run(sql`update etl.leases set expires_at = ${later(sql`expires_at`)}`);
  await store.database.run(sql`update etl.cursors set expires_at = ${later(sql`expires_at`)}`);
  await store.database.run(sql`
    update etl.settings set value = value || jsonb_build_object('until', ${later(sql`(value->>'until')::timestamptz`)})
    where value ? 'until'`);
  expect(await findFree(store.database, [{ stream, wanted }])).toEqual([0]);
  expect(await taken('second')).toEqual({ lease: 'second', cursor: true, duty: true });
  expect(await taken('first')).toEqual({ lease: undefined, cursor: false, duty: false });
});

test('free ranges of many streams are found at once: neither covered, leased nor refused', async () => {
  const streams = Array.from({ length: 6 }, newStream);
  const [, covered, leased, refused, expired, partly] = streams;
  await addCoverage(store.database, covered!, { from: 0, to: 100 });
  await claim(leased!, { length: () => 100 });
  await refuse(store.database, refused!, { from: 0, to: 100 }, { reason: 'failing', detail: 'test' });
  await expire((await claim(expired!, { length: () => 100 }))!.id);
  await addCoverage(store.database, partly!, { from: 0, to: 99 });
  const wishes = streams.map((stream) => ({ stream, wanted: [{ from: 0, to: 100 }] }));
  expect(await findFree(store.database, wishes)).toEqual([0, 4, 5]);
  expect(await findFree(store.database, [])).toEqual([]);
});

describe('holding', () => {
  test('a lease that expired, was taken away or does not contain the part is lost', async () => {
    const stream = newStream();
    const lease = (await claim(stream, { length: () => 100 }))!;
    const hold = (from: number, to: number) =>
      store.database.transaction((session) => holdLease(session, lease, { from, to }));
    await expect(hold(0, 10)).resolves.toBeUndefined();
    await expect(hold(0, 101)).rejects.toThrow(LeaseLostError);
    await expire(lease.id);
    await expect(hold(0, 10)).rejects.toThrow(LeaseLostError);
  });

  test('shortening releases what is done, cutting releases the end, releasing frees all of it', async () => {
    const stream = newStream();
    const lease = (await claim(stream, { length: () => 100 }))!;
    await store.database.transaction((session) => shortenLease(session, lease, 10));
    const cut = await cutLease(store.database, lease, 40);
    expect(cut.span).toEqual({ from: 0, to: 40 });
    expect((await claim(stream, { length: () => 100 }))?.span).toEqual({ from: 40, to: 100 });
    expect((await claim(stream, { length: () => 100 }))?.span).toEqual({ from: 0, to: 10 });
    await releaseLease(store.database, lease);
    expect((await claim(stream, { length: () => 100 }))?.span).toEqual({ from: 10, to: 40 });
  });
});

describe('coverage', () => {
  test('grows by union and reports what is missing', async () => {
    const stream = newStream();
    await addCoverage(store.database, stream, { from: 10, to: 20 });
    await addCoverage(store.database, stream, { from: 20, to: 30 });
    await addCoverage(store.database, stream, { from: 50, to: 60 });
    expect(await readCoverage(store.database, stream)).toEqual([
      { from: 10, to: 30 },
      { from: 50, to: 60 },
    ]);
    expect(await readMissing(store.database, stream, [{ from: 0, to: 55 }])).toEqual([
      { from: 0, to: 10 },
      { from: 30, to: 50 },
    ]);
  });

  test('loses nothing when many add to it at once', async () => {
    const stream = newStream();
    await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        addCoverage(store.database, stream, { from: n * 10, to: n * 10 + 9 }),
      ),
    );
    expect(await readCoverage(store.database, stream)).toHaveLength(100);
  });

  test('is subtracted together with the leases that overlap, so that no page requested before covers the hole', async () => {
    const stream = newStream();
    await addCoverage(store.database, stream, { from: 0, to: 50 });
    const lease = (await claim(stream, { length: () => 50 }))!;
    await store.database.transaction((session) => subtractCoverage(session, stream, [{ from: 45, to: 60 }]));
    expect(await readCoverage(store.database, stream)).toEqual([{ from: 0, to: 45 }]);
    const late = store.database.transaction((session) => holdLease(session, lease, { from: 50, to: 60 }));
    await expect(late).rejects.toThrow(LeaseLostError);
  });

  test('refuses again with a pause that doubles', async () => {
    const stream = newStream();
    const pauses = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await refuse(store.database, stream, { from: 1, to: 2 }, { reason: 'saturated', detail: 'test' });
      const [row] = await store.database.rows(
        sql`select round(extract(epoch from retry_at - clock_timestamp()))::int as pause from etl.refused where dataset = ${stream.dataset}`,
        z.object({ pause: z.number() }),
      );
      pauses.push(row?.pause);
    }
    expect(pauses).toEqual([60, 120, 240]);
  });
});

test('leases of ended processes of this host are freed at once, those of other hosts are kept', async () => {
  const stream = newStream();
  const ended = spawnSync(process.execPath, ['-e', '']).pid;
  const owners = [`${hostname()}/${ended}/abc`, `${hostname()}/${process.pid}/abc`, `elsewhere/${ended}/abc`];
  for (const owner of owners) await claim(stream, { owner, length: () => 10 });
  await releaseHeldBy(store.database, hasEnded);
  const left = await store.database.rows(
    sql`select owner from etl.leases where dataset = ${stream.dataset} order by id`,
    z.object({ owner: z.string() }),
  );
  expect(left.map(({ owner }) => owner)).toEqual(owners.slice(1));
});
