import type { Rows, Tables, Extra } from '../dataset/declaration/record.ts';
import { formatTime, spanOfSecond, type Range, union, without } from '../range.ts';
import {
  addCoverage,
  subtractCoverage,
  type Stream,
  forgetRefusals,
  refuse,
  type Refusal,
} from '../ledger/stored-coverage.ts';
import { holdCursor, moveCursor, type CursorClaim } from '../ledger/stored-cursors.ts';
import {
  rememberPiggybacked,
  rememberOutcomes,
  postponeSubjects,
  type Outcomes,
  type Unserved,
} from '../ledger/subjects.ts';
import { answersOf, insertInto, rangeParam } from '../postgres/sql.ts';
import { type Database, type Session, type OpenTransaction, writeTransaction } from '../postgres/database.ts';
import { differingSeconds, type ReadRange } from './compare-rows.ts';
import {
  insertStaged,
  loadRows,
  type InsertOptions,
  type Loaded,
  type Staged,
  hasQuarantined,
  type CommittedRecords,
  writeAnomalies,
} from './insert.ts';
import { type Lines, linesOfRows } from './lines.ts';
import {
  holdLease,
  leaseLost,
  renewLease,
  shortenLease,
  type Lease,
  endStrayCopies,
} from '../ledger/leases.ts';
import { DatabaseUnavailableError, NotNewError } from '../errors.ts';
import { type Partitions, byRank } from './target.ts';
import { withdrawVerified } from './certificates.ts';
import { readFloors } from '../ledger/stored-settings.ts';
import { pages } from '../tables/etl/pages.ts';
import { CONFLICT, retry, type RetryContext } from '../clock.ts';

/**
 * One transaction that writes rows: the parts that differ between a page, a response, a released record and an import.
 */
interface RowCommit<Held> {
  /** Sends the rows to the server. This takes longest, so it must hold hardly any locks. */
  readonly load: (session: OpenTransaction) => Promise<Loaded>;
  /** Runs before the statements that write staged rows. If it throws, nothing is written. */
  readonly hold: (session: OpenTransaction, staged: readonly Staged[]) => Promise<Held>;
  readonly options?: InsertOptions;
  /** The results of parsing the records that the rows come from. */
  readonly records?: CommittedRecords;
  /** Writes what the rows complete: coverage or a cursor, and the log. */
  readonly finish: (session: OpenTransaction, held: Held) => Promise<unknown>;
}

/**
 * Writes rows and the coverage or cursor that they complete in one transaction: both are committed, or neither is.
 * Writing something twice changes nothing.
 * @returns the number of staged rows that were new or changed
 */
export function commitRows<Held>(database: Database, commit: RowCommit<Held>): Promise<number> {
  const { records } = commit;
  return writeTransaction(database, async (session) => {
    const loaded = await commit.load(session);
    const [held, written, isAnyQuarantined] = await answersOf([
      commit.hold(session, loaded.staged),
      insertStaged(session, loaded, commit.options),
      records === undefined ? Promise.resolve(false) : hasQuarantined(session, records.stream),
    ]);
    if (records !== undefined) await writeAnomalies(session, records, isAnyQuarantined);
    await commit.finish(session, held);
    return written;
  });
}

/** Lines of rows by table, in the order of `inOrder`. Creates missing partitions. */
async function linesByTable(
  partitions: Partitions,
  tables: Tables,
  records: readonly Rows[],
): Promise<Lines[]> {
  const lines = Object.entries(tables).map(([name, table]) =>
    linesOfRows(
      table,
      records.flatMap((rows) => rows[name] ?? []),
    ),
  );
  const byTable = inOrder(lines);
  await ensurePartitions(partitions, byTable);
  return byTable;
}

/** Tables in the order in which all processes write them, so that two commits wait instead of deadlocking. */
export function inOrder(byTable: readonly Lines[]): Lines[] {
  return byTable.toSorted((a, b) => byRank(a.target, b.target));
}

/** Creates the partitions that the rows need, before the transaction that writes them. */
export async function ensurePartitions(partitions: Partitions, byTable: readonly Lines[]): Promise<void> {
  for (const { target, times } of byTable) await partitions.ensure([target.table], times);
}

