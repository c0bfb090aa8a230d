import { sql } from 'drizzle-orm';
import type { Session } from '../../db/connection/database.ts';
import { targetOf } from '../../db/write/target.ts';
import { RECEIPT_SECONDS } from '../../db/write/receipts.ts';
import { heldRows, isWithin, wholeMinutes } from '../../db/write/receipt-ledger.ts';
import type { Range } from '../../range.ts';
import { countOf, findingsOf, type Finding } from '../finding.ts';
import { receipts } from '../../db/schema/verification.ts';

/**
 * What is stored of a table in each minute is what its receipts say: as many rows, with the same keys. Fewer: rows have
 * vanished. More: somebody else wrote some.
 */
export async function checkReceipts(
  session: Session,
  table: object,
  dataset: string,
  scope: string,
  stretch: Range,
): Promise<{ findings: Finding[]; rows: number }> {
  const target = targetOf(table);
  const minutes = wholeMinutes(stretch);
  const findings = await findingsOf(session, {
    check: 'receipts',
    dataset,
    scope,
    table,
    query: sql`
      with owed as (
        select ${receipts.minute}, sum(${receipts.rows})::int8 as rows, sum(${receipts.keys}) as keys from ${receipts}
        where ${isWithin(target.name, minutes)} group by 1),
      held as (${heldRows(target, minutes)})
      select case when coalesce(h.rows, 0) <= coalesce(o.rows, 0) then 'vanished' else 'unknown' end
          || '_rows_of_' || ${target.name}::text as kind,
        case when coalesce(h.rows, 0) <= coalesce(o.rows, 0) then 'hole' else 'doubt' end as outcome,
        to_char(to_timestamp(minute * ${RECEIPT_SECONDS}::int8) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')
          || ' has ' || coalesce(h.rows, 0) || ' of ' || coalesce(o.rows, 0) || ' rows' as id,
        int8range(minute * ${RECEIPT_SECONDS}::int8, (minute + 1) * ${RECEIPT_SECONDS}::int8) as span
      from owed o full join held h using (minute)
      where coalesce(o.rows, 0) <> coalesce(h.rows, 0) or coalesce(o.keys, 0) <> coalesce(h.keys, 0)`,
  });
  const rows = await countOf(
    session,
    sql`select coalesce(sum(${receipts.rows}), 0) as count from ${receipts} where ${isWithin(target.name, minutes)}`,
  );
  return { findings, rows };
}
