import { sql, type SQL } from 'drizzle-orm';
import { spansWithFindings } from '../ledger/stored-findings.ts';
import type { GradeFacts } from '../dataset/grade.ts';
import { type Range, union, without } from '../range.ts';
import * as z from 'zod';
import { coveredOf, everReadOf, type Stream } from '../ledger/stored-coverage.ts';
import { ofStream } from '../ledger/of-stream.ts';
import { floorOfDataset } from '../ledger/floors.ts';
import type { Database, Session } from '../postgres/database.ts';
import {
  bare,
  excluded,
  insertInto,
  list,
  multirangeParam,
  rangeParam,
  setExcluded,
  spansOfRow,
} from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { grades, verifications } from '../tables/etl/verification.ts';
import { findUnheld, seal, type HeldByCheck, type Unheld } from './seals.ts';
import { writtenSince } from './writes.ts';
import { lockTables, targetOf } from './target.ts';
import { writeTransaction } from '../ledger/write-transaction.ts';

/** One check that was run. */
interface Verification {
  readonly dataset: string;
  readonly scope: string;
  readonly check: string;
  readonly span: Range;
  readonly rows: number;
  readonly found: number;
  readonly holes: readonly Range[];
  readonly detail: string;
  readonly requests: number;
  readonly ms: number;
}

export async function logVerification(session: Session, entry: Verification): Promise<void> {
  const { check, found, ...rest } = entry;
  await session.run(
    insertInto(verifications, {
      ...rest,
      span: rangeParam(entry.span),
      check_name: check,
      findings: found,
      holes: multirangeParam(entry.holes),
      ms: Math.round(entry.ms),
    }),
  );
}

/** A stream whose seconds are certified. */
export interface Certified {
  readonly stream: Stream;
  readonly tables: readonly object[];
  /** True: only what a second reading has confirmed, and confirms still, has the grade. */
  readonly isReadTwice?: boolean;
  /** What the checks rested on: a second has no certificate where one of them has lost its own meanwhile. */
  readonly grounds?: readonly GroundDataset[];
}

/** What checks came to. */
interface CheckVerdict {
  /** Seconds of which every check has held every row. */
  readonly good: readonly Range[];
  /** Seconds of which one has not, whatever certificate they had. */
  readonly bad: readonly Range[];
  /** The last write before the checks began, by `readLastWrite`. */
  readonly lastWrite: number;
  /** The rows that the checks have held: where they are fewer than are to be sealed, nothing is certified. */
  readonly held: readonly HeldByCheck[];
}

/**
 * Sets what was verified and takes back what was not: of the seconds that were looked at, those have a certificate of which
 * every check has held every row, now. Only what is still covered counts, and no second in which
 * anybody wrote a row since the checks began: another dataset's page, a repair, a record out of quarantine. Nobody
 * writes the tables meanwhile, so that a commit under way either shows here or sees what it takes the certificate from.
 * A second with a finding is never verified. Nor is any by an older program, whose checks see less. What is verified now is
 * sealed: each check has held as many rows as the seal says. Returns where one has not.
 * @throws WrongDatabaseError where a newer program has migrated the database
 */
