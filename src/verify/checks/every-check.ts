import { sql, type SQL } from 'drizzle-orm';
import { type Checks, type CrossCheck, type Job } from '../../dataset/job.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import {
  type Check,
  type CheckInput,
  type CheckStep,
  type Result,
  NEAR,
  eachStretch,
  joinByHash,
  openStep,
  resultOf,
  countOf,
  findingsOf,
  type Finding,
} from './check.ts';
import { blocks } from './check-blocks.ts';
import { messages, transactions, stateChain, blockSeconds } from './check-transactions.ts';
import { traces, actions } from './check-traces.ts';
import type { Session } from '../../postgres/database.ts';
import { multirangeParam, during, secondOf } from '../../postgres/sql.ts';
import { quarantine as q } from '../../tables/etl/quarantine.ts';
import { partsOf, type Stretch, common, formatTime, stretchesOf, without } from '../../range.ts';
import { ownTablesOf, factsOf } from '../../tables/describe.ts';
import { SEAL } from '../../ledger/stored-findings.ts';
import { dueAt, readCoverage, readRefused } from '../../ledger/stored-coverage.ts';
import { countRows } from '../../read/table-rows.ts';
import { countToSeal, otherThanSealed, sealedWithin } from '../../write/seals.ts';
import { targetOf, type Target } from '../../write/target.ts';
import type { Table } from '../../dataset/declaration/record.ts';

/** Replaces the checks of a dataset that declares none: its seconds are never verified. */
const unchecked: Check = {
  name: 'unchecked',
  reads: () => [],
  steps: (_, input) =>
    input.stretches.map((stretch) =>
      openStep('unchecked', input, stretch, {
        kind: 'no_check',
        sentence: 'the dataset declares no check, so nothing is known of its rows',
      }),
    ),
};

/** Seconds with quarantined records are incomplete: they get no certificate, and are not read again. */
const quarantine: Check = {
  name: 'quarantine',
  reads: () => [],
  steps: eachStretch('quarantine', checkQuarantine),
};

async function checkQuarantine(
  session: Session,
  stretch: Stretch,
  { dataset: { name }, stream: { scope } }: CheckInput,
): Promise<Result> {
  const seconds = multirangeParam(partsOf(stretch));
  const here = sql`${q.dataset} = ${name} and ${q.scope} = ${scope} and ${q.span} && ${seconds}`;
  const findings = await findingsOf(session, {
    check: 'quarantine',
    dataset: name,
    scope,
    query: sql`
      select 'quarantined' as kind, 'known' as outcome, ${q.record_id} as id, part as span
      from ${q} cross join lateral unnest(int8multirange(${q.span}) * ${seconds}) as part where ${here}`,
  });
  return { findings, rows: await countOf(session, sql`select count(*) from ${q} where ${here}`) };
}

/**
 * The rows of every sealed second are those that were proved: the same number, with the same keys. If there are fewer,
 * rows have vanished. If there are more, another program wrote some. Seconds that are not sealed yet are counted, to be
 * sealed if the other checks certify them. Those checks look later, so they notice rows that vanish meanwhile.
 */
const sealCheck: Check = {
  name: SEAL,
  reads: () => [],
  steps({ database, jobs }, { dataset, stream, stretches }) {
    const tables = ownTablesOf(dataset, jobs).filter(([, table]) => factsOf(table).partitioned);
    return tables.flatMap(([, table]) =>
      stretches.map((stretch): CheckStep => {
        const run: CheckStep['run'] = async (look) => {
          const seen = await look(async (session) => ({
            findings: await findBroken(session, table, { ...stream, stretch }),
            rows: await countRows(session, table, stretch),
          }));
          await countToSeal(database, table, stretch);
          return seen;
        };
        return { check: SEAL, stretch, run };
      }),
    );
  },
};

async function findBroken(
  session: Session,
  table: Table,
  {
    dataset,
    scope,
    stretch,
  }: Pick<CheckInput['stream'], 'dataset' | 'scope'> & { readonly stretch: Stretch },
): Promise<Finding[]> {
  const target = targetOf(table);
  const facts = { check: SEAL, dataset, scope, table };
  const found: Finding[] = [];
  for (const part of await sealedWithin(session, target, stretch))
    found.push(...(await findingsOf(session, { ...facts, query: brokenSeconds(target, part) })));
  return found;
}

