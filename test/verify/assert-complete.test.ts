import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { actions } from '../../src/tables/ton/actions.ts';
import { jetton_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { transactions } from '../../src/tables/ton/transactions.ts';
import { createPartitions } from '../../src/write/target.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
  await store.database.script(`
    insert into etl.coverage (dataset, covered, verified) values
      ('transactions', '{[1000,2000),[3000,4000)}', '{[1000,1500)}'), ('nft_transfers', '{[1000,2000)}', '{[1000,2000)}');
    insert into etl.grades (dataset, grade, proves, blind_to) values
      ('transactions', 'proved', 'x', 'y'), ('nft_transfers', 'cross-checked', 'x', 'y');
    insert into etl.refused (dataset, span, reason, detail, retry_at) values
      ('transactions', '[2000,2100)', 'source_gap', '3 missing_transactions', now());
    insert into etl.wanted (dataset, since, chosen) values ('transactions', 500, 'x');
    insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request) values
      ('transactions', 'a', to_timestamp(3500), '[3500,3501)', 'lt', 'is no number', '{}', '/x');`);
});
afterAll(() => store.close());

async function assertComplete(dataset: string, from: number, to: number, grade?: string): Promise<unknown> {
  const last = grade === undefined ? sql`` : sql`, ${grade}`;
  try {
    const [row] = await store.database.rows(
      sql`select etl.assert_complete(${dataset}, to_timestamp(${from}), to_timestamp(${to})${last}) as complete`,
      z.object({ complete: z.boolean() }),
    );
    return row?.complete;
  } catch (error) {
    const { message, detail, hint } = (
      error as { cause: { message: string; detail?: string; hint?: string } }
    ).cause;
    return [message, detail, hint];
  }
}

