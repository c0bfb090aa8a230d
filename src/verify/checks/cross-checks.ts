import { sql, type SQL } from 'drizzle-orm';
import type { CrossCheck } from '../../dataset/checks.ts';
import type { Session } from '../../postgres/database.ts';
import { during, secondOf } from '../../postgres/sql.ts';
import type { Stretch } from '../../range.ts';
import { countReadRows } from '../../write/seals.ts';
import { targetOf } from '../../write/target.ts';
import { joinByHash, type Check, type CheckInput, type Result, NEAR } from './check.ts';
import { findingsOf, type Finding } from './finding.ts';

const NAME = 'cross-checks';

export const crossChecks: Check = {
  name: NAME,
  needs: ['transactions'],
  reads: ({ tables }) => Object.values(tables).slice(0, 1),
  isOptional: true,
  steps: (_, input) =>
    input.stretches.map((stretch) => ({
      check: NAME,
      stretch,
      run: (look) => look((session) => checkAgainstTransactions(session, input, stretch)),
    })),
};

/**
 * Rows of a dataset without a checksum lie in stored transactions. And of the messages to accounts that the dataset
 * knows, each that makes such a row has made one. Transactions are proved in `stretch`.
 */
async function checkAgainstTransactions(
  session: Session,
  { dataset: { name, job }, stream: { scope } }: CheckInput,
  stretch: Stretch,
): Promise<Result> {
  await joinByHash(session);
  const hook = job.checks[NAME];
  const [own] = Object.values(job.tables);
  if (hook === undefined || own === undefined) throw new Error(`${name} declares no ${NAME} of a table`);
  const table = targetOf(own).into;
  const doubts = [
    stray(table, hook, scope, stretch),
    ...(hook.made === undefined ? [] : [unmade(table, hook, stretch)]),
  ];
  const findings: Finding[] = [];
  for (const query of doubts)
    findings.push(...(await findingsOf(session, { check: NAME, dataset: name, scope, query })));
  const counted = await countReadRows(session, own, { read: rowsOf(table, stretch), stretch });
  return { findings, rows: counted.rows, readRows: [counted] };
}

const rowsOf = (table: SQL, stretch: Stretch) => sql`${table} r where ${during('r', stretch)}`;

/** A row that does not belong to this scope alone cannot be removed with the scope's second. */
const stray = (table: SQL, { transaction }: CrossCheck, scope: string, stretch: Stretch) => sql`
  select 'stray_row' as kind, ${scope === '' ? 'surplus' : 'doubt'} as outcome, r.${sql.identifier(transaction)} as id, ${secondOf('r')} as span
  from ${rowsOf(table, stretch)} and not exists (
    select 1 from ton.transactions t where ${during('t', stretch)} and t.utime = r.utime
      and t.hash = r.${sql.identifier(transaction)})`;

/** Accounts are taken from the stretch itself: any contract may answer the opcode, but few make rows. */
const unmade = (table: SQL, { transaction, made }: CrossCheck, stretch: Stretch) => sql`
  with accounts as (
    select distinct ${sql.identifier(made?.account ?? '')} as account from ${rowsOf(table, stretch)}),
  received as materialized (
    select t.utime, t.hash, t.in_msg_hash, t.in_msg_utime from ton.transactions t
    where ${during('t', stretch)} and t.compute_success and t.aborted is not true
      and t.account in (select account from accounts)),
  asked as (
    select r.utime, r.hash from received r
      join ton.messages m on m.hash = r.in_msg_hash and m.utime = r.in_msg_utime
        and ${during('m', { from: stretch.from - NEAR, to: stretch.to })}
    where m.opcode = ${made?.opcode ?? ''}
    union all
    select r.utime, r.hash from received r cross join lateral (
      select m.opcode from ton.messages m where m.hash = r.in_msg_hash and m.utime = r.in_msg_utime limit 1) m
    where r.in_msg_utime < to_timestamp(${stretch.from - NEAR}::float8) and m.opcode = ${made?.opcode ?? ''})
  select 'missing_row' as kind, 'doubt' as outcome, a.hash as id, ${secondOf('a')} as span
  from asked a where not exists (
    select 1 from ${table} r where ${during('r', stretch)} and r.${sql.identifier(transaction)} = a.hash)`;
