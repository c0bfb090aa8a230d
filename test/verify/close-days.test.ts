import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { keepWanted } from '../../src/ledger/stored-coverage.ts';
import { closeDays } from '../../src/verify/prove.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';
import { twoDays } from '../support/two-days.ts';

const DAY = Date.UTC(2026, 0, 31) / 1000;
/** The first day, and the second; only the first is final. */
const [FIRST, SECOND] = [
  `int8range(${DAY}, ${DAY + 86_400})`,
  `int8range(${DAY + 86_400}, ${DAY + 2 * 86_400})`,
];
const ALL = { from: 0, to: 2_000_000_000 };
const REPORTS = [
  'daily_activity',
  'hourly_activity',
  'active_wallets',
  'fees_by_part',
  'failed_transactions',
  'gas_by_contract',
  'message_delays',
  'jetton_flows',
  'daily_changes',
  'dex_volume',
  'hourly_trades',
  'daily_trades',
  'daily_legs',
  'daily_pools',
];

let store: CrawledStore;
let database: Database;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  database = await openDatabase({ url: store.url, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await store.close();
});

async function certify(...spans: string[]): Promise<void> {
  await store.ask(`delete from etl.quarantine`);
  for (const span of spans)
    await store.ask(
      `update etl.coverage set covered = covered + int8multirange(${span}), verified = verified + int8multirange(${span})`,
    );
}

/** Every row of a report, from rows or from the stored sum. */
async function rowsOf(report: string): Promise<string[]> {
  const rows = await store.ask(`select (to_jsonb(r) - 'certified')::text as row from ${report} r`);
  return rows.map(({ row }) => row ?? '').sort();
}

const closed = async () =>
  (
    await store.ask(
      `select relation from etl.closed_days where closed_at is not null and day = '2026-01-31' order by 1`,
    )
  ).map(({ relation }) => relation);

test('a final day is summed up once, and says so', async () => {
  const live = new Map<string, string[]>();
  for (const report of REPORTS) live.set(report, await rowsOf(report));
  await store.ask(`delete from etl.quarantine`);
  // A daemon wants lists and look-ups, too: they have no seconds that could be final.
  for (const { dataset } of await store.ask(`select dataset from etl.datasets where kind = 'list'`))
    await keepWanted(database, dataset ?? '', { since: 0, chosen: '-1d', isDefault: false });
  await store.ask(`update etl.coverage set covered = covered + int8multirange(${FIRST})`);
  expect(await closeDays(database, ALL)).toBe(0);
  await certify(FIRST);
  expect(await closeDays(database, ALL)).toBe(REPORTS.length);
  expect(await closed()).toEqual([...REPORTS].sort());
  for (const report of REPORTS) expect(await rowsOf(report), report).toEqual(live.get(report));
  expect([...live.values()].every((rows) => rows.length > 1)).toBe(true);
  expect(await store.ask('select day, certified from daily_activity order by day')).toEqual([
    { day: '2026-01-31', certified: 't' },
    { day: '2026-02-01', certified: 'f' },
  ]);
  expect(await closeDays(database, ALL)).toBe(0);
});

test('a change on the day to what feeds a report opens the day again, and no other change does', async () => {
  await store.ask(
    `update etl.coverage set covered = covered + int8multirange(${SECOND}) where dataset = 'blocks'`,
  );
  expect(await closed()).toHaveLength(REPORTS.length);
  await store.ask(
    `update etl.coverage set verified = verified - '{[${DAY + 100},${DAY + 160})}' where dataset = 'actions'`,
  );
  expect(await closed()).toEqual(
    REPORTS.filter((report) => !/^dex_volume$|_trades$|_legs$|_pools$/.test(report)).sort(),
  );
  await certify(FIRST);
  await closeDays(database, ALL);
  const [{ fees } = {}] = await store.ask(`update transactions set total_fees = total_fees + 1000
    where (utime, hash) in (select utime, hash from transactions where utime < '2026-02-01Z' order by hash limit 1) returning total_fees as fees`);
  expect(fees).toBeDefined();
  await store.ask(
    `update etl.coverage set verified = verified - '{[${DAY + 100},${DAY + 160})}' where dataset = 'transactions'`,
  );
  const before = await rowsOf('daily_activity');
  await certify(FIRST);
  expect(await closeDays(database, ALL)).toBeGreaterThan(0);
  expect(await rowsOf('daily_activity')).toEqual(before);
});

