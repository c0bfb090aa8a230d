import { sql } from 'drizzle-orm';
import type { Session } from '../../postgres/database.ts';
import { multirangeParam } from '../../postgres/sql.ts';
import { quarantine as q } from '../../tables/etl/quarantine.ts';
import { partsOf, type Stretch } from '../../range.ts';
import type { Check, CheckInput, Result } from './check.ts';
import { countOf, findingsOf } from './finding.ts';

/** Seconds with quarantined records are incomplete: they get no certificate, and are not read again. */
export const quarantine: Check = {
  name: 'quarantine',
  needs: [],
  reads: () => [],
  steps: (_, input) =>
    input.stretches.map((stretch) => ({
      check: 'quarantine',
      stretch,
      run: (look) => look((session) => checkQuarantine(session, input, stretch)),
    })),
};

async function checkQuarantine(
  session: Session,
  { dataset: { name }, stream: { scope } }: CheckInput,
  stretch: Stretch,
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
  return { findings, rows: await countOf(session, sql`select count(*) as count from ${q} where ${here}`) };
}
