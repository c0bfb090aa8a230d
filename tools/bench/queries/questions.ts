/** An analyst's question, and how fast the answer must be. */
export interface Question {
  readonly name: string;
  /** SQL; `:name` stands for a value of {@link Values}. */
  readonly sql: string;
  /** Milliseconds. */
  readonly aim: number;
  /** A whole month is read: its partitions may be read from end to end. */
  readonly month?: boolean;
}

/** The values that the questions ask for, taken from the stored rows. */
export const VALUES = {
  account: `select account from ton.transactions where utime >= '2025-06-14Z' and utime < '2025-06-15Z' and account like '0:%'
    group by 1 order by count(*) desc limit 1`,
  tx: `select hash from ton.transactions where utime >= '2025-06-14Z' order by utime limit 1`,
  message: `select hash from ton.messages where utime >= '2025-06-14Z' order by utime limit 1`,
  trace: `select trace_id from ton.traces where utime >= '2025-06-14Z' and utime < '2025-06-15Z' order by transactions desc, trace_id limit 1`,
  jetton: `select jetton_master from ton.jetton_transfers where utime >= '2025-06-14Z' and utime < '2025-06-15Z'
    group by 1 order by count(*) desc limit 1`,
  owner: `select source from ton.jetton_transfers where utime >= '2025-06-14Z' and utime < '2025-06-15Z'
    group by 1 order by count(*) desc limit 1`,
  item: `select nft_address from ton.nft_transfers where utime >= '2025-06-14Z' group by 1 order by count(*) desc limit 1`,
  keeper: `select new_owner from ton.nft_transfers where utime >= '2025-06-14Z' group by 1 order by count(*) desc limit 1`,
} as const;

const POINT = 100;
const MONTH = 2000;

export const QUESTIONS: readonly Question[] = [
  {
    name: 'account history, a page',
    aim: POINT,
    sql: `select utime, lt, hash, total_fees, aborted from transactions where account = ton_address(:account)
      order by utime desc, lt desc limit 50`,
  },
  {
    name: 'transaction by hash',
    aim: POINT,
    sql: 'select * from transactions where hash = ton_hash(hash_hex(:tx))',
  },
  { name: 'message by hash', aim: POINT, sql: 'select * from messages where hash = :message' },
  { name: 'trace as a tree', aim: POINT, sql: 'select depth, tree from trace_tree(:trace)' },
  {
    name: "an hour's volume",
    aim: POINT,
    sql: `select count(*), nano_to_ton(sum(value)) from messages where utime >= '2025-06-14 10:00Z' and utime < '2025-06-14 11:00Z'`,
  },
  { name: "a day's jetton flow", aim: POINT, sql: `select * from jetton_flows where day = '2025-06-14'` },
  {
    name: 'jetton holders at a time',
    aim: POINT,
    sql: `select * from jetton_holders(:jetton, '2025-06-14Z') limit 100`,
  },
  {
    name: "a day's failures by code",
    aim: POINT,
    sql: `select * from failed_transactions where day = '2025-06-14'`,
  },
  {
    name: "an account's ledger of a month",
    aim: POINT,
    sql: `select * from account_ledger where account = ton_address(:account)
      and utime >= '2025-06-01Z' and utime < '2025-07-01Z' order by utime, lt, step limit 100`,
  },
  {
    name: "an owner's jetton transfers, a page",
    aim: POINT,
    sql: `select utime, destination, amount from jetton_transfers where source = ton_address(:owner) order by utime desc limit 50`,
  },
  { name: "a day's fees by part", aim: POINT, sql: `select * from fees_by_part where day = '2025-06-14'` },
  {
    name: "a day's swaps by exchange",
    aim: POINT,
    sql: `select dex, count(*), count(distinct account) from swaps where utime >= '2025-06-14Z' and utime < '2025-06-15Z' group by 1`,
  },
  {
    name: "a day's gas by contract",
    aim: POINT,
    sql: `select * from gas_by_contract where day = '2025-06-14' order by gas_used desc limit 10`,
  },
  {
    name: 'history of an NFT item',
    aim: POINT,
    sql: 'select * from nft_ownership where nft_address = ton_address(:item)',
  },
  {
    name: 'items that an owner got',
    aim: POINT,
    sql: 'select utime, nft_address from nft_transfers where new_owner = :keeper order by utime desc limit 50',
  },
  {
    name: 'actions of an account, a page',
    aim: POINT,
    sql: `select a.utime, a.type, a.success from (
        select * from action_accounts where account = ton_address(:account) order by utime desc limit 50) p
      join actions a using (utime, trace_id, action_id)`,
  },
  {
    name: "a day's message delays",
    aim: POINT,
    sql: `select * from message_delays where day = '2025-06-14'`,
  },
  {
    name: "a month's activity by day",
    aim: MONTH,
    month: true,
    sql: `select * from daily_activity where day >= '2025-06-01' and day < '2025-07-01' order by day`,
  },
  {
    name: "a month's fees by part",
    aim: MONTH,
    month: true,
    sql: `select * from fees_by_part where day >= '2025-06-01' and day < '2025-07-01' order by day`,
  },
  {
    name: "a month's failures by code",
    aim: MONTH,
    month: true,
    sql: `select phase, reason, code, sum(transactions) from failed_transactions
      where day >= '2025-06-01' and day < '2025-07-01' group by 1, 2, 3 order by 4 desc`,
  },
  {
    name: "a month's jetton flows",
    aim: MONTH,
    month: true,
    sql: `select jetton_master, sum(transfers), sum(amount) from jetton_flows
      where day >= '2025-06-01' and day < '2025-07-01' group by 1 order by 2 desc limit 20`,
  },
  {
    name: "a month's busiest accounts",
    aim: MONTH,
    month: true,
    sql: `select account, count(*) from transactions where utime >= '2025-06-01Z' and utime < '2025-07-01Z'
      group by 1 order by 2 desc limit 20`,
  },
];
