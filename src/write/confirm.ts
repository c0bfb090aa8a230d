import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { type Range, without } from '../range.ts';
import type { Database } from '../postgres/database.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { writtenSince } from './writes.ts';
import { lockTables, targetOf } from './target.ts';
import { addCoverage, readDue, type Stream } from '../ledger/stored-coverage.ts';
import { writeTransaction } from '../ledger/write-transaction.ts';
import { spansOfRow } from '../postgres/sql.ts';

/** A second reading of a stream, whose rows were all compared with the source. */
interface SecondReading {
  readonly first: Stream;
  /** Seconds in which all rows agree. */
  readonly ranges: readonly Range[];
  /** The least age of the first reading. */
  readonly ageSeconds: number;
  readonly tables: readonly object[];
  /** The last write before the reading began, from `readLastWrite`. */
  readonly lastWrite: number;
}

const Written = z.object({ spans: spansOfRow });

/**
 * Marks ranges as read a second time, if that is due. It excludes seconds into which a row was written since the
 * reading began, such as a record out of quarantine, because the reading has not seen that row.
 * @returns the confirmed ranges
 * @throws WrongDatabaseError if a newer program has migrated the database
 */
export function confirmDue(database: Database, reading: SecondReading): Promise<Range[]> {
  const { first, ranges, ageSeconds, lastWrite } = reading;
  const targets = reading.tables.map(targetOf);
  return writeTransaction(database, async (session) => {
    await lockTables(session, targets, 'alone');
    // Locked until the end: no range can leave coverage and be read again meanwhile. Second readings are locked first,
    // as in every transaction that changes both.
    await session.run(sql`
      select 1 from ${coverage} where ${coverage.dataset} = ${first.dataset} and ${coverage.scope} = ${first.scope}
      order by ${coverage.pass} desc for update`);
    const [written] = await session.rows(
      sql`select ${writtenSince(targets, lastWrite)}::text as spans`,
      Written,
    );
    const confirmed: Range[] = [];
    for (const range of without(ranges, written?.spans ?? []))
      for (const [, due] of await readDue(session, [first], range, ageSeconds)) confirmed.push(...due);
    for (const range of confirmed) await addCoverage(session, { ...first, pass: 1 }, range);
    return confirmed;
  });
}
