import { sql } from 'drizzle-orm';
import { streamsOf } from '../../crawl/streams/streams.ts';
import { ownersOf } from '../../dataset/owners.ts';
import type { Session } from '../../db/connection/database.ts';
import { readCoverage, type Stream } from '../../db/coverage/coverage.ts';
import { RECEIPTS } from '../../db/coverage/found-row.ts';
import { factsOf } from '../../db/schema/describe.ts';
import { targetOf } from '../../db/write/rows/target.ts';
import { RECEIPT_SECONDS } from '../../db/write/receipts.ts';
import { isWithin, otherThanReceipts, wholeMinutes } from '../../db/write/receipt-ledger.ts';
import { type Range, type Stretch, stretchesOf, union, without } from '../../range.ts';
import { JOINED } from '../near.ts';
import type { Check, Result, CheckStep } from '../check.ts';
import { countOf, findingsOf } from '../finding.ts';
import { receipts as ledger } from '../../db/schema/etl/verification.ts';

/** A table that several datasets fill is held against its receipts where the one that it is for is covered. */
export const receipts: Check = {
  name: RECEIPTS,
  needs: [],
  async steps({ database, jobs }, { dataset, stream, covered }) {
    const steps: CheckStep[] = [];
    for (const [name, table] of Object.entries(dataset.job.tables)) {
      if (!factsOf(table).partitioned) continue;
      const others: Range[] = [];
      for (const owner of ownersOf(name, jobs)) {
        if (owner.name === dataset.name) break;
        for (const other of await streamsOf(database, owner))
          others.push(...(await readCoverage(database, other)));
      }
      const minutes = union(without(covered, others).map(wholeMinutes));
      for (const stretch of stretchesOf(minutes, JOINED)) {
        const place = { dataset: dataset.name, scope: stream.scope };
        const run: CheckStep['run'] = (look) =>
          look((session) => checkReceipts(session, table, place, stretch));
        steps.push({ check: RECEIPTS, stretch, run });
      }
    }
    return steps;
  },
};

/**
 * What is stored of a table in each minute of a stretch of whole ones is what its receipts say: as many rows, with the same keys. Fewer: rows have
 * vanished. More: somebody else wrote some.
 */
export async function checkReceipts(
  session: Session,
  table: object,
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  stretch: Stretch,
): Promise<Result> {
  const target = targetOf(table);
  const findings = await findingsOf(session, {
    check: RECEIPTS,
    dataset,
    scope,
    table,
    query: sql`
      select case when held <= owed then 'vanished' else 'unknown' end || '_rows_of_' || ${target.name}::text as kind,
        case when held <= owed then 'hole' else 'doubt' end as outcome,
        to_char(to_timestamp(minute * ${RECEIPT_SECONDS}::int8) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')
          || ' has ' || held || ' of ' || owed || ' rows' as id,
        int8range(minute * ${RECEIPT_SECONDS}::int8, (minute + 1) * ${RECEIPT_SECONDS}::int8) as span
      from (${otherThanReceipts(target, stretch)}) r`,
  });
  const rows = await countOf(
    session,
    sql`select coalesce(sum(${ledger.rows}), 0) as count from ${ledger} where ${isWithin(target.name, stretch)}`,
  );
  return { findings, rows };
}