function brokenSeconds(target: Target, stretch: Stretch): SQL {
  return sql`
    select case when held <= proved then 'vanished' else 'unknown' end || '_rows_of_' || ${target.name}::text as kind,
      case when held <= proved then 'hole' else 'doubt' end as outcome,
      to_char(to_timestamp(second) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        || ' has ' || held || ' of ' || proved || ' rows' as id,
      int8range(second, second + 1) as span
    from (${otherThanSealed(target, stretch)}) r`;
}

const CROSS_CHECKS = 'cross-checks';

const crossChecks: Check = {
  name: CROSS_CHECKS,
  reads: ({ tables }) => Object.values(tables).slice(0, 1),
  isOptional: true,
  steps: eachStretch(CROSS_CHECKS, checkAgainstTransactions),
};

/**
 * Rows of a dataset without a checksum lie in stored transactions. And of the messages to accounts that the dataset
 * knows, each that makes such a row has made one. Transactions are proved in `stretch`.
 */
async function checkAgainstTransactions(
  session: Session,
  stretch: Stretch,
  { dataset: { name, job }, stream: { scope } }: CheckInput,
): Promise<Result> {
  await joinByHash(session);
  const hook = job.checks[CROSS_CHECKS];
  const [own] = Object.values(job.tables);
  if (hook === undefined || own === undefined)
    throw new Error(`${name} declares no ${CROSS_CHECKS} of a table`);
  const table = targetOf(own).into;
  const doubts = [
    stray(table, hook, scope, stretch),
    ...(hook.made === undefined ? [] : [unmade(table, hook, stretch)]),
  ];
  const findings: Finding[] = [];
  for (const query of doubts)
    findings.push(...(await findingsOf(session, { check: CROSS_CHECKS, dataset: name, scope, query })));
  return resultOf(session, stretch, findings, [[own, rowsOf(table, stretch)]]);
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

export const SECOND_READING = 'second-reading';

/** True if a second of the dataset has its grade only after a second reading has confirmed it. */
export function isReadTwice({ job }: Dataset): boolean {
  return SECOND_READING in job.checks;
}

/** Datasets without a checksum are read a second time, later. Seconds that were read once have no grade. */
const secondReading: Check = {
  name: SECOND_READING,
  reads: () => [],
  async steps({ database }, input) {
    const second = { ...input.stream, pass: 1 };
    const twice = common(input.covered, await readCoverage(database, second));
    const once = without(input.covered, twice);
    const confirmed = stretchesOf(twice, Infinity).map((stretch) => confirmedStep(stretch));
    if (once.length === 0) return confirmed;
    const refused = await readRefused(database, second, 'changed');
    const changed = common(
      once,
      refused.map(({ span }) => span),
    );
    const latest = refused.map(({ retryAt }) => retryAt).sort((a, b) => b - a)[0];
    const { maturitySeconds = 0 } = input.dataset.job;
    const first = await dueAt(database, input.stream, once, maturitySeconds);
    const step = (kind: string, sentence: string) => (stretch: Stretch) =>
      openStep(SECOND_READING, input, stretch, { kind, sentence });
    return [
      ...confirmed,
      ...stretchesOf(without(once, changed), Infinity).map(
        step('read_once', `the source has no checksum, so a second reading must agree${fromOn(first)}`),
      ),
      ...stretchesOf(changed, Infinity).map(
        step(
          'read_differently',
          `two readings differ; another must agree with the newer one${fromOn(latest)}`,
        ),
      ),
    ];
  },
};

/** The reading itself compared the rows; certificates check again whether it is still confirmed. */
function confirmedStep(stretch: Stretch): CheckStep {
  return { check: SECOND_READING, stretch, run: () => Promise.resolve({ findings: [], rows: 0 }) };
}

function fromOn(at: number | undefined): string {
  return at === undefined ? '' : `, from ${formatTime(at)} on: sync makes it, or backfill --again`;
}

/** The checks that a dataset can declare, by name, in the order in which they run. */
const DECLARED: Readonly<Record<keyof Checks, Check>> = {
  blocks,
  'block-seconds': blockSeconds,
  transactions,
  messages,
  'state-chain': stateChain,
  traces,
  'cross-checks': crossChecks,
  actions,
  'second-reading': secondReading,
};

/** The checks of a dataset: those of every dataset, then those that it declares. */
export function checksOf({ checks }: Job): readonly Check[] {
  const declared = Object.values(DECLARED).filter(({ name }) => Object.hasOwn(checks, name));
  return [quarantine, sealCheck, ...(declared.length > 0 ? declared : [unchecked])];
}