export function setVerified(
  database: Database,
  { stream, tables, isReadTwice = false, grounds = [] }: Certified,
  verdict: CheckVerdict,
): Promise<Unheld[]> {
  const { covered, verified, updated_at } = coverage;
  const targets = tables.map(targetOf);
  const { lastWrite, held } = verdict;
  const confirmed = isReadTwice ? sql`* ${coveredOf({ ...stream, pass: 1 })}` : sql``;
  return writeTransaction(database, async (session) => {
    const unwritten = sql`(${multirangeParam(verdict.good)} - ${writtenSince(targets, lastWrite)})`;
    const unheld = await findUnheld(session, held, unwritten);
    const lost = union(...unheld.map(({ spans }) => spans));
    const [good, bad] = [without(verdict.good, lost), union(verdict.bad, lost)];
    const fallen = grounds.map((ground) => sql` - ${lackingOf(ground, good)}`);
    await lockTables(session, targets, 'alone');
    // Whoever has found something since is waited for here: the statement below sees it then.
    await session.run(sql`
      select 1 from ${coverage} where ${ofStream(coverage, { ...stream, pass: 0 })} for update`);
    await session.run(sql`
      update ${coverage}
      set ${bare(verified)} = ${verified} - ${multirangeParam(bad)}
          + (${covered} * ${multirangeParam(good)} ${confirmed} - ${writtenSince(targets, lastWrite)}${sql.join(fallen)})
          - ${spansWithFindings(stream)},
        ${bare(updated_at)} = default
      where ${ofStream(coverage, { ...stream, pass: 0 })}`);
    const certified = sql`coalesce((select ${verified} * ${multirangeParam(good)} from ${coverage}
      where ${ofStream(coverage, { ...stream, pass: 0 })}), '{}')`;
    for (const target of targets.filter(({ facts }) => facts.partitioned))
      await seal(session, target, certified);
    return unheld;
  });
}

/** Takes the certificate from a range: a reading brought something else than what is stored. */
export async function withdrawVerified(session: Session, stream: Stream, range: Range): Promise<void> {
  const { verified, updated_at } = coverage;
  const span = multirangeParam([range]);
  await session.run(sql`
    update ${coverage} set ${bare(verified)} = ${verified} - ${span}, ${bare(updated_at)} = default
    where ${ofStream(coverage, { ...stream, pass: 0 })} and ${verified} && ${span}`);
}

/** A dataset on which the certificate of another one rests. */
export interface GroundDataset {
  readonly name: string;
  /** True: where it was never read, the other one's certificate stands without it. */
  readonly isOptional: boolean;
}

/** Takes the certificate of a dataset from every second of some ranges in which its ground has none. */
export async function withdrawGroundless(
  session: Session,
  dependent: string,
  ground: GroundDataset,
  ranges: readonly Range[],
): Promise<void> {
  const { dataset, pass, verified, updated_at } = coverage;
  await session.run(sql`
    update ${coverage} c set ${bare(verified)} = c.verified - g.lacking, ${bare(updated_at)} = default
    from (select ${lackingOf(ground, ranges)} as lacking) g
    where c.${bare(dataset)} = ${dependent} and c.${bare(pass)} = 0 and c.verified && g.lacking`);
}

/**
 * The seconds of some ranges in which a ground has no certificate, and should have one for what rests on it, as a scalar
 * within a statement. What retention has dropped of it was proved when it was there.
 */
function lackingOf({ name, isOptional }: GroundDataset, ranges: readonly Range[]): SQL {
  const own = { dataset: name, scope: '', pass: 0 };
  const wanted = isOptional ? everReadOf(own, ranges) : multirangeParam(ranges);
  const verified = sql`coalesce((select ${coverage.verified} from ${coverage} where ${ofStream(coverage, own)}), '{}')`;
  return sql`(${wanted} * int8multirange(int8range(${floorOfDataset(name)}, null)) - ${verified})`;
}

/** The verified ranges, oldest first. */
export async function readVerified(session: Session, stream: Stream): Promise<Range[]> {
  const [row] = await session.rows(
    sql`select ${coverage.verified}::text as spans from ${coverage}
        where ${ofStream(coverage, { ...stream, pass: 0 })}`,
    z.object({ spans: spansOfRow }),
  );
  return row?.spans ?? [];
}

/** Says in the database what verified means for a dataset. */
export async function saveGrade(
  session: Session,
  dataset: string,
  { grade, proves, limitations }: GradeFacts,
): Promise<void> {
  const said = [grades.grade, grades.proves, grades.blind_to] as const;
  await session.run(sql`
    ${insertInto(grades, { dataset, grade, proves, blind_to: limitations })}
    on conflict (${bare(grades.dataset)}) do update
      set ${setExcluded(...said)}, ${bare(grades.updated_at)} = default
    where (${list(said)}) is distinct from (${list(said.map(excluded))})`);
}