test('a stream that is read for the first time, or dropped, opens the days that it feeds', async () => {
  const withoutBurns = REPORTS.filter(
    (report) => !/^jetton_flows$|^daily_(changes|pools)$/.test(report),
  ).sort();
  await store.ask(`create table taken as select * from etl.coverage where dataset = 'jetton_burns'`);
  for (const statement of [
    `delete from etl.coverage where dataset = 'jetton_burns'`,
    `insert into etl.coverage select * from taken`,
  ]) {
    await certify(FIRST);
    await closeDays(database, ALL);
    expect(await closed()).toEqual(expect.arrayContaining(['jetton_flows']));
    await store.ask(statement);
    expect(await closed()).toEqual(withoutBurns);
  }
  await store.ask(`drop table taken`);
});

test('a jetton that is declared to count as TON opens the days of reports that tell TON from jettons', async () => {
  for (const statement of [
    `insert into etl.ton_proxies (address) values ('0:${'AB'.repeat(32)}')`,
    'delete from etl.ton_proxies',
  ]) {
    await certify(FIRST);
    await closeDays(database, ALL);
    expect(await closed()).toEqual(expect.arrayContaining(['dex_volume', 'jetton_flows', 'daily_activity']));
    await store.ask(statement);
    const left = await closed();
    expect(left).toContain('daily_activity');
    expect(left).not.toContain('dex_volume');
    expect(left).not.toContain('jetton_flows');
    expect(left).not.toContain('daily_changes');
  }
});

test('a day for which a stream is unavailable is not final, even if it was read before and after', async () => {
  await certify(FIRST);
  await store.ask(`create table taken as select * from etl.coverage where dataset = 'jetton_burns'`);
  const around = `'{[${DAY - 10},${DAY}), [${DAY + 86_400},${DAY + 86_410})}'`;
  await store.ask(
    `update etl.coverage set covered = ${around}, verified = '{}' where dataset = 'jetton_burns'`,
  );
  await closeDays(database, ALL);
  expect(await closed()).not.toContain('jetton_flows');
  await store.ask(`update etl.coverage c set covered = t.covered, verified = t.verified from taken t
    where (c.dataset, c.scope, c.pass) = (t.dataset, t.scope, t.pass)`);
  await store.ask(`drop table taken`);
});

test('a day that changes after it was found to be final stays open', async () => {
  await certify(FIRST);
  await store.ask(`delete from etl.closed_days`);
  let closing: Promise<number> | undefined;
  await database.transaction(async (session) => {
    await session.run(
      sql`update etl.coverage set verified = verified - int8multirange(int8range(${DAY}, ${DAY} + 60)) where dataset = 'blocks'`,
    );
    closing = closeDays(database, ALL);
    await untilOneWaits(database, session, 'lock table%');
  });
  await closing;
  expect(await store.ask(`select distinct certified from daily_activity`)).toEqual([{ certified: 'f' }]);
  await certify(FIRST);
});

test('a day that changes while it is summed up stays open', async () => {
  await store.ask(`delete from etl.closed_days`);
  await store.ask(
    `insert into etl.closed_days (relation, day, definition) values ('daily_activity', '2026-01-31', '')`,
  );
  await store.ask(
    `update etl.coverage set verified = verified - '{[${DAY + 100},${DAY + 160})}' where dataset = 'blocks'`,
  );
  expect(await store.ask(`select etl.keep_day('daily_activity', '2026-01-31') as kept`)).toEqual([
    { kept: 'f' },
  ]);
  expect(await closed()).toEqual([]);
});

/** The balances of all owners at the end of the first day. */
const held = async () =>
  (await store.ask(`select b::text as row from daily_balances b where day = '2026-01-31'`))
    .map(({ row }) => row ?? '')
    .sort();

test('what was minted for an owner who becomes known later counts in a closed day, too', async () => {
  await store.ask('delete from etl.closed_days');
  const before = await held();
  await store.ask(`create table taken as select * from jetton_wallets where address in (
    select jetton_wallet from jetton_mints where utime < '2026-02-01Z' and owner is not null order by 1 limit 20)`);
  await store.ask('delete from jetton_wallets where address in (select address from taken)');
  await certify(FIRST);
  await closeDays(database, ALL);
  expect(await held()).not.toEqual(before);
  await store.ask('insert into jetton_wallets select * from taken');
  expect(await closed()).toContain('daily_changes');
  expect(await held()).toEqual(before);
  await store.ask('drop table taken');
});

