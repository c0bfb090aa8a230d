import type pg from 'pg';
import type { Candidate } from './candidates.ts';
import { MONTH } from './generate.ts';

/** A question about the last month, and the indexes that might answer it faster. */
export interface Question {
  readonly name: string;
  readonly sql: string;
  readonly helps: (candidate: Candidate) => boolean;
}

/** Accounts by their rank among those with transactions in the month, sorted by how many. */
const ACCOUNTS = { 'a quiet account': 0.5, 'a busy account': 0.999, 'the busiest account': 1 } as const;

const during = (table: string) => `${table}.utime >= '${MONTH.from}' and ${table}.utime < '${MONTH.to}'`;
const none = () => false;
const on =
  (table: Candidate['table'], column: string) =>
  (candidate: Candidate): boolean =>
    candidate.table === table && candidate.using?.includes(`(${column}`) === true;

export async function questionsOf(client: pg.Client): Promise<Question[]> {
  const questions: Question[] = [];
  for (const [name, rank] of Object.entries(ACCOUNTS)) {
    const account = await literal(
      client,
      `select account from (
         select account, percent_rank() over (order by count(*), account) as place
         from ton.transactions where ${during('transactions')} group by account) as counted
       where place >= ${rank} order by place limit 1`,
    );
    questions.push(...aboutAccount(name, account));
  }
  const row = `from ton.transactions where ${during('transactions')} offset 1000 limit 1`;
  const trace = await literal(client, `select trace_id ${row}`);
  const hour = await literal(client, `select utime::text ${row}`);
  return [...questions, ...aboutOthers({ trace, hour })];
}

/** What an account received and sent: by its transactions, as the documents say, and by messages alone. */
function aboutAccount(name: string, account: string): Question[] {
  const columns = 'm.utime, m.source, m.destination, m.value, m.opcode';
  const byTransactions = (join: string) =>
    `select ${columns} from ton.transactions t join ton.messages m on ${join} where t.account = ${account} and ${during('t')}`;
  const byMessages = (column: string) =>
    `select ${columns} from ton.messages m where m.${column} = ${account} and ${during('m')}`;
  return [
    {
      name: `messages to ${name}, by its transactions`,
      sql: byTransactions('m.utime = t.in_msg_utime and m.hash = t.in_msg_hash'),
      helps: none,
    },
    {
      name: `messages from ${name}, by its transactions`,
      sql: byTransactions('m.utime = t.utime and m.out_msg_tx_hash = t.hash'),
      helps: none,
    },
    {
      name: `messages to ${name}`,
      sql: byMessages('destination'),
      helps: on('messages', 'destination'),
    },
    { name: `messages from ${name}`, sql: byMessages('source'), helps: on('messages', 'source') },
  ];
}

/** About a trace, and about actions of one type. */
function aboutOthers({ trace, hour }: { trace: string; hour: string }): Question[] {
  return [
    {
      name: 'transactions of a trace',
      sql: `select utime, lt, account from ton.transactions t where t.trace_id = ${trace} and ${during('t')}`,
      helps: on('transactions', 'trace_id'),
    },
    {
      name: 'transactions of a trace, whose hour is known',
      sql: `select utime, lt, account from ton.transactions t where t.trace_id = ${trace}
        and t.utime between timestamptz ${hour} - interval '30 minutes' and timestamptz ${hour} + interval '30 minutes'`,
      helps: none,
    },
    {
      name: 'rare actions by day',
      sql: `select date_trunc('day', utime), count(*) from ton.actions a where type = 'jetton_swap' and ${during('a')}
        group by 1`,
      helps: on('actions', 'type'),
    },
  ];
}

async function literal(client: pg.Client, query: string): Promise<string> {
  const { rows } = await client.query<Record<string, string>>(query);
  return client.escapeLiteral(Object.values(rows[0] ?? {})[0] ?? '');
}
