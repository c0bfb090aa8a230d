import { sql } from 'drizzle-orm';
import type { Session } from '../../db/connection/database.ts';
import type { Range } from '../../range.ts';
import type { Check, Result } from '../check.ts';
import { countOf, during, findingsOf, secondOf } from '../finding.ts';

/** Seconds with quarantined records are known gaps: no certificate, and no reading again. */
export const quarantine: Check = {
  name: 'quarantine',
  needs: [],
  steps: ({ database }, { dataset, stream, covered }) =>
    covered.map((stretch) => ({
      check: 'quarantine',
      stretch,
      run: () => checkQuarantine(database, dataset.name, stream.scope, stretch),
    })),
};

async function checkQuarantine(
  session: Session,
  dataset: string,
  scope: string,
  stretch: Range,
): Promise<Result> {
  const here = sql`q.dataset = ${dataset} and q.scope = ${scope} and ${during('q', stretch)}`;
  const findings = await findingsOf(session, {
    check: 'quarantine',
    dataset,
    scope,
    query: sql`
      select 'quarantined' as kind, 'known' as outcome, record_id as id, ${secondOf('q')} as span
      from etl.quarantine q where ${here}`,
  });
  const rows = await countOf(session, sql`select count(*) as count from etl.quarantine q where ${here}`);
  return { findings, rows };
}
