import type { Rejected } from '../dataset/job.ts';
import type { Rows, Tables } from '../dataset/rows.ts';
import type { Extra } from '../dataset/declaration/record.ts';
import { holdCursor, moveCursor, type CursorClaim } from '../ledger/stored-cursors.ts';
import { answersOf } from '../postgres/answers-of.ts';
import type { Database } from '../postgres/database.ts';
import { insertStaged, stageRows } from './insert.ts';
import { noteSpared, rememberOutcomes, setAside, type Outcomes, type Unserved } from '../ledger/subjects.ts';
import { logPage, type PageLog } from './log-page.ts';
import type { Partitions } from './partitions.ts';
import { countDrift, hasQuarantined, quarantineRecords, releaseRecords } from './write-quarantine.ts';
import { ensurePartitions, rowsByTable } from './rows-by-table.ts';
import { writeTransaction } from '../ledger/write-transaction.ts';

/** One response of a dataset that is no stream of time: everything that its commit writes. */
export interface ResponseCommit {
  readonly claim: CursorClaim;
  readonly tables: Tables;
  readonly rows: readonly Rows[];
  readonly rejected: readonly Rejected[];
  readonly extras: readonly Extra[];
  readonly ids: readonly string[];
  /** Where the walk stands after it. */
  readonly cursor: object;
  /** Of a look-up: whom was asked for and who was found. */
  readonly outcomes?: Outcomes;
  /** What it brought of other collections, whose look-ups it spares. */
  readonly piggybacked: readonly { readonly dataset: string; readonly outcomes: Outcomes }[];
  readonly log: PageLog;
}

/**
 * Writes a response's rows and the cursor behind it in one transaction: after it both are there, or neither. Writing a
 * response twice changes nothing.
 * @throws LeaseLostError where another worker has taken the walk: nothing was written
 */
export async function commitResponse(
  database: Database,
  partitions: Partitions,
  commit: ResponseCommit,
): Promise<void> {
  const byTable = rowsByTable(commit.tables, commit.rows);
  await ensurePartitions(partitions, byTable);
  const { claim, rejected, extras, ids, log } = commit;
  const stream = { dataset: claim.dataset, scope: '', pass: 0 };
  await writeTransaction(database, async (session) => {
    const staged = await stageRows(session, byTable);
    await answersOf([holdCursor(session, claim), insertStaged(session, staged)]);
    if (rejected.length > 0) await quarantineRecords(session, stream, log.request, rejected);
    if (await hasQuarantined(session, stream)) await releaseRecords(session, stream, ids);
    if (extras.length > 0) await countDrift(session, claim.dataset, extras);
    if (commit.outcomes !== undefined) await rememberOutcomes(session, claim.dataset, commit.outcomes);
    for (const { dataset, outcomes } of commit.piggybacked) {
      if (outcomes.asked.length > 0) await noteSpared(session, dataset, outcomes);
    }
    await moveCursor(session, claim, commit.cursor);
    await logPage(session, { dataset: claim.dataset, scope: claim.scope, pass: 0, worker: claim.owner }, log);
  });
}

/**
 * Commits a cursor without rows.
 * @throws LeaseLostError where another worker has taken the walk
 */
export async function commitCursor(
  database: Database,
  claim: CursorClaim,
  cursor: object,
  learned: { readonly outcomes?: Outcomes | undefined; readonly unserved?: Unserved } = {},
): Promise<void> {
  const { outcomes, unserved } = learned;
  await writeTransaction(database, async (session) => {
    await holdCursor(session, claim);
    if (outcomes !== undefined) await rememberOutcomes(session, claim.dataset, outcomes);
    if (unserved !== undefined) await setAside(session, claim.dataset, unserved);
    await moveCursor(session, claim, cursor);
  });
}
