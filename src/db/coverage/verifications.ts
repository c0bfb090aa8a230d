import { sql } from 'drizzle-orm';
import { parseRangeText, type Range } from '../../range.ts';
import { spansWithFindings } from './findings.ts';
import type { GradeFacts } from '../../dataset/grade.ts';
import type { Stream } from './coverage.ts';
import type { Session } from '../connection/database.ts';
import { multirangeParam, rangeParam } from '../connection/sql.ts';
import { z } from 'zod';

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
  const { dataset, scope, check, span, rows, found, holes, detail, requests, ms } = entry;
  await session.run(sql`
    insert into etl.verifications (dataset, scope, span, check_name, rows, findings, holes, detail, requests, ms)
    values (${dataset}, ${scope}, ${rangeParam(span)}, ${check}, ${rows}, ${found}, ${multirangeParam(holes)}, ${detail},
      ${requests}, ${Math.round(ms)})`);
}

/**
 * Sets what was verified and takes back what turned out wrong. Only what is still covered counts: another process may
 * have taken some out of coverage meanwhile. A second with a finding is never verified.
 */
export async function setVerified(
  session: Session,
  { dataset, scope }: Stream,
  good: readonly Range[],
  bad: readonly Range[],
): Promise<void> {
  await session.run(sql`
    update etl.coverage
    set verified = verified - ${multirangeParam(bad)} + covered * ${multirangeParam(good)}
        - ${spansWithFindings({ dataset, scope })}, updated_at = default
    where dataset = ${dataset} and scope = ${scope} and pass = 0`);
}

/** The verified ranges, oldest first. */
export async function readVerified(session: Session, { dataset, scope }: Stream): Promise<Range[]> {
  const [row] = await session.rows(
    sql`select verified::text as spans from etl.coverage
        where dataset = ${dataset} and scope = ${scope} and pass = 0`,
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
  await session.run(sql`
    insert into etl.grades as g (dataset, grade, proves, blind_to) values (${dataset}, ${grade}, ${proves}, ${limitations})
    on conflict (dataset) do update set grade = excluded.grade, proves = excluded.proves, blind_to = excluded.blind_to,
      updated_at = default
    where (g.grade, g.proves, g.blind_to) is distinct from (excluded.grade, excluded.proves, excluded.blind_to)`);
}

/**
 * Makes a process the one that verifies, for so many seconds from now; true where it is. Of several daemons that share a
 * database one does, as long as it comes back in time.
 */
export async function takeGuard(session: Session, owner: string, seconds: number): Promise<boolean> {
  const taken = await session.run(sql`
    insert into etl.settings as s (name, value)
    values ('guard', jsonb_build_object('owner', ${owner}::text, 'until', clock_timestamp() + make_interval(secs => ${seconds})))
    on conflict (name) do update set value = excluded.value, updated_at = default
    where s.value->>'owner' = ${owner} or (s.value->>'until')::timestamptz < clock_timestamp()`);
  return taken > 0;
}