/** What pools traded and held on the first day. */
const pools = async () =>
  (
    await store.ask(
      `select (to_jsonb(p) - 'certified')::text as row from dex_pools p where day = '2026-01-31'`,
    )
  )
    .map(({ row }) => row ?? '')
    .sort();

test('what a pool held on a closed day is known as soon as its wallets and its master are', async () => {
  await store.ask('delete from etl.closed_days');
  const before = await pools();
  const tables = ['jetton_wallets', 'jetton_masters'];
  for (const table of tables) {
    await store.ask(`create table taken_${table} as select * from ${table}`);
    await store.ask(`delete from ${table}`);
  }
  // Who owns what was minted changes with the wallets, so the day of balances is not closed here.
  await store.ask(`insert into etl.closed_days (relation, day, definition)
    select 'daily_pools', '2026-01-31', md5(pg_get_viewdef('etl.open_daily_pools'::regclass))`);
  await store.ask(`select etl.keep_day('daily_pools', '2026-01-31')`);
  const known = (column: string) => before.filter((row) => !row.includes(`"${column}": null`));
  const kept = await store.ask(
    `select count(*), count(held_1_raw) + count(held_2_raw) + count(lp_supply_raw) as known from daily_pools where certified`,
  );
  expect(kept).toEqual([{ count: String(before.length), known: '0' }]);
  for (const table of tables) await store.ask(`insert into ${table} select * from taken_${table}`);
  expect(await closed()).toEqual(['daily_pools']);
  expect(await pools()).toEqual(before);
  for (const column of ['reserve_1_raw', 'lp_supply_raw']) expect(known(column).length).toBeGreaterThan(3);
  for (const table of tables) await store.ask(`drop table taken_${table}`);
});

test('balances are the same whichever days are kept', async () => {
  const balances = async () =>
    (await store.ask('select b::text as row from daily_balances b')).map(({ row }) => row ?? '').sort();
  await store.ask('delete from etl.closed_days');
  const before = await balances();
  for (const days of [['2026-01-31'], ['2026-02-01'], ['2026-01-31', '2026-02-01']]) {
    await store.ask('delete from etl.closed_days');
    for (const day of days) {
      await store.ask(`insert into etl.closed_days (relation, day, definition)
        select 'daily_changes', '${day}', md5(pg_get_viewdef('etl.open_daily_changes'::regclass))`);
      await store.ask(`select etl.keep_day('daily_changes', '${day}')`);
    }
    expect(await balances(), days.join()).toEqual(before);
  }
  const plan = await store.ask(
    `explain (analyze, costs off, timing off) select * from daily_balances where day = '2026-01-31'`,
  );
  const read = plan
    .flatMap((line) => Object.values(line))
    .filter((line) => /Scan.*\btransactions_/.test(line ?? ''));
  // The last moment that is stored is looked up by a function.
  expect(read.filter((line) => !line?.includes('never executed'))).toEqual([]);
});

test('sums stay when their rows expire, and so do balances and what pools held', async () => {
  await certify(FIRST);
  await closeDays(database, ALL);
  const [before, balances, reserves] = [await rowsOf('daily_activity'), await held(), await pools()];
  expect(balances.length).toBeGreaterThan(10);
  await database.run(sql`insert into etl.settings (name, value) values ('floors', jsonb_build_object('datasets',
    (select jsonb_object_agg(distinct dataset, ${DAY + 86_400}::bigint) from etl.coverage)))
    on conflict (name) do update set value = excluded.value`);
  await store.ask(
    `update etl.coverage set covered = covered - int8multirange(${FIRST}), verified = verified - int8multirange(${FIRST})`,
  );
  await store.ask(`delete from transactions where utime < '2026-02-01Z'`);
  await store.ask(`delete from etl.partitions where name like '%2026_01_01'`);
  expect(await rowsOf('daily_activity')).toEqual(before);
  expect(await held()).toEqual(balances);
  expect(await pools()).toEqual(reserves);
});
