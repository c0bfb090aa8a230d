import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Session } from '../../db/connection/database.ts';
import type { Range } from '../../range.ts';
import type { Check, Result } from '../check.ts';
import { countOf, during, findingsOf, secondOf } from '../finding.ts';
import { quarantine as quarantined } from '../../db/schema/etl/quarantine.ts';

const q = alias(quarantined, 'q');

/** Seconds with quarantined records are known to be incomplete: no certificate, and no reading again. */
export const quarantine: Check = {
  name: 'quarantine',
  needs: [],
  steps: (_, { dataset, stream, covered }) =>
    covered.map((stretch) => ({
      check: 'quarantine',
      stretch,
      run: (look) => look((session) => checkQuarantine(session, dataset.name, stream.scope, stretch)),
    })),
};

async function checkQuarantine(
  session: Session,
  dataset: string,
  scope: string,
  stretch: Range,
): Promise<Result> {
  const here = sql`${q.dataset} = ${dataset} and ${q.scope} = ${scope} and ${during('q', stretch)}`;
  const findings = await findingsOf(session, {
    check: 'quarantine',
    dataset,
    scope,
    query: sql`
      select 'quarantined' as kind, 'known' as outcome, ${q.record_id} as id, ${secondOf('q')} as span
      from ${quarantined} ${q} where ${here}`,
  });
  const rows = await countOf(session, sql`select count(*) as count from ${quarantined} ${q} where ${here}`);
  return { findings, rows };
}