describe('etl.assert_complete', () => {
  test('is true if all is covered, and if all is verified', async () => {
    expect(await assertComplete('transactions', 1000, 2000)).toBe(true);
    expect(await assertComplete('transactions', 1000, 1500, 'proved')).toBe(true);
    expect(await assertComplete('nft_transfers', 1000, 1500, 'cross-checked')).toBe(true);
    // The transactions that it depends on are covered, and not proved.
    expect(await assertComplete('nft_transfers', 1000, 2000, 'cross-checked')).toMatchObject([
      expect.stringContaining('00:25:00+00","1970-01-01 00:33:20+00'),
      'It is covered, but not verified yet.',
      expect.stringContaining('verify --from'),
    ]);
  });

  test('names the missing ranges, why they are missing, and the command', async () => {
    expect(await assertComplete('transactions', 1500, 3200)).toEqual([
      'transactions is not covered in {["1970-01-01 00:33:20+00","1970-01-01 00:50:00+00")}',
      'source_gap: 3 missing_transactions',
      'Run: npx toncenter-etl backfill --from 1970-01-01T00:33:20Z --to 1970-01-01T00:50:00Z --only transactions',
    ]);
    expect(await assertComplete('blocks', 1500, 3200)).toEqual([
      'blocks is not covered in {["1970-01-01 00:25:00+00","1970-01-01 00:53:20+00")}',
      'It has not been read yet.',
      'Run: npx toncenter-etl backfill --from 1970-01-01T00:25:00Z --to 1970-01-01T00:53:20Z --only blocks',
    ]);
  });

  test('distinguishes covered from verified', async () => {
    expect(await assertComplete('transactions', 1200, 1800, 'proved')).toEqual([
      'transactions is not proved in {["1970-01-01 00:25:00+00","1970-01-01 00:30:00+00")}',
      'It is covered, but not verified yet.',
      'Run: npx toncenter-etl verify --from 1970-01-01T00:25:00Z --to 1970-01-01T00:30:00Z --only transactions --repair',
    ]);
  });

  test('reports seconds below the wanted range as expired', async () => {
    expect(await assertComplete('transactions', 100, 1200)).toEqual([
      expect.stringContaining('not covered'),
      'expired, or never wanted: kept from 1970-01-01T00:08:20Z on',
      expect.stringContaining('backfill'),
    ]);
  });

  test('raises if records are in quarantine, whatever the grade', async () => {
    expect(await assertComplete('transactions', 3000, 4000)).toEqual([
      'transactions lacks 1 record from 1970-01-01 00:50:00+00 to 1970-01-01 01:06:40+00: in quarantine',
      undefined,
      'Run: npx toncenter-etl quarantine list',
    ]);
  });

  test('counts every second that a range touches', async () => {
    expect(await assertComplete('transactions', 3100.2, 3500.4)).toEqual([
      expect.stringContaining('in quarantine'),
      undefined,
      'Run: npx toncenter-etl quarantine list',
    ]);
  });

  test('raises if an account for which a dataset is read has not been read yet', async () => {
    const [read, unread] = ['A', 'B'].map((digit) => `-1:${digit.repeat(64)}`);
    await store.database.script(`
      insert into etl.coverage (dataset, scope, covered, verified)
        values ('nominator_pool_events', '${read}', '{[1000,2000)}', '{[1000,2000)}');
      insert into etl.grades (dataset, grade, proves, blind_to) values ('nominator_pool_events', 'cross-checked', 'x', 'y');
      insert into etl.watch (address) values ('${read}'), ('a pool without its form')`);
    const complete = () => assertComplete('nominator_pool_events', 1000, 2000, 'cross-checked');
    expect(await complete()).toBe(true);
    await store.database.script(`insert into etl.watch (address) values ('${unread}')`);
    expect(await complete()).toEqual([
      expect.stringContaining('nominator_pool_events is not cross-checked'),
      expect.anything(),
      expect.stringContaining('--only nominator_pool_events'),
    ]);
    await store.database.script(
      `delete from etl.watch; delete from etl.coverage where dataset = 'nominator_pool_events'`,
    );
  });

  test('distinguishes a typo from a list', async () => {
    expect(await assertComplete('transaction', 1000, 2000)).toEqual([
      'there is no dataset "transaction"',
      undefined,
      'Did you mean "transactions"? select dataset, title from etl.datasets lists them.',
    ]);
    expect(await assertComplete('jeton_transfer', 1000, 2000)).toEqual([
      'there is no dataset "jeton_transfer"',
      undefined,
      expect.stringContaining('Did you mean "jetton_transfers"?'),
    ]);
    expect(await assertComplete('messages', 1000, 2000)).toEqual([
      'there is no dataset "messages"',
      undefined,
      "What fills messages is transactions: give a dataset, or ask etl.fed('messages', from, to).",
    ]);
    expect(await assertComplete('jetton_masters', 1000, 2000)).toEqual([
      'jetton_masters is a list, not a stream of time: it has no range that could be complete',
      undefined,
      "select * from etl.fed('jetton_masters') says whether it has been read.",
    ]);
  });

  test('refuses a grade that the dataset cannot have, and unknown grades', async () => {
    expect(await assertComplete('nft_transfers', 1000, 2000, 'proved')).toEqual([
      'nft_transfers cannot be proved, only cross-checked',
      undefined,
      'The source gives no checksum for it: ask for grade cross-checked.',
    ]);
    expect(await assertComplete('transactions', 1000, 2000, 'sure')).toEqual([
      '"sure" is no grade',
      undefined,
      'Grades are covered, cross-checked and proved.',
    ]);
  });
});

