import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { formatTime, union, type Range } from '../../range.ts';
import type { CopyPieces } from '../connection/copy-in.ts';
import type { Database, OpenTransaction, Session } from '../connection/database.ts';
import { addCoverage } from '../coverage/coverage.ts';
import { forgetRefusals } from '../coverage/refused.ts';
import { logPage } from './log-page.ts';
import type { Partitions } from './partitions.ts';
import { insertStaged, type Staged } from './rows/insert.ts';
import { byRank } from './rows/rows-by-table.ts';
import { targetOf, type Target } from './rows/target.ts';
import { secondOfRow } from './seals.ts';
import { writeTransaction } from './write-transaction.ts';

/** Rows of a table in the text format of COPY, in the order of `columnsToImport`. */
export interface ImportedRows {
  readonly table: object;
  /** Made while the server takes them. */
  readonly pieces: () => CopyPieces;
}

/** Rows from elsewhere, and what they cover. */
export interface Import {
  readonly rows: readonly ImportedRows[];
  /** The seconds that the rows are all of, for each dataset; all of one day. */
  readonly covered: readonly ImportedSpan[];
  /** What stands in the log of pages. */
  readonly log: {
    /** `import` and where the rows come from. */
    readonly request: string;
    readonly worker: string;
  };
}

interface ImportedSpan {
  readonly dataset: string;
  readonly span: Range;
  /** Of its own table, about. */
  readonly rows: number;
}

/** Names of the columns that rows from elsewhere bring: `loaded_at` says when a row came here. */
export function columnsToImport(table: object): readonly string[] {
  return targetOf(table).columns;
}

/**
 * Writes rows from elsewhere and what they cover in one transaction, as `commit.ts` writes a page. Nothing of it is
 * verified.
 * @returns the number of rows that were new
 */
export async function commitImport(
  database: Database,
  partitions: Partitions,
  brought: Import,
): Promise<number> {
  const { rows, covered } = brought;
  const tables = rows.map(({ table }) => table);
  await partitions.ensure(tables, new Set(covered.map(({ span }) => formatTime(span.from))));
  return writeTransaction(database, async (session) => {
    const staged: Staged[] = [];
    for (const { table, pieces } of rows) staged.push(await stage(session, targetOf(table), pieces()));
    staged.sort((a, b) => byRank(a.target, b.target));
    const written = await insertStaged(session, staged);
    await coverImported(session, brought);
    return written;
  });
}

/**
 * Adds to coverage what rows from elsewhere are all of. The log of pages has them too: when they came is when they were
 * read, for a second reading as for look-ups of what is new in them.
 */
export async function coverImported(session: OpenTransaction, { covered, log }: Import): Promise<void> {
  for (const { dataset, span, rows } of covered) {
    const stream = { dataset, scope: '', pass: 0 };
    await forgetRefusals(session, stream, span);
    const page = { span, rows, request: log.request, bytes: 0, ms: 0, apiVersion: undefined };
    await logPage(session, { ...stream, worker: log.worker }, page, span);
    await addCoverage(session, stream, span);
  }
}

const Second = z.coerce.number().nullable();
const Counted = z.object({ rows: z.coerce.number(), first: Second, last: Second });

async function stage(session: Session, target: Target, pieces: CopyPieces): Promise<Staged> {
  await session.copyIn(target.staging.copy, pieces);
  const [row] = await session.rows(
    target.facts.partitioned
      ? sql`select count(*) as rows, min(${secondOfRow(sql`n`)}) as first, max(${secondOfRow(sql`n`)}) as last
          from ${target.staging.name} n`
      : sql`select count(*) as rows, null as first, null as last from ${target.staging.name}`,
    Counted,
  );
  const { rows: count = 0, first, last } = row ?? {};
  const seconds = first == null || last == null ? [] : union([{ from: first, to: last + 1 }]);
  return { target, count, seconds };
}