/** Seconds that cannot be read completely are done, too: the lease goes past them, coverage does not. */
type Done =
  | { readonly span: Range; readonly outcome: 'covered' }
  | { readonly span: Range; readonly outcome: 'refused'; readonly why: Refusal };

/** What a second reading needs: it confirms only seconds in which its rows equal the stored ones. */
export interface Again {
  /** Which of the stored rows belong to the stream. */
  readonly scope: ReadRange['scope'];
  /** Minimum number of seconds before differing seconds are read again. */
  readonly pauseSeconds: number;
}

/** One page, or the pages of one second that are written together: everything that their commit writes. */
export interface PageCommit extends Pick<CommittedRecords, 'rejected' | 'extras' | 'ids'> {
  readonly lease: Lease;
  /** Rows of the accepted records, table by table. */
  readonly rows: readonly Lines[];
  /** Seconds that this page completes or gives up, a prefix of the lease; undefined if there are none yet. */
  readonly done: Done | undefined;
  /** If true, stored rows of the seconds that are done are removed first, because the source may have removed them. */
  readonly replace: boolean;
  /** If true, the range is read again because stored rows are wrong, so the source's rows replace them. */
  readonly overwrite: boolean;
  /** Set for a second reading: its rows are complete for the seconds that are done, and are compared. */
  readonly again?: Again;
  /** Rows of later seconds are new, as far as is known: they are copied directly into their tables. */
  readonly newAfter?: number | undefined;
  /** The pages, in the order in which they were read; the last one completes `done`. */
  readonly pages: readonly PageLog[];
}

/**
 * Writes a page's rows and the coverage that they complete in one transaction: both are committed, or neither is.
 * Writing a page twice changes nothing. The order:
 *
 * 1. New rows are copied into their tables, others into staging tables. This takes longest, and locks hardly anything
 * that a page of other seconds needs. Only a second reading keeps other writers out, because it compares rows.
 * 2. The lease is locked, which checks that the range is still ours. The page is logged.
 * 3. Staged rows are written to their tables. Neighboring pages may wait for them.
 * 4. The lease is shortened, and its time begins again.
 * 5. Coverage grows. Every commit of the dataset waits for this one row, so only the schema's version is checked later.
 *
 * Statements that do not need each other's answers are pipelined. So no lock is held while this process parses other
 * pages.
 * @returns false if rows that should have been new were already stored: those of the next page may be, too
 * @throws LeaseLostError if the range is no longer ours: nothing was written
 */
export async function commitPage(
  database: Database,
  partitions: Partitions,
  commit: PageCommit,
): Promise<boolean> {
  const { tables } = await readFloors(database);
  // Pages may contain rows that are older than what is kept: those of a trace that lasted long.
  const byTable = inOrder(commit.rows).map((rows) => {
    const floor = tables.get(rows.target.name);
    return floor === undefined ? rows : rows.split(({ time }) => time >= formatTime(floor))[0];
  });
  await ensurePartitions(partitions, byTable);
  try {
    await writePage(database, byTable, commit);
    return commit.newAfter !== undefined;
  } catch (error) {
    if (!(error instanceof NotNewError)) throw await lostOrFailed(database, commit.lease, error);
    await writePage(database, byTable, { ...commit, newAfter: undefined });
    return false;
  }
}

/** Another process may have terminated the session, because it was copying for a lost lease. */
async function lostOrFailed(database: Database, lease: Lease, error: unknown): Promise<unknown> {
  if (!(error instanceof DatabaseUnavailableError)) return error;
  const isOurs = await renewLease(database, lease).catch(() => true);
  return isOurs ? error : leaseLost(lease, error);
}

