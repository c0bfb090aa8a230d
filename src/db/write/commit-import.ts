import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { formatTime, type Range } from '../../range.ts';
import type { Database, Session } from '../connection/database.ts';
import { addCoverage } from '../coverage/coverage.ts';
import { forgetRefusals } from '../coverage/refused.ts';
import type { Partitions } from './partitions.ts';
import { insertStaged, type Staged } from './rows/insert.ts';
import { byRank } from './rows/rows-by-table.ts';
import { targetOf, type Target } from './rows/target.ts';

/** Rows of a table as CSV without a header, in the order of `columnsToImport`. */
interface ImportedRows {
  readonly table: object;
  readonly pieces: () => Iterable<Buffer>;
}

interface Import {
  readonly rows: readonly ImportedRows[];
  /** The seconds that the rows are all of, for each dataset; all of one day. */
  readonly covered: readonly { readonly dataset: string; readonly span: Range }[];
}

/** Names of the columns that rows from elsewhere bring: `loaded_at` says when a row came here. */
export function columnsToImport(table: object): readonly string[] {
  return targetOf(table).columns;
}

/**
 * Writes rows from elsewhere and what they cover in one transaction, with their receipts, as `commit.ts` writes a page.
 * Nothing of it is verified.
 * @returns the number of rows that were new
 */
export async function commitImport(
  database: Database,
  partitions: Partitions,
  { rows, covered }: Import,
): Promise<number> {
  const tables = rows.map(({ table }) => table);
  await partitions.ensure(tables, new Set(covered.map(({ span }) => formatTime(span.from))));
  return database.transaction(async (session) => {
    const staged: Staged[] = [];
    for (const { table, pieces } of rows) staged.push(await stage(session, targetOf(table), pieces()));
    staged.sort((a, b) => byRank(a.target, b.target));
    const written = await insertStaged(session, staged);
    for (const { dataset, span } of covered) {
      const stream = { dataset, scope: '', pass: 0 };
      await forgetRefusals(session, stream, span);
      await addCoverage(session, stream, span);
    }
    return written;
  });
}

async function stage(session: Session, target: Target, pieces: Iterable<Buffer>): Promise<Staged> {
  await session.copyIn(sql`${target.staging.copy} (format csv)`, pieces);
  const [row] = await session.rows(
    sql`select count(*) as rows from ${target.staging.name}`,
    z.object({ rows: z.coerce.number() }),
  );
  return { target, count: row?.rows ?? 0 };
}
