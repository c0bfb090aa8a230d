import { sql } from 'drizzle-orm';
import { spansWithFindings } from './findings.ts';
import type { GradeFacts } from '../../dataset/grade.ts';
import { parseRangeText, type Range } from '../../range.ts';
import { z } from 'zod';
import type { Stream } from './coverage.ts';
import { ofStream } from './of-stream.ts';
import type { Session } from '../connection/database.ts';
import {
  bare,
  excluded,
  insertInto,
  list,
  multirangeParam,
  rangeParam,
  setExcluded,
} from '../connection/sql.ts';
import { coverage } from '../schema/etl/coverage.ts';
import { pages } from '../schema/etl/pages.ts';
import { grades, verifications } from '../schema/etl/verification.ts';

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

/** What checks came to. */
interface Verdict {
  readonly good: readonly Range[];
  readonly bad: readonly Range[];
  /** Number of the last page before the checks began, by `readLastPage`. */
  readonly lastPage: number;
}

/** Number of the page that was committed last; 0 before there is one. */
export async function readLastPage(session: Session): Promise<number> {
  const [row] = await session.rows(
    sql`select coalesce(max(${pages.id}), 0) as last from ${pages}`,
    z.object({ last: z.coerce.number() }),
  );
  return row?.last ?? 0;
}

/**
 * Sets what was verified and takes back what turned out wrong. Only what is still covered counts, and was not read anew
 * since the checks began: another process may have taken some out of coverage meanwhile, and read it again. A second
 * with a finding is never verified.
 */
export async function setVerified(
  session: Session,
  stream: Stream,
  { good, bad, lastPage }: Verdict,
): Promise<void> {
  const { covered, verified, updated_at } = coverage;
  const readAnew = sql`(
    select coalesce(range_agg(${pages.completed}), '{}') from ${pages}
    where ${ofStream(pages, { ...stream, pass: 0 })} and ${pages.id} > ${lastPage} and ${pages.completed} is not null)`;
  await session.run(sql`
    update ${coverage}
    set ${bare(verified)} = ${verified} - ${multirangeParam(bad)}
        + (${covered} * ${multirangeParam(good)} - ${readAnew}) - ${spansWithFindings(stream)},
      ${bare(updated_at)} = default
    where ${ofStream(coverage, { ...stream, pass: 0 })}`);
}

/** The verified ranges, oldest first. */
export async function readVerified(session: Session, stream: Stream): Promise<Range[]> {
  const [row] = await session.rows(
    sql`select ${coverage.verified}::text as spans from ${coverage}
        where ${ofStream(coverage, { ...stream, pass: 0 })}`,
    z.object({ spans: z.string().transform(parseRangeText) }),
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
