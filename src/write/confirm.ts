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
  /** Seconds of which all rows agree. */
  readonly ranges: readonly Range[];
  /** How long ago the first reading must have been. */
  readonly ageSeconds: number;
  /** Tables whose rows were compared. */
  readonly tables: readonly object[];
  /** The last write before the reading began, by `readLastWrite`. */
  readonly lastWrite: number;
}

const Written = z.object({ spans: spansOfRow });

/**
 * Counts ranges as read a second time: those that are due. Not the seconds in which anybody has written a row since the
 * reading began, such as a record out of quarantine: it has not seen that row.
 * @returns what is confirmed by it
 * @throws WrongDatabaseError where a newer program has migrated the database
 */
export function confirmDue(database: Database, reading: SecondReading): Promise<Range[]> {
  const { first, ranges, ageSeconds, lastWrite } = reading;
  const targets = reading.tables.map(targetOf);
  return writeTransaction(database, async (session) => {
    await lockTables(session, targets, 'alone');
    // Held until the end: nothing can be taken out of coverage and read again in between. Second readings come first,
    // as wherever both are changed.
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
