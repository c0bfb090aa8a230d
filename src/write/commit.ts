import type { Rejected } from '../dataset/job.ts';
import { formatTime, toMultirangeText, type Range, union, without } from '../range.ts';
import type { Extra } from '../dataset/declaration/record.ts';
import { addCoverage } from '../ledger/stored-coverage.ts';
import { answersOf } from '../postgres/answers-of.ts';
import type { Database, Session, OpenTransaction } from '../postgres/database.ts';
import { differingSeconds, type Brought } from './compare-rows.ts';
import { copyDirect, divide, NotNewError } from './copy-direct.ts';
import { insertStaged, secondsOfLines, stageRows, type Staged } from './insert.ts';
import type { Lines } from './line-bytes.ts';
import { logPage, type PageLog } from './log-page.ts';
import { holdLease, lost, prolongLease, shortenLease, type Lease } from '../ledger/leases.ts';
import { DatabaseUnavailableError } from '../errors.ts';
import type { Partitions } from './partitions.ts';
import { countDrift, hasQuarantined, quarantineRecords, releaseRecords } from './write-quarantine.ts';
import { forgetRefusals, refuse, type Refusal } from '../ledger/refused.ts';
import { withdrawVerified } from './verifications.ts';
import { readFloors } from '../ledger/floors.ts';
import { lockTables } from './target.ts';
import { ensurePartitions, inOrder } from './rows-by-table.ts';
import { checkedAmong, noteWrites, unverify, type Changed } from './writes.ts';
import { writeTransaction } from '../ledger/write-transaction.ts';

/** Seconds that cannot be read whole are done with too: the lease goes past them, coverage does not. */
type Done =
  | { readonly span: Range; readonly outcome: 'covered' }
  | { readonly span: Range; readonly outcome: 'refused'; readonly why: Refusal };

/** What a second reading needs: it confirms only seconds of which it brings what is stored. */
export interface Again {
  /** Which of the stored rows the stream is about. */
  readonly scope: Brought['scope'];
  /** How long to wait at least before seconds are read again of which it brought something else. */
  readonly pauseSeconds: number;
}

/** One page, or the pages of one second that are written together: everything that their commit writes. */
export interface PageCommit {
  readonly lease: Lease;
  /** Rows of the accepted records, table by table. */
  readonly rows: readonly Lines[];
  readonly rejected: readonly Rejected[];
  /** Unknown members of each accepted record that has some. */
  readonly extras: readonly Extra[];
  /** Identities of the accepted records. */
  readonly ids: readonly string[];
  /** Seconds that are over and done with after this page, a prefix of the lease; undefined where none are yet. */
  readonly done: Done | undefined;
  /** True: what the tables hold of the seconds that are done is removed first, because the source may have removed it. */
  readonly replace: boolean;
  /** True: the range is read again because stored rows are wrong, so what the source says now counts. */
  readonly overwrite: boolean;
  /** Set for a second reading: its rows are all of the seconds that are done, and are held against those stored. */
  readonly again?: Again;
  /** Rows of later seconds are new, as far as is known: they are copied straight into their tables. */
  readonly newAfter?: number | undefined;
  /** The pages, in the order in which they were read; the last one completes. */
  readonly pages: readonly PageLog[];
}

/**
 * Writes a page's rows and the coverage that they complete in one transaction: after it both are there, or neither.
 * Writing a page twice changes nothing. The order:
 *
 * 1. New rows go into their tables, others into staging tables. It takes longest, and locks hardly anything that a page of
 *    other seconds needs.
 * 2. The lease is held: is the range still ours? The page is logged.
 * 3. Staged rows go into their tables. Neighbouring pages may wait for them.
 * 4. The lease is shortened. Its time begins anew here.
 * 5. Coverage grows. Every commit of the dataset waits for that row, so only the schema's version is asked for behind it.
 *
 * Statements that need no answer of each other are sent at once. So no lock is held while this process reads other pages
 * before it comes back to this one.
 *
 * Its twins write rows in the same way: `commit-response.ts` for what is not a stream of time, with a cursor instead of a
 * lease and coverage; `release` in `quarantine.ts` for one record, with neither.
 * @returns false if rows that were to be new turned out to be stored: those of the next page may be, too
 * @throws LeaseLostError if the range is no longer ours: nothing was written
 */
export async function commitPage(
  database: Database,
  partitions: Partitions,
  commit: PageCommit,
): Promise<boolean> {
  const { tables } = await readFloors(database);
  // Pages bring rows along that are older than what is kept: those of a trace that lasted long.
  const byTable = inOrder(commit.rows).map((rows) => {
    const floor = tables.get(rows.target.name);
    return floor === undefined ? rows : rows.split(formatTime(floor))[0];
  });
  await ensurePartitions(partitions, byTable);
  try {
    await writePage(database, byTable, commit);
    return commit.newAfter !== undefined;
  } catch (error) {
    if (!(error instanceof NotNewError)) throw await explain(database, commit, error);
    await writePage(database, byTable, { ...commit, newAfter: undefined });
    return false;
  }
}

