import { index, type PgColumnBuilderBase, type PgTable } from 'drizzle-orm/pg-core';
import { amount, date, decimal, etlTable, int8, integer, moment, text } from '../describe.ts';

/**
 * The rows of a report for the days of etl.closed_days, in the report's own columns, so that reading them needs no
 * parsing. `by` names the columns for lookups of one thing over many days.
 */
function kept(
  report: string,
  columns: Readonly<Record<string, (meaning: string) => PgColumnBuilderBase>>,
  ...by: readonly string[]
): PgTable {
  const named = Object.entries(columns).map(([name, kind]): [string, PgColumnBuilderBase] => [
    name,
    kind(`What ${report} said in its column ${name} when the day was closed.`),
  ]);
  return etlTable(`kept_${report}`, {
    comment: `The rows of ${report} for the days that etl.closed_days names of it.`,
    columns: {
      day: date(`The day of ${report} that is kept, UTC.`).notNull(),
      position: integer(`Counts the kept rows of ${report} on the day, from 1.`).notNull(),
      ...Object.fromEntries(named),
    },
    key: ['day', 'position'],
    indexes: (t) =>
      Object.entries(t).flatMap(([name, column]) =>
        by.includes(name) ? [index(`kept_${report}_${name}`).on(column, t.day)] : [],
      ),
  });
}

export const keptDailyActivity = kept('daily_activity', {
  transactions: int8,
  aborted: int8,
  accounts: int8,
  messages: int8,
  value: amount,
  fees: amount,
  traces: int8,
  blocks: int8,
  bounced: int8,
});

export const keptHourlyActivity = kept('hourly_activity', {
  hour: moment,
  transactions: int8,
  aborted: int8,
  accounts: int8,
  fees: amount,
});

export const keptActiveWallets = kept('active_wallets', { wallets: int8, messages: int8 });

export const keptFeesByPart = kept('fees_by_part', {
  storage: amount,
  gas: amount,
  action: amount,
  bounce: amount,
  import: amount,
  total: amount,
  forward: amount,
});

export const keptFailedTransactions = kept('failed_transactions', {
  phase: text,
  reason: text,
  code: integer,
  transactions: int8,
  accounts: int8,
  fees: amount,
  bounced: int8,
});

export const keptGasByContract = kept('gas_by_contract', {
  account: text,
  code_hash: text,
  runs: int8,
  failed: int8,
  gas_used: amount,
  gas_fees: amount,
});

export const keptMessageDelays = kept('message_delays', {
  from_workchain: integer,
  from_shard: text,
  to_workchain: integer,
  to_shard: text,
  messages: int8,
  mean_seconds: decimal(6),
  median_seconds: decimal(6),
  longest_seconds: decimal(6),
});

export const keptJettonFlows = kept('jetton_flows', {
  jetton_master: text,
  transfers: int8,
  senders: int8,
  receivers: int8,
  amount: amount,
  minted: amount,
  burned: amount,
});

export const keptDailyChanges = kept(
  'daily_changes',
  {
    account: text,
    jetton_wallet: text,
    asset: text,
    changes: int8,
    change_raw: amount,
    balance_raw: amount,
  },
  'account',
  'asset',
);

export const keptDexVolume = kept('dex_volume', {
  dex: text,
  pool: text,
  jetton_master: text,
  swaps: int8,
  accounts: int8,
  bought: amount,
  sold: amount,
  volume: amount,
  jettons: amount,
});

/** What was paid for an asset in a period. Prices are computed from it. */
const traded = () => ({
  asset: text,
  trades: int8,
  traders: int8,
  ton: amount,
  ton_amount: amount,
  usd: decimal(6),
  usd_amount: amount,
  ton_usd: decimal(24),
});

export const keptHourlyTrades = kept('hourly_trades', { hour: moment, ...traded() }, 'asset');

export const keptDailyTrades = kept('daily_trades', traded(), 'asset');

export const keptDailyLegs = kept(
  'daily_legs',
  {
    utime: moment,
    dex: text,
    pool: text,
    router: text,
    trader: text,
    sold: text,
    sold_raw: amount,
    bought: text,
    bought_raw: amount,
    volume_ton: decimal(9),
    volume_usd: decimal(6),
    leg: integer,
    legs: integer,
    referral: text,
    query_id: amount,
    trace_id: text,
    action_id: text,
    start_utime: moment,
    transaction_hash: text,
    start_lt: int8,
  },
  'utime',
);

export const keptDailyPools = kept(
  'daily_pools',
  {
    dex: text,
    version: text,
    pool: text,
    asset_1: text,
    asset_2: text,
    pairs: int8,
    trades: int8,
    traders: int8,
    volume_ton: decimal(9),
    volume_usd: decimal(6),
    gained_1_raw: amount,
    gained_2_raw: amount,
    later_1_raw: amount,
    later_2_raw: amount,
    withdrawn_1_raw: amount,
    withdrawn_2_raw: amount,
    burned_raw: amount,
    held_1_raw: amount,
    held_2_raw: amount,
    lp_supply_raw: amount,
  },
  'pool',
);
