import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyMigrations } from '../../../tools/upgrade/version.ts';
import { openDatabase } from '../../../src/db/connection/database.ts';
import { migrate } from '../../../src/db/migrate/migrate.ts';
import { createDatabase, type TestDatabase } from '../../support/database/postgres.ts';

/** How many migrations there were when every report kept its rows as objects in one table. */
const OLDER = 17;

let store: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  store = await createDatabase();
  client = new pg.Client({ connectionString: store.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await store.drop();
});

test('sums that an older version kept of days that have expired are there after the migration', async () => {
  await applyMigrations(client, OLDER);
  await client.query(`
    create view etl.open_jetton_flows as select null::date as day, ''::text as jetton_master, 0::bigint as transfers,
      0::bigint as senders, 0::bigint as receivers, 0::numeric as amount, 0::numeric as minted, 0::numeric as burned where false;
    create view ton.jetton_flows as select k.day, r.jetton_master, r.transfers, r.senders, r.receivers, r.amount, r.minted,
        r.burned, true as certified
      from etl.kept_rows k, lateral jsonb_populate_record(null::etl.open_jetton_flows, k.row) r
      where k.relation = 'jetton_flows';
    create view public.mine as select jetton_master, amount, certified from ton.jetton_flows;
    insert into etl.closed_days (relation, day, definition, closed_at) values
      ('jetton_flows', '2025-01-31', 'older', now()), ('fees_by_part', '2025-01-31', 'older', now());
    insert into etl.kept_rows (relation, day, place, "row") values
      ('jetton_flows', '2025-01-31', 1, '{"jetton_master": "0:AB", "transfers": 9007199254740993, "amount": 123456789012345678901234567890, "minted": 0}'),
      ('jetton_flows', '2025-01-31', 2, '{"jetton_master": "0:CD", "transfers": 2}'),
      ('fees_by_part', '2025-01-31', 1, '{"gas": 7.5, "import": 8}')`);
  const database = await openDatabase({ url: store.url, applicationName: 'test' });
  await migrate(database);
  await database.close();
  const { rows } = await client.query(`select day::text, jetton_master, transfers, amount, minted, certified
    from ton.jetton_flows order by jetton_master`);
  const day = { day: '2025-01-31', certified: true };
  expect(rows).toEqual([
    {
      ...day,
      jetton_master: '0:AB',
      transfers: '9007199254740993',
      amount: '123456789012345678901234567890',
      minted: '0',
    },
    { ...day, jetton_master: '0:CD', transfers: '2', amount: null, minted: null },
  ]);
  const fees = await client.query(`select gas, "import", total, certified from ton.fees_by_part`);
  expect(fees.rows).toEqual([{ gas: '7.5', import: '8', total: null, certified: true }]);
  const mine = await client.query(`select count(*)::int as rows from public.mine where certified`);
  expect(mine.rows).toEqual([{ rows: 2 }]);
});

test('every report keeps what it says: each column of the view, of the same type', async () => {
  const { rows } = await client.query(`
    select r.report, o.name, o.type, k.type as kept from etl.reports_by_day() r (report),
    lateral (select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = ('etl.open_' || report)::regclass and attnum > 0) o
    left join lateral (select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = ('etl.kept_' || report)::regclass and attnum > 0) k using (name)
    where k.type is distinct from o.type`);
  expect(rows).toEqual([]);
});
