import type pg from 'pg';
import { loadTables } from '../../../src/postgres/load-tables.ts';
import { describeTable } from '../../../src/read/table-rows.ts';
import { createPartitions } from '../../../src/write/target.ts';
import type { BenchStore } from '../store.ts';

/** Months of rows, so that a question about the last one has partitions to leave out. */
export const MONTHS = ['2026-01-01', '2026-02-01', '2026-03-01', '2026-04-01', '2026-05-01'] as const;
/** The month that is copied and queried. */
export const MONTH = { name: '2026_05_01', from: '2026-05-01 00:00Z', to: '2026-06-01 00:00Z' } as const;

const TABLES = ['transactions', 'messages', 'actions'];
/** So many accounts; the busiest one has some 1.5 of a hundred transactions. */
const ACCOUNTS = 300_000;
/** Transactions of one second, and of one trace. */
const PER_SECOND = 25;
const PER_TRACE = 5;

/*
 * Everything follows from a row's number: equal numbers give equal rows. As on the chain, few accounts have
 * most transactions, hashes are random, and bodies cannot be compressed.
 */
const FUNCTIONS = `
  create schema bench;
  create function bench.hash(kind text, i bigint) returns text immutable parallel safe
    return encode(sha256((kind || i)::bytea), 'base64');
  create function bench.account(i bigint) returns text immutable parallel safe
    return '0:' || upper(encode(sha256(floor(${ACCOUNTS} * power(
      (hashint8extended(i, 7) & 9007199254740991) / 9007199254740992.0::float8, 3))::text::bytea), 'hex'));
  create function bench.utime(i bigint, months float8[], a_month bigint) returns timestamptz immutable parallel safe
    return to_timestamp(months[1 + (i / a_month)::int] + floor(
      (i % a_month) / ${PER_SECOND} * (27 * 86400.0 / greatest(1, a_month / ${PER_SECOND}))));
  create function bench.type(i bigint) returns text immutable parallel safe
    return (array['ton_transfer', 'ton_transfer', 'ton_transfer', 'call_contract', 'call_contract', 'jetton_transfer',
      'jetton_transfer', 'jetton_swap', 'nft_transfer', 'stake_deposit'])[1 + (hashint8extended(i, 3) & 1023) % 10]`;

const TRANSACTIONS = `
  insert into ton.transactions (utime, lt, account, hash, block_workchain, block_shard, block_seqno, trace_id,
    prev_trans_hash, prev_trans_lt, orig_status, end_status, total_fees, in_msg_hash, in_msg_utime, out_msg_count,
    description_type, aborted, destroyed, credit_first, storage_fees_collected, storage_status_change, credit,
    compute_skipped, compute_success, compute_gas_fees, compute_gas_used, compute_gas_limit, compute_mode,
    compute_exit_code, compute_vm_steps, compute_vm_init_state_hash, compute_vm_final_state_hash, action_success,
    action_valid, action_no_funds, action_status_change, action_result_code, action_tot_actions, action_msgs_created,
    action_list_hash, before_hash, before_balance, before_account_status, before_data_hash, before_code_hash,
    after_hash, after_balance, after_account_status, after_data_hash, after_code_hash, emulated, finality)
  select time, 50000000000000 + i * 1000, bench.account(i), bench.hash('t', i), 0, '8000000000000000',
    i / ${PER_SECOND}, bench.hash('t', i - i % ${PER_TRACE}), bench.hash('p', i), i * 1000 - 999, 'active', 'active',
    3000000 + i % 1000000, bench.hash('m', i), time, 1, 'ord', false, false, true, i % 1000, 'unchanged',
    1000000 + i % 1000000007, false, true, 1000000, 2500 + i % 3000, 1000000, 0, 0, 60 + i % 300, bench.hash('v', i),
    bench.hash('w', i), true, true, false, 'unchanged', 0, 1, 1, bench.hash('l', i), bench.hash('b', i),
    1000000007 * (1 + i % 999983), 'active', bench.hash('d', i), bench.hash('c', i % 100), bench.hash('b', i + 1),
    1000000009 * (1 + i % 999983), 'active', bench.hash('d', i + 1), bench.hash('c', i % 100), false, 'finalized'
  from numbered`;

/** The message that began each transaction; the first of a trace is external. */
const MESSAGES = `
  insert into ton.messages (utime, hash, source, destination, value, fwd_fee, ihr_fee, created_lt, opcode, ihr_disabled,
    bounce, bounced, import_fee, content_hash, content_body, hash_norm, out_msg_tx_hash)
  select time, bench.hash('m', i), case when not first then bench.account(i - 1) end, bench.account(i),
    case when not first then 1000000 + i % 1000000007 end, 266669, 0, 49999999999999 + i * 1000,
    '0x' || lpad(to_hex((i % 40) * 99991), 8, '0'), true, true, false, case when first then 400000 end,
    bench.hash('c', i), 'te6cckEB' || bench.hash('x', i) || bench.hash('y', i) || bench.hash('z', i),
    case when first then bench.hash('n', i) end, case when not first then bench.hash('t', i - 1) end
  from numbered cross join lateral (select i % ${PER_TRACE} = 0 as first) as place`;

const ACTIONS = `
  insert into ton.actions (utime, trace_id, action_id, type, success, source, destination, amount, details, start_utime,
    start_lt, end_utime, end_lt, trace_end_lt, trace_mc_seqno_end, trace_external_hash, account_count, transaction_count,
    finality)
  select time, bench.hash('t', i), bench.hash('a', i), bench.type(i), true, bench.account(i), bench.account(i + 1),
    1000000 + i % 1000000007, jsonb_build_object('value', (1000000 + i % 1000000007)::text, 'comment', bench.hash('k', i)),
    time, i * 1000, time, i * 1000 + 4000, i * 1000 + 4000, i / 60, bench.hash('m', i), 2, ${PER_TRACE}, 'finalized'
  from numbered where i % ${PER_TRACE} = 0`;

/** Inserts so many transactions with their messages and actions into a store, by SQL alone. */
export async function generate({ database, client }: BenchStore, transactions: number): Promise<void> {
  const tables = (await loadTables()).filter((table) => TABLES.includes(describeTable(table).name));
  await createPartitions(database, 'month').ensure(tables, MONTHS.map(String));
  await client.query(FUNCTIONS);
  const aMonth = Math.max(PER_SECOND, Math.floor(transactions / MONTHS.length / PER_SECOND) * PER_SECOND);
  for (const insert of [TRANSACTIONS, MESSAGES, ACTIONS])
    for (const month of MONTHS.keys()) await insertMonth(client, insert, month, aMonth);
  await client.query(`vacuum (analyze) ${TABLES.map((table) => `ton.${table}`).join(', ')}`);
}

async function insertMonth(client: pg.Client, insert: string, month: number, aMonth: number): Promise<void> {
  const months = MONTHS.map((day) => Date.parse(`${day}T00:00Z`) / 1000);
  await client.query(
    `with numbered as not materialized (
       select i, bench.utime(i, '{${months.join(',')}}', ${aMonth}) as time
       from generate_series(${month * aMonth}::bigint, ${(month + 1) * aMonth - 1}::bigint) as i)
     ${insert}`,
  );
}
