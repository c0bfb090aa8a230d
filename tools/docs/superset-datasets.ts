import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Catalog } from './catalog.ts';

/** One dataset of Superset: a relation of schema ton, or a query with the columns that it returns. */
interface SupersetDataset {
  /** The time that charts filter by and group by. */
  readonly time?: string;
  readonly metrics?: Readonly<Record<string, string>>;
  readonly query?: { readonly sql: string; readonly columns: Readonly<Record<string, string>> };
}

const TIME = 'timestamp with time zone';

const DATASETS: Readonly<Record<string, SupersetDataset>> = {
  transactions: {
    time: 'utime',
    metrics: {
      transactions: 'count(*)',
      accounts: 'count(distinct account)',
      fees_ton: 'sum(total_fees) / 1e9',
      failed: 'count(*) filter (where aborted)',
      failed_share: 'avg(aborted::int)',
    },
  },
  active_wallets: { time: 'day', metrics: { wallets: 'sum(wallets)' } },
  fees_by_part: {
    time: 'day',
    metrics: Object.fromEntries(
      ['storage', 'gas', 'action', 'import', 'forward'].map((part) => [`${part}_ton`, `sum(${part}) / 1e9`]),
    ),
  },
  failed_transactions: {
    time: 'day',
    metrics: { transactions: 'sum(transactions)', fees_ton: 'sum(fees) / 1e9' },
  },
  message_delays: {
    time: 'day',
    metrics: {
      messages: 'sum(messages)',
      mean_seconds: 'sum(mean_seconds * messages) / sum(messages)',
      longest_seconds: 'max(longest_seconds)',
    },
  },
  dex_trades: {
    time: 'utime',
    metrics: {
      trades: 'count(*)',
      traders: 'count(distinct trader)',
      volume_ton: 'sum(volume_ton)',
      volume_usd: 'sum(volume_usd)',
    },
  },
  dex_pools: {
    time: 'day',
    metrics: {
      trades: 'sum(trades)',
      volume_ton: 'sum(volume_ton)',
      volume_usd: 'sum(volume_usd)',
      last_tvl_ton: '(array_agg(tvl_ton order by day desc) filter (where tvl_ton is not null))[1]',
    },
  },
  hourly_prices: {
    time: 'hour',
    metrics: {
      price_ton: 'sum(price_ton * trades) / sum(trades) filter (where price_ton is not null)',
      price_usd: 'sum(price_usd * trades) / sum(trades) filter (where price_usd is not null)',
      volume_ton: 'sum(volume_ton)',
      trades: 'sum(trades)',
    },
  },
  daily_prices: { time: 'day', metrics: { volume_ton: 'sum(volume_ton)', trades: 'sum(trades)' } },
  jetton_events: {
    time: 'utime',
    metrics: {
      events: 'count(*)',
      senders: 'count(distinct source)',
      receivers: 'count(distinct destination)',
      amount: 'sum(amount)',
    },
  },
  account_ledger: {
    time: 'utime',
    metrics: {
      movements: 'count(*)',
      came_ton: 'sum(amount) filter (where jetton_master is null and amount > 0) / 1e9',
      went_ton: 'sum(amount) filter (where jetton_master is null and amount < 0) / 1e9',
    },
  },
  account_statement: {
    time: 'utime',
    query: {
      // Amounts as text: tables of Superset fail at integers from 1e21 on.
      sql: `select l.account, l.utime, l.lt, l.step, l.kind, case when l.jetton_master is null then 'TON' else m.symbol end as symbol,
  case when l.jetton_master is null then ton.nano_to_ton(l.amount) else ton.jetton_units(l.jetton_master, l.amount) end::text as amount,
  case when l.jetton_master is null then ton.nano_to_ton(l.balance) else ton.jetton_units(l.jetton_master, l.balance) end::text as balance,
  l.counterparty, l.jetton_master, l.tx_hash
from ton.account_ledger l
left join ton.jetton_masters m on m.address = l.jetton_master`,
      columns: {
        account: 'text',
        utime: TIME,
        lt: 'bigint',
        step: 'integer',
        kind: 'text',
        symbol: 'text',
        amount: 'text',
        balance: 'text',
        counterparty: 'text',
        jetton_master: 'text',
        tx_hash: 'text',
      },
    },
  },
  balances: {
    time: 'utime',
    metrics: {
      last_balance: '(array_agg(balance order by utime desc, lt desc, step desc))[1]',
      last_change: 'max(utime)',
    },
  },
  account_activity: { time: 'last_seen' },
  account_actions: {
    time: 'utime',
    metrics: { actions: 'count(*)' },
    query: {
      sql: `select x.account, a.utime, a.type, a.success, a.source, a.destination, a.asset, a.amount, a.trace_id
from ton.action_accounts x
join ton.actions a on (a.utime, a.trace_id, a.action_id) = (x.utime, x.trace_id, x.action_id)`,
      columns: {
        account: 'text',
        utime: TIME,
        type: 'text',
        success: 'boolean',
        source: 'text',
        destination: 'text',
        asset: 'text',
        amount: 'numeric',
        trace_id: 'text',
      },
    },
  },
  busy_accounts: {
    metrics: { transactions: 'max(transactions)' },
    query: {
      sql: `select account, count(*) as transactions
from ton.transactions
where utime > (select max(utime) from ton.transactions) - interval '1 day'
group by account order by 2 desc limit 1000`,
      columns: { account: 'text', transactions: 'bigint' },
    },
  },
  coverage: {
    query: {
      sql: `select dataset, grade, covered::text as covered, holes::text as holes, why from etl.coverage_report where scope = ''`,
      columns: { dataset: 'text', grade: 'text', covered: 'text', holes: 'text', why: 'text' },
    },
  },
};

/** The bundle's database, which its datasets name. */
const DATABASE_UUID = '0c3e6b52-0b0a-5d5e-9f0e-2d0f6c6f7a01';

/** Datasets of deploy/superset, by the name of their file: Superset identifies a dataset by its uuid. */
export function writeSupersetDatasets({ entities }: Catalog): Readonly<Record<string, string>> {
  const files = Object.entries(DATASETS).map(([name, { time, metrics = {}, query }]) => {
    const entity = entities.find((each) => each.schema === 'ton' && each.name === name);
    const columns =
      query === undefined
        ? (entity?.columns ?? [])
        : Object.entries(query.columns).map(([column, type]) => ({ name: column, type, comment: '' }));
    if (columns.length === 0) throw new Error(`no relation of schema ton: ${name}`);
    const dataset = {
      table_name: name,
      main_dttm_col: time ?? null,
      description: entity?.comment ?? null,
      schema: 'ton',
      sql: query?.sql ?? null,
      uuid: uuidOf(name),
      metrics: Object.entries(metrics).map(([metric_name, expression]) => ({ metric_name, expression })),
      columns: columns.map(({ name: column_name, type, comment }) => ({
        column_name,
        is_dttm: type === TIME || type === 'date',
        type: type.toUpperCase(),
        ...(comment !== '' && { description: comment }),
      })),
      version: '1.0.0',
      database_uuid: DATABASE_UUID,
    };
    return [`${name}.yaml`, stringify(dataset, { lineWidth: 0 })];
  });
  return Object.fromEntries(files) as Record<string, string>;
}

/** The constant uuid of a name. */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(`toncenter-etl ${name}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