function writePage(database: Database, byTable: readonly Lines[], commit: PageCommit): Promise<number> {
  const { lease, done, overwrite, pages } = commit;
  const replaced = commit.replace && done?.outcome === 'covered' ? done.span : undefined;
  return commitRows(database, {
    load: (session) => {
      const isWhole = replaced !== undefined || commit.again !== undefined;
      const mode = commit.again === undefined ? 'shared' : 'alone';
      return loadRows(session, byTable, { newAfter: commit.newAfter, lease, isWhole, mode });
    },
    // The lease is locked after all data was sent: if this process freezes while it sends, the lease is not locked.
    hold: async (session, staged) => {
      const [, changed] = await answersOf([
        holdLease(session, lease, done?.span ?? spanOfSecond(lease.span.to - 1)),
        changedSeconds(session, staged, byTable, commit),
        logPages(session, commit),
      ]);
      return changed;
    },
    options: { overwrite, replaced },
    records: { ...commit, stream: lease.stream, request: pages.at(-1)?.request ?? '' },
    finish: (session, changed) =>
      answersOf([
        shortenLease(session, lease, done?.span.to ?? lease.span.from),
        done === undefined ? Promise.resolve() : coverOrRefuse(session, commit, done, changed),
      ]),
  });
}

/** The range of seconds in which a second reading differs from the stored rows, or contradicts itself. */
async function changedSeconds(
  session: Session,
  staged: readonly Staged[],
  byTable: readonly Lines[],
  { again, done }: PageCommit,
): Promise<Range | undefined> {
  if (again === undefined || done?.outcome !== 'covered') return undefined;
  const read = { span: done.span, scope: again.scope };
  const differing = await answersOf(staged.map(({ target }) => differingSeconds(session, target, read)));
  const spans = union([...byTable.flatMap(({ contradictions }) => contradictions()), ...differing.flat()]);
  const [first, last] = [spans[0], spans.at(-1)];
  return first && last && { from: first.from, to: last.to };
}

async function coverOrRefuse(
  session: Session,
  { lease: { stream }, again }: PageCommit,
  done: Done,
  changed: Range | undefined,
): Promise<void> {
  const { span } = done;
  if (done.outcome === 'refused') {
    await refuse(session, stream, span, done.why);
    return;
  }
  for (const part of without([span], changed === undefined ? [] : [changed])) {
    await answersOf([forgetRefusals(session, stream, part), addCoverage(session, stream, part)]);
  }
  if (changed === undefined) return;
  await withdrawVerified(session, stream, changed);
  const detail = 'a second reading differs from the stored rows; another one must agree with it';
  await refuse(session, stream, changed, {
    reason: 'changed',
    detail,
    pauseSeconds: again?.pauseSeconds ?? 0,
  });
}

/** The last page completes `done`. */
async function logPages(session: OpenTransaction, { lease, pages, done }: PageCommit): Promise<void> {
  const asker = { ...lease.stream, worker: lease.owner };
  const completed = done?.outcome === 'covered' ? done.span : undefined;
  const last = pages.at(-1);
  await answersOf(pages.map((page) => logPage(session, asker, page, page === last ? completed : undefined)));
}

/** One response of a collection's walk: everything that its commit writes. */
export interface ResponseCommit extends Pick<CommittedRecords, 'rejected' | 'extras' | 'ids'> {
  readonly claim: CursorClaim;
  readonly tables: Tables;
  readonly rows: readonly Rows[];
  /** The position of the walk after this response. */
  readonly cursor: object;
  /** For a lookup: the requested subjects, and those that were found. */
  readonly outcomes?: Outcomes;
  /** Records of other collections in the response, which save their lookups a request. */
  readonly piggybacked: readonly { readonly dataset: string; readonly outcomes: Outcomes }[];
  readonly log: PageLog;
}

/**
 * Writes a response's rows and the cursor after it.
 * @throws LeaseLostError if another worker has claimed the walk: nothing was written
 */
export async function commitResponse(
  database: Database,
  partitions: Partitions,
  commit: ResponseCommit,
): Promise<void> {
  const { claim, cursor, outcomes, piggybacked, log } = commit;
  const { dataset, scope, owner } = claim;
  const byTable = await linesByTable(partitions, commit.tables, commit.rows);
  await commitRows(database, {
    load: (session) => loadRows(session, byTable),
    hold: (session) => holdCursor(session, claim),
    records: { ...commit, stream: { dataset, scope: '', pass: 0 }, request: log.request },
    finish: async (session) => {
      for (const other of piggybacked)
        if (other.outcomes.asked.length > 0)
          await rememberPiggybacked(session, other.dataset, other.outcomes);
      await moveOn(session, claim, cursor, { outcomes });
      await logPage(session, { dataset, scope, pass: 0, worker: owner }, log);
    },
  });
}

