import { sql, type SQL } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Session } from '../../db/connection/database.ts';
import { rangeParam } from '../../db/connection/sql.ts';
import { neighbours } from '../../db/read/neighbouring-seconds.ts';
import { DAY, type Range } from '../../range.ts';
import type { Check, CheckInput, Result } from '../check.ts';
import { countOf, during, findingsOf, secondOf } from '../finding.ts';
import { quarantine as quarantined } from '../../db/schema/etl/quarantine.ts';

const q = alias(quarantined, 'q');

/** So far from its neighbour in the page a record is looked for whose time cannot be read. */
const REACH = DAY;

/** Seconds with quarantined records are known to be incomplete: no certificate, and no reading again. */
export const quarantine: Check = {
  name: 'quarantine',
  needs: [],
  steps: (_, input) =>
    input.covered.map((stretch) => ({
      check: 'quarantine',
      stretch,
      run: (look) => look((session) => checkQuarantine(session, input, stretch)),
    })),
};

/**
 * A record whose own time cannot be read has the digest of its text for a name. It lies somewhere from its neighbour
 * before it in the page to the one behind it.
 */
async function checkQuarantine(
  session: Session,
  { dataset: { name, job }, stream: { scope } }: CheckInput,
  stretch: Range,
): Promise<Result> {
  const own = sql`${q.dataset} = ${name} and ${q.scope} = ${scope}`;
  const here = sql`${own} and ${during('q', stretch)}`;
  const near = { from: stretch.from - REACH, to: stretch.to + REACH };
  const [table] = Object.values(job.tables);
  // Rows of another scope are no neighbours.
  const places =
    table === undefined || scope !== ''
      ? sql`select ${secondsOf(sql`${q.utime}`)} - ${REACH}::int8 as before, ${secondsOf(sql`${q.utime}`)} + ${REACH}::int8 as after`
      : neighbours(table, sql`${q.utime}`, REACH);
  const findings = await findingsOf(session, {
    check: 'quarantine',
    dataset: name,
    scope,
    query: sql`
      select 'quarantined' as kind, 'known' as outcome, ${q.record_id} as id, ${secondOf('q')} as span
      from ${quarantined} ${q} where ${here}
      union all
      select 'quarantined', 'known', ${q.record_id}, s.span
      from ${quarantined} ${q} cross join lateral (${places}) n
        cross join lateral (select int8range(n.before, n.after + 1) * ${rangeParam(stretch)} as span) s
      where ${own} and ${during('q', near)} and not isempty(s.span)
        and ${q.record_id} = encode(sha256(convert_to(${q.raw}, 'UTF8')), 'base64')`,
  });
  const rows = await countOf(session, sql`select count(*) as count from ${quarantined} ${q} where ${here}`);
  return { findings, rows };
}

function secondsOf(time: SQL): SQL {
  return sql`extract(epoch from ${time})::int8`;
}
