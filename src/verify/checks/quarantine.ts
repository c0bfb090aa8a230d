import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Session } from '../../db/connection/database.ts';
import type { Range } from '../../range.ts';
import { countOf, during, findingsOf, secondOf, type Finding } from '../finding.ts';
import { quarantine } from '../../db/schema/quarantine.ts';

const q = alias(quarantine, 'q');

/** Seconds with quarantined records are known gaps: no certificate, and no reading again. */
export async function checkQuarantine(
  session: Session,
  dataset: string,
  scope: string,
  stretch: Range,
): Promise<{ findings: Finding[]; rows: number }> {
  const here = sql`${q.dataset} = ${dataset} and ${q.scope} = ${scope} and ${during('q', stretch)}`;
  const findings = await findingsOf(session, {
    check: 'quarantine',
    dataset,
    scope,
    query: sql`
      select 'quarantined' as kind, 'known' as outcome, ${q.record_id} as id, ${secondOf('q')} as span
      from ${quarantine} ${q} where ${here}`,
  });
  const rows = await countOf(session, sql`select count(*) as count from ${quarantine} ${q} where ${here}`);
  return { findings, rows };
}