/** What a lookup has learned about the requested subjects. */
export interface Learned {
  readonly outcomes?: Outcomes | undefined;
  readonly unserved?: Unserved;
}

/**
 * Commits a cursor without rows.
 * @throws LeaseLostError if another worker has claimed the walk
 */
export async function commitCursor(
  database: Database,
  claim: CursorClaim,
  cursor: object,
  learned: Learned = {},
): Promise<void> {
  await writeTransaction(database, async (session) => {
    await holdCursor(session, claim);
    await moveOn(session, claim, cursor, learned);
  });
}

async function moveOn(
  session: Session,
  claim: CursorClaim,
  cursor: object,
  { outcomes, unserved }: Learned,
): Promise<void> {
  if (outcomes !== undefined) await rememberOutcomes(session, claim.dataset, outcomes);
  if (unserved !== undefined) await postponeSubjects(session, claim.dataset, unserved);
  await moveCursor(session, claim, cursor);
}

/** A quarantined record that fits now, and its rows. */
interface Released {
  readonly stream: Stream;
  readonly recordId: string;
  /** The second in which the stream holds it, in unix seconds. */
  readonly second: number;
  readonly tables: Tables;
  readonly rows: Rows;
  readonly extra: Extra;
}

/**
 * Writes the rows of a quarantined record and takes it out of quarantine. If a second reading has confirmed its second
 * without these rows, another reading is needed.
 */
export async function release(
  database: Database,
  partitions: Partitions,
  { stream, recordId, second, tables, rows, extra }: Released,
): Promise<void> {
  const byTable = await linesByTable(partitions, tables, [rows]);
  const extras = Object.keys(extra).length > 0 ? [extra] : [];
  await commitRows(database, {
    // Waits for a second reading that is being confirmed. A later one sees the rows.
    load: (session) => loadRows(session, byTable),
    hold: (session) => subtractCoverage(session, { ...stream, pass: 1 }, [spanOfSecond(second)]),
    records: { stream, request: '', rejected: [], extras, ids: [recordId] },
    // Look-ups search what pages have brought since they last searched.
    finish: (session) =>
      logPage(
        session,
        { ...stream, worker: '' },
        { ...NO_PAGE, span: spanOfSecond(second), request: 'quarantine' },
      ),
  });
}

/** The log entry of a requested page. */
export interface PageLog {
  /** The seconds in which its rows lie; omitted if they have no time. */
  readonly span?: Range;
  readonly request: string;
  readonly rows: number;
  readonly bytes: number;
  readonly ms: number;
  readonly apiVersion: string | undefined;
}

/** The facts of an entry that is not a response. */
export const NO_PAGE = { rows: 0, bytes: 0, ms: 0, apiVersion: undefined };

/** Requests are stored up to this number of characters: one for many addresses is much longer. */
const LONGEST_REQUEST = 2000;

/** Adds a committed page to the log, with what requested it and the seconds that it completes. */
export async function logPage(
  session: OpenTransaction,
  asker: Stream & { readonly worker: string },
  page: PageLog,
  completed?: Range,
): Promise<void> {
  await session.run(
    insertInto(pages, {
      ...asker,
      span: page.span === undefined ? 'empty' : rangeParam(page.span),
      completed: completed && rangeParam(completed),
      request: page.request.slice(0, LONGEST_REQUEST),
      rows: page.rows,
      bytes: page.bytes,
      ms: Math.round(page.ms),
      api_version: page.apiVersion,
      committed_at: session.began,
    }),
  );
}

/**
 * Commits rows if the network that they were read from is certain. Retries on conflicts with other transactions.
 * Partitions may have been dropped meanwhile, and a frozen process may hold rows that it was copying.
 * @throws WrongNetworkError if another network has answered since the reading began
 */
export function commitWithRetry<T>(
  context: RetryContext & { readonly database: Database; readonly partitions: Partitions },
  network: { confirm(): Promise<void> },
  commit: () => Promise<T>,
): Promise<T> {
  return retry({ ...context, ...CONFLICT, onRetry: () => context.partitions.forget() }, async (attempt) => {
    if (attempt > 1) await endStrayCopies(context.database);
    await network.confirm();
    return commit();
  });
}
