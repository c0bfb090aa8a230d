import { sql, type SQL } from 'drizzle-orm';
import { bare } from '../../connection/sql.ts';
import { coverage } from '../../schema/etl/coverage.ts';
import { secondOfRow } from '../receipts.ts';
import type { Target } from './target.ts';

/**
 * A statement that takes the verified state from the seconds of `rows` (the name of a query with `utime`) that were
 * written or removed, for the dataset whose table it is: its checks have not seen what another dataset's pages, or a
 * record out of quarantine, bring later. Nor has a second reading that confirmed them before: another one has to. Of
 * pools each is confirmed by its own.
 */
export function unverify({ name }: Pick<Target, 'name'>, rows: SQL): SQL {
  const { dataset, scope, pass, covered, verified } = coverage;
  return sql`
    update ${coverage} set ${bare(verified)} = ${verified} - n.spans,
      ${bare(covered)} = case ${pass} when 0 then ${covered} else ${covered} - n.spans end
    from (select range_agg(int8range(second, second + 1)) as spans
      from (select distinct ${secondOfRow(sql`r`)} as second from ${rows} r) s) n
    where case ${pass} when 0 then ${verified} else ${covered} end && n.spans and (${pass} = 0 or ${scope} = '')
      and ${dataset} in (select d.dataset from etl.datasets d where ${name}::text = any(d.tables))`;
}
