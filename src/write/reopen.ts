import { sql } from 'drizzle-orm';
import { formatTime, type Range } from '../range.ts';
import { subtractCoverage, type Stream } from '../ledger/stored-coverage.ts';
import { keepSealFindings, DEEP, isHeldByTraces, withdrawTraces } from '../ledger/stored-findings.ts';
import { type Database, type Session, writeTransaction } from '../postgres/database.ts';
import { lockTables, targetOf } from './target.ts';
import { insertLease, type Lease } from '../ledger/leases.ts';
import { keyText } from './compare-rows.ts';
import { unseal } from './seals.ts';
import { noteWrites, removeRows, unverify } from './certificates.ts';
import { findings } from '../tables/etl/findings.ts';
import { traces } from '../tables/ton/traces.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { multirangeParam } from '../postgres/sql.ts';
import { belowFloor, holdFloors } from '../ledger/stored-settings.ts';

/** Holes of one stream that the process which found them reads again now. */
export interface Reopening {
  readonly stream: Stream;
  readonly owner: string;
  readonly holes: readonly Range[];
  /** Seconds of a table that hold rows which the source does not have: they are removed. */
  readonly surplus: readonly Doubtful[];
  /** Seconds of a table whose rows do not match the seal. The seal is broken, so that the reread rows count. */
  readonly unsealed: readonly Doubtful[];
  /** Tables whose rows with a finding are removed: rereading restores them as the source has them. */
  readonly wrong?: readonly WrongTable[];
}

interface WrongTable {
  readonly name: string;
  readonly table: object;
  /** The dataset that the table belongs to. Its pages have every row of the table, in the row's own second. */
  readonly owner: string;
}

interface Doubtful {
  readonly table: object;
  readonly span: Range;
}

/**
 * Removes holes from coverage and leases them to the process that found them, in one transaction. So no other process
 * can read them in between without knowing that their rows are wrong.
 */
export function reopen(database: Database, reopening: Reopening): Promise<Lease[]> {
  const { stream, holes, owner } = reopening;
  return writeTransaction(database, async (session) => {
    await holdFloors(session, 'shared');
    await takeOut(session, reopening);
    const leases: Lease[] = [];
    for (const hole of holes) {
      const query = sql`select unnest(${multirangeParam([hole])} - ${belowFloor(stream.dataset)}) as span`;
      const lease = await insertLease(session, { stream, owner, priority: 'repair' }, query);
      if (lease !== undefined) leases.push(lease);
    }
    return leases;
  });
}

async function takeOut(session: Session, opening: Reopening): Promise<void> {
  const { stream, holes, surplus, unsealed, wrong = [] } = opening;
  const isHeld = isHeldByTraces(stream);
  const emptied = [...surplus, ...wrong].map(({ table }) => table);
  await lockTables(session, [...new Set([...emptied, ...(isHeld ? [traces] : [])].map(targetOf))], 'shared');
  for (const pass of [1, 0]) await subtractCoverage(session, { ...stream, pass }, holes);
  if (isHeld) await withdrawTraces(session, holes);
  for (const { table, span } of surplus) await emptySeconds(session, table, span);
  for (const table of wrong) await removeWrong(session, opening, table);
  for (const { table, span } of [...unsealed, ...surplus]) {
    await keepSealFindings(session, targetOf(table).name, span);
    await unseal(session, table, span);
  }
}

async function emptySeconds(session: Session, table: object, { from, to }: Range): Promise<void> {
  const target = targetOf(table);
  const deletion = sql`delete from ${target.into} t where t.utime >= ${formatTime(from)} and t.utime < ${formatTime(to)}`;
  await noteWrites(session, [{ target, seconds: [{ from, to }] }]);
  await unverify(session, [await removeRows(session, target, deletion)]);
}

/**
 * Removes rows with a finding in these seconds, if rereading this stream restores them. Rows of its own tables are
 * restored. A row in another dataset's table is restored if this stream's pages showed the fault. But if the owner of
 * that table covers the row's second, the row stays until the owner is reread: without it, the owner's coverage would
 * be false.
 */
async function removeWrong(
  session: Session,
  { stream, holes }: Reopening,
  { name, table, owner }: WrongTable,
): Promise<void> {
  const target = targetOf(table);
  const isBroughtBack =
    owner === stream.dataset
      ? sql`true`
      : sql`${findings.found_in} = ${stream.dataset} and not exists (
          select from ${coverage} where ${coverage.dataset} = ${owner} and ${coverage.pass} = 0
            and ${coverage.covered} @> lower(${findings.row_span}))`;
  const named = sql`
    select distinct ${findings.row_key} as key, lower(${findings.row_span}) as second from ${findings}
    where ${findings.dataset} = ${stream.dataset} and ${findings.scope} = ${stream.scope}
      and ${findings.check_name} = ${DEEP} and ${findings.table_name} = ${name} and ${findings.row_key} <> ''
      and ${findings.span} && ${multirangeParam(holes)} and ${isBroughtBack}`;
  const deletion = sql`
    delete from ${target.into} t using (${named}) n
    where t.utime = to_timestamp(n.second::float8) and ${keyText(target, 't')} = n.key`;
  await unverify(session, [await removeRows(session, target, deletion)]);
}
