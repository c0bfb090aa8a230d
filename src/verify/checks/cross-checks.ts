import { sql, type SQL } from 'drizzle-orm';
import type { Session } from '../../db/connection/database.ts';
import type { Range } from '../../range.ts';
import { countOf, during, findingsOf, secondOf, type Finding } from '../finding.ts';

/** The message with which an owner tells its jetton wallet to send (TEP-74). */
const JETTON_TRANSFER = '0x0f8a7ea5';
/** The message with which an owner tells its jetton wallet to burn (TEP-74). */
const JETTON_BURN = '0x595f07bc';
/** The message with which an owner tells its item to change hands (TEP-62). */
const NFT_TRANSFER = '0x5fcc3d14';

/** How a dataset without a checksum hangs on transactions. */
interface Hook {
  readonly table: string;
  /** Column with the hash of the transaction that each row is about. */
  readonly transaction: string;
  /** What makes such a row: messages with this opcode, to accounts that the column names elsewhere in the stretch. */
  readonly made?: { readonly opcode: string; readonly account: string };
}

const HOOKS: ReadonlyMap<string, Hook> = new Map([
  [
    'jetton_transfers',
    {
      table: 'jetton_transfers',
      transaction: 'transaction_hash',
      made: { opcode: JETTON_TRANSFER, account: 'source_wallet' },
    },
  ],
  [
    'jetton_burns',
    {
      table: 'jetton_burns',
      transaction: 'transaction_hash',
      made: { opcode: JETTON_BURN, account: 'jetton_wallet' },
    },
  ],
  [
    'nft_transfers',
    {
      table: 'nft_transfers',
      transaction: 'transaction_hash',
      made: { opcode: NFT_TRANSFER, account: 'nft_address' },
    },
  ],
  ['validator_events', { table: 'validator_events', transaction: 'tx_hash' }],
  ['nominator_pool_events', { table: 'nominator_pool_events', transaction: 'tx_hash' }],
]);

/** True where a dataset can be held against stored transactions. */
export function isCrossChecked(dataset: string): boolean {
  return HOOKS.has(dataset);
}

/**
 * Rows of a dataset without a checksum lie in stored transactions; and of accounts that the dataset knows, each
 * message that makes such a row has made one. `stretch`: transactions are proved there.
 */
export async function checkAgainstTransactions(
  session: Session,
  dataset: string,
  scope: string,
  stretch: Range,
): Promise<{ findings: Finding[]; rows: number }> {
  const hook = HOOKS.get(dataset);
  if (hook === undefined) return { findings: [], rows: 0 };
  const table = sql`ton.${sql.identifier(hook.table)}`;
  const doubts = [
    stray(table, hook, scope, stretch),
    ...(hook.made === undefined ? [] : [unmade(table, hook, stretch)]),
  ];
  const findings: Finding[] = [];
  for (const query of doubts)
    findings.push(...(await findingsOf(session, { check: 'cross-checks', dataset, scope, query })));
  const rows = await countOf(
    session,
    sql`select count(*) as count from ${table} r where ${during('r', stretch)}`,
  );
  return { findings, rows };
}

/** A row that is not of this scope alone cannot be removed with the scope's second. */
const stray = (table: SQL, { transaction }: Hook, scope: string, stretch: Range) => sql`
  select 'stray_row' as kind, ${scope === '' ? 'surplus' : 'doubt'} as outcome, r.${sql.identifier(transaction)} as id, ${secondOf('r')} as span
  from ${table} r where ${during('r', stretch)} and not exists (
    select 1 from ton.transactions t where ${during('t', stretch)} and t.utime = r.utime
      and t.hash = r.${sql.identifier(transaction)})`;

/** Accounts are taken from the stretch itself: any contract may answer to the opcode, few make rows. */
const unmade = (table: SQL, { transaction, made }: Hook, stretch: Range) => sql`
  with accounts as (
    select distinct ${sql.identifier(made?.account ?? '')} as account from ${table} r where ${during('r', stretch)}),
  asked as (
    select t.utime, t.hash from ton.transactions t
    join ton.messages m on m.hash = t.in_msg_hash and m.utime = t.in_msg_utime
      and ${during('m', { from: stretch.from - 3600, to: stretch.to })}
    where ${during('t', stretch)} and m.opcode = ${made?.opcode ?? ''} 
      and t.compute_success and t.aborted is not true
      and t.account in (select account from accounts))
  select 'missing_row' as kind, 'doubt' as outcome, a.hash as id, ${secondOf('a')} as span
  from asked a where not exists (
    select 1 from ${table} r where ${during('r', stretch)} and r.${sql.identifier(transaction)} = a.hash)`;