describe('etl.fed', () => {
  const fed = (call: string) =>
    store.database.rows(
      sql`select dataset, fed, missing_from::text as "from", missing_to::text as "to", hint from ${sql.raw(`etl.fed(${call})`)}`,
      z.object({
        dataset: z.string(),
        fed: z.boolean(),
        from: z.string().nullable(),
        to: z.string().nullable(),
        hint: z.string().nullable(),
      }),
    );

  test('reports for a view what is covered, what is missing, and the command that reads it', async () => {
    expect(await fed("'message_delays', to_timestamp(1500), to_timestamp(2100)")).toEqual([
      {
        dataset: 'transactions',
        fed: false,
        from: '1970-01-01 00:33:20+00',
        to: '1970-01-01 00:35:00+00',
        hint: 'Run: npx toncenter-etl backfill --from 1970-01-01T00:33:20Z --to 1970-01-01T00:35:00Z --only transactions',
      },
    ]);
    expect(await fed("'ton.message_delays', to_timestamp(1500), to_timestamp(2000)")).toEqual([
      { dataset: 'transactions', fed: true, from: null, to: null, hint: null },
    ]);
    const [actions, ...others] = await fed("'nft_ownership', to_timestamp(1500), to_timestamp(2000)");
    expect([actions?.dataset, actions?.fed, others.map((each) => [each.dataset, each.fed])]).toEqual([
      'actions',
      false,
      [
        ['nft_items', false],
        ['nft_transfers', true],
      ],
    ]);
  });

  test('without a range reports everything that has been read', async () => {
    const all = async (relation: string) =>
      (await fed(`'${relation}'`)).map(({ dataset, fed: isFed }) => [dataset, isFed]);
    expect(await all('nft_ownership')).toEqual([
      ['actions', false],
      ['nft_items', false],
      ['nft_transfers', true],
    ]);
    expect(await all('jetton_masters')).toEqual([['jetton_masters', false]]);
    await store.database.script(
      "insert into etl.cursors (dataset, scope, cursor) values ('jetton_masters', 'list', '{}')",
    );
    expect(await all('jetton_masters')).toEqual([['jetton_masters', true]]);
  });

  test('reports how many of the subjects in rows a look-up knows', async () => {
    const [A, B, C] = ['A', 'B', 'C'].map((digit) => `0:${digit.repeat(64)}`);
    await createPartitions(store.database, 'month').ensure(
      [transactions, jetton_transfers, actions],
      ['2026-01-05T00:00:00Z', '2026-02-05T00:00:00Z'],
    );
    await store.database.script(`
      insert into ton.transactions (utime, lt, account, hash, block_workchain, block_shard, block_seqno, prev_trans_lt,
        orig_status, end_status, total_fees, description_type)
      select utime::timestamptz, lt, account, lt::text, 0, '8', 1, 0, '', '', 0, '' from (values
        ('2026-01-05Z', 1, '${A}'), ('2026-01-05Z', 2, '${B}'), ('2026-01-06Z', 3, '${A}'), ('2026-02-05Z', 4, '${C}')) t (utime, lt, account);
      insert into ton.jetton_transfers (utime, transaction_lt, transaction_hash, source_wallet) values
        ('2026-01-05Z', 1, 'a', '${A}'), ('2026-01-05Z', 2, 'b', '${B}'), ('2026-01-05Z', 3, 'c', ''), ('2026-01-05Z', 4, 'd', 'addr_none');
      insert into ton.actions (utime, trace_id, action_id, type, details, start_utime, start_lt, end_utime, end_lt, trace_end_lt) values
        ('2026-01-05Z', 't', 'a', 'multisig_execute', '{"destination": "${A}"}', '2026-01-05Z', 1, '2026-01-05Z', 1, 1);
      insert into etl.watch (address) values ('${A}');
      insert into etl.lookups (dataset, walk, subject, asked_at, found) values
        ('account_states', 'lookup', '${A}', now(), true), ('account_states', 'lookup', '${B}', null, null),
        ('multisig_wallets', 'lookup', '${A}', now(), false);
      insert into ton.address_book (address) values ('${A}'), ('${B}'), ('${C}');
      insert into etl.cursors (dataset, scope, cursor) values ('address_book', 'lookup', '{}'), ('jetton_wallets', 'list', '{}');
      insert into ton.jetton_wallets (address, last_transaction_lt) values ('${B}', 1)`);
    const known = async (call: string) => {
      const rows = await store.database.rows(
        sql`select dataset, fed, known::int, seen::int, hint from ${sql.raw(`etl.fed(${call})`)}`,
        z.object({
          ...{ dataset: z.string(), fed: z.boolean(), hint: z.string().nullable() },
          ...{ known: z.number().nullable(), seen: z.number().nullable() },
        }),
      );
      return Object.fromEntries(rows.map((row) => [row.dataset, row]));
    };
    const accounts = await known("'accounts'");
    expect(accounts['account_states']).toEqual({
      ...{ dataset: 'account_states', fed: false, known: 1, seen: 3 },
      hint: '1 of 3 seen accounts are known. Run: ETL_ACCOUNTS=seen npx toncenter-etl backfill --only account_states, or name it in ETL_DATASETS of sync, with ETL_ACCOUNTS=seen',
    });
    expect(accounts['address_book']).toMatchObject({ fed: true, known: 3, seen: 3, hint: null });
    // No other account moved at this time.
    const quiet = await known("'account_states', '2026-01-06Z', '2026-01-07Z'");
    expect(quiet['account_states']).toMatchObject({ fed: true, known: 1, seen: 1 });
    const busy = await known("'account_states', '2026-01-05Z', '2026-01-06Z'");
    expect(busy['account_states']).toMatchObject({ fed: false, known: 1, seen: 2 });
    const wallets = await known("'jetton_wallets'");
    expect(wallets['jetton_wallets']).toMatchObject({ fed: false, known: 1, seen: 2 });
    expect(wallets['jetton_wallets']?.hint).toMatch(/^1 of 2 subjects are known\. Run: npx/);
    expect((await known("'multisig_wallets'"))['multisig_wallets']).toMatchObject({
      fed: true,
      known: 1,
      seen: 1,
    });
    // It reports each dataset whose look-ups never ran, and none of their queries fails.
    const lists = await store.database.rows(
      sql`select d.dataset, d.subjects is null as plain, l.seen::int as seen from etl.datasets d left join lateral etl.looked_up(d.dataset) l on true
          where d.kind = 'list'`,
      z.object({ dataset: z.string(), plain: z.boolean(), seen: z.number().nullable() }),
    );
    expect(lists.filter(({ plain, seen }) => plain === (seen !== null))).toEqual([]);
    expect(lists.filter(({ plain }) => !plain).length).toBeGreaterThan(8);
  });

  test('refuses a relation that nothing feeds, and half a range', async () => {
    const refused = (call: string) =>
      fed(call).catch((error: unknown) => {
        const { message, hint } = (error as { cause: { message: string; hint?: string } }).cause;
        return `${message}: ${hint ?? ''}`;
      });
    expect(await refused("'swap'")).toBe(
      'there is no table, view or function "swap" that a dataset feeds: Did you mean "swaps"? select distinct relation from etl.feeds lists them.',
    );
    expect(await refused("'swaps', now()")).toBe('a range has both ends: give from and to, or neither: ');
    expect(await refused("'swaps', now(), now()")).toMatch(/must lie before/);
  });

  test('every table, view and function of schema ton is fed, except those that people write', async () => {
    const rows = await store.database.rows(
      sql`select relname::text as name from pg_class where relnamespace = 'ton'::regnamespace and relkind in ('r', 'p', 'v')
            and relname not in ('days', 'labels', 'ton_proxies')
          except select relation from etl.feeds`,
      z.object({ name: z.string() }),
    );
    expect(rows).toEqual([]);
  });
});

describe('etl.coverage_report', () => {
  test('shows what is covered, verified, missing, and why', async () => {
    const rows = await store.database.rows(
      sql`select dataset, grade, covered::text, verified::text, holes::text, refused::text, why
          from etl.coverage_report order by dataset desc`,
      z.record(z.string(), z.string().nullable()),
    );
    expect(rows[0]).toEqual({
      dataset: 'transactions',
      grade: 'proved',
      covered:
        '{["1970-01-01 00:16:40+00","1970-01-01 00:33:20+00"),["1970-01-01 00:50:00+00","1970-01-01 01:06:40+00")}',
      verified: '{["1970-01-01 00:16:40+00","1970-01-01 00:25:00+00")}',
      holes: '{["1970-01-01 00:33:20+00","1970-01-01 00:50:00+00")}',
      refused: '{["1970-01-01 00:33:20+00","1970-01-01 00:35:00+00")}',
      why: 'source_gap: 3 missing_transactions; 1 records in quarantine',
    });
    expect(rows).toHaveLength(2);
  });
});