/** Another process may have ended the session, which was copying for a lease that is no longer ours. */
async function explain(
  database: Database,
  { lease, newAfter }: PageCommit,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof DatabaseUnavailableError) || newAfter === undefined) return error;
  const isOurs = await prolongLease(database, lease).catch(() => true);
  return isOurs ? error : lost(lease, error);
}

function writePage(database: Database, byTable: readonly Lines[], commit: PageCommit): Promise<void> {
  const replaced = commit.replace && commit.done?.outcome === 'covered' ? commit.done.span : undefined;
  return writeTransaction(database, async (session) => {
    const isWhole = replaced !== undefined || commit.again !== undefined;
    const { direct, others } = divide(byTable, commit.newAfter, commit.lease);
    // What locks the lease is sent when all data is there: should this process freeze while it sends, it is not held.
    const [written, staged] = await answersOf([
      writeDirect(session, byTable, { direct, lease: commit.lease }),
      stageRows(session, others, { isWhole }),
    ]);
    const [, changed, , , isAnyQuarantined] = await answersOf([
      holdLease(session, commit.lease, commit.done?.span ?? lastSecond(commit.lease.span)),
      changedSeconds(session, staged, byTable, commit),
      logPages(session, commit),
      insertStaged(session, staged, { overwrite: commit.overwrite, replaced }),
      hasQuarantined(session, commit.lease.stream),
    ]);
    await unverify(session, written);
    await writeOddities(session, commit, isAnyQuarantined);
    await answersOf([
      shortenLease(session, commit.lease, commit.done?.span.to ?? commit.lease.span.from),
      commit.done === undefined ? Promise.resolve() : finish(session, commit, commit.done, changed),
    ]);
  });
}

/**
 * Copies new rows into their tables, all of which are locked first, in the one order.
 * @returns seconds that were verified
 */
async function writeDirect(
  session: Session,
  byTable: readonly Lines[],
  { direct, lease }: { readonly direct: readonly Lines[]; readonly lease: Lease },
): Promise<Changed[]> {
  if (direct.length === 0) return [];
  const written = direct.map((lines) => ({ target: lines.target, seconds: secondsOfLines(lines) }));
  const targets = byTable.map(({ target }) => target);
  const [, , checked] = await answersOf([
    lockTables(session, targets, 'shared'),
    noteWrites(session, written),
    checkedAmong(session, written),
    copyDirect(session, direct, lease),
  ]);
  return written
    .filter(({ target }) => checked.has(target.name))
    .map(({ target, seconds }) => ({ target, seconds: toMultirangeText(seconds) }));
}

function lastSecond({ to }: Range): Range {
  return { from: to - 1, to };
}

/**
 * The seconds from the first to the last one of which a second reading brings something else than what is stored, or
 * contradicts itself.
 */
async function changedSeconds(
  session: Session,
  staged: readonly Staged[],
  byTable: readonly Lines[],
  { again, done }: PageCommit,
): Promise<Range | undefined> {
  if (again === undefined || done?.outcome !== 'covered') return undefined;
  const brought = { span: done.span, scope: again.scope };
  const differing = await answersOf(staged.map(({ target }) => differingSeconds(session, target, brought)));
  const spans = union([...byTable.flatMap(({ contradictions }) => contradictions()), ...differing.flat()]);
  const [first, last] = [spans[0], spans.at(-1)];
  return first && last && { from: first.from, to: last.to };
}

async function finish(
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
  const detail = 'a second reading differs from what was stored; another one has to agree with it';
  await refuse(session, stream, changed, {
    reason: 'changed',
    detail,
    pauseSeconds: again?.pauseSeconds ?? 0,
  });
}

async function writeOddities(session: Session, commit: PageCommit, isAnyQuarantined: boolean): Promise<void> {
  const { lease, rejected, extras, ids, pages } = commit;
  const request = pages.at(-1)?.request ?? '';
  if (rejected.length > 0) await quarantineRecords(session, lease.stream, request, rejected);
  if (isAnyQuarantined || rejected.length > 0) await releaseRecords(session, lease.stream, ids);
  if (extras.length > 0) await countDrift(session, lease.stream.dataset, extras);
}

/** The last page completes what is done. */
async function logPages(session: OpenTransaction, { lease, pages, done }: PageCommit): Promise<void> {
  const asker = { ...lease.stream, worker: lease.owner };
  const completed = done?.outcome === 'covered' ? done.span : undefined;
  const last = pages.at(-1);
  await answersOf(pages.map((page) => logPage(session, asker, page, page === last ? completed : undefined)));
}
