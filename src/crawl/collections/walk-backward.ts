import * as z from 'zod';
import type { BackwardWalk, LookupWalk } from '../../dataset/collection.ts';
import { claimCursor, releaseClaim } from '../../ledger/stored-cursors.ts';
import { gatherSubjects, readDueSubjects, noteMoves, readWatched } from '../../ledger/subjects.ts';
import { newestFirst, type BackwardCursor } from '../../dataset/paginators/backward.ts';
import { mayConcernPage, EtlError, type NotServedError, ApiTimeoutError } from '../../errors.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import {
  ask,
  type WalkResponse,
  readResponseRecords,
  writeResponse,
  createRenewal,
  isOver,
  type WalkContext,
  type WalkEnd,
  nameOf,
  notServed,
} from './walk-context.ts';
import { parseCanonical } from '../../dataset/declaration/record.ts';
import { account, int64 } from '../../records/members.ts';

/** The walk is postponed after this many consecutive accounts that the server does not serve. */
const MOST_IN_ROW = 3;
const LEAST_SIZE = 2;

/** Watched accounts only: no tables to gather from. */
const WATCHED = { watched: true, seenIn: [] };
const MANY = 100;

/**
 * Pages of one account before it is the next account's turn. A long history does not delay the newest
 * transactions of other accounts.
 */
const PAGES_A_TURN = 10;

/** Reads, in turns, the history of every watched account that has moved or whose older part is still missing. */
export async function walkBackward(walkContext: WalkContext<BackwardWalk>): Promise<WalkEnd> {
  const { context, dataset, walk, turns } = walkContext;
  const name = { dataset: dataset.name, walk: walk.name, onlyWatched: true, limit: MANY };
  const gathering = { ...name, subjects: WATCHED, seen: false, range: undefined, since: undefined };
  const unserved = walkContext.priority === 'backfill';
  const lookForMore = async () => {
    const gathered = await turns.gather(() => gatherSubjects(context.database, gathering));
    await noteWatchedMoves(walkContext);
    return gathered;
  };
  const isRenewed = createRenewal(walkContext);
  let before = await lookForMore();
  let failure: NotServedError | undefined;
  let inRow = 0;
  // Pages, and accounts that other workers hold, since the last start of the order of accounts.
  let [after, pages, held] = ['', 0, 0];
  while (!isOver(walkContext)) {
    if (isRenewed()) before = await lookForMore();
    const due = await readDueSubjects(context.database, { ...name, before, unserved, after });
    for (const { key } of due.subjects) {
      if (isOver(walkContext)) return failure;
      try {
        const read = await readAccount(walkContext, key);
        [pages, held] = [pages + read.pages, held + read.held];
        inRow = 0;
        // Renews the claim on the walk while a long history is read.
        await walkContext.keep({});
      } catch (error) {
        inRow += 1;
        // If no account is served, the endpoint fails and not one history.
        if (!mayConcernPage(error) || inRow === MOST_IN_ROW) throw error;
        const what = `the history of ${key} is not served from some row on`;
        failure = notServed(what, error, 'The rows before it are stored; the rest');
        await walkContext.keep({}, { unserved: { walk: walk.name, subjects: [key] } });
      }
    }
    const isAround = due.after === '';
    if (isAround && pages === 0) break;
    if (isAround) [pages, held] = [0, 0];
    after = due.after;
  }
  await walkContext.keep({});
  return failure ?? heldOrRead(held);
}

function heldOrRead(held: number): WalkEnd {
  return held > 0 ? 'held' : undefined;
}

/** Reads a few pages of an account. Returns their number, and `held` of 1 if another worker reads the account. */
async function readAccount(
  walkContext: WalkContext<BackwardWalk>,
  account: string,
): Promise<{ readonly pages: number; readonly held: number }> {
  const { context, dataset, walk, owner } = walkContext;
  const claim = { dataset: dataset.name, scope: `${walk.name}:${account}`, owner };
  const claimed = await claimCursor(context.database, claim);
  if (claimed === undefined) return { pages: 0, held: 1 };
  try {
    const cursor = newestFirst.start(claimed.cursor);
    return { pages: await readHistory({ ...walkContext, claim }, account, cursor), held: 0 };
  } finally {
    await releaseClaim(context.database, claim).catch(() => undefined);
  }
}

async function readHistory(
  walkContext: WalkContext<BackwardWalk>,
  account: string,
  start: BackwardCursor,
): Promise<number> {
  const { walk } = walkContext;
  // A head that was left half-read is finished first. What came after it is the next head.
  let [cursor, heads] = [start, start.at === null ? 1 : 2];
  let size = newestFirst.maxSize;
  for (let pages = 0; ;) {
    const phase = newestFirst.phase(cursor, heads === 0);
    if (phase === undefined || pages === PAGES_A_TURN || isOver(walkContext)) return pages;
    const request = newestFirst.request(cursor, phase, size);
    const response = await askWithin(
      walkContext,
      { address: account, ...request },
      size < newestFirst.maxSize,
    );
    if (response instanceof EtlError) {
      // The first row of this page is already stored, so a smaller page would bring nothing.
      if (size <= LEAST_SIZE) throw response;
      size = Math.max(LEAST_SIZE, Math.floor(size / 2));
      continue;
    }
    const positions = response.value.records.flatMap((raw) => walk.positionOf(raw) ?? []);
    const step = newestFirst.next(cursor, phase, positions, request.limit);
    if (phase === 'head' && step.done) heads -= 1;
    cursor = step.cursor;
    const reading = readResponseRecords(walkContext, response, account);
    const isLast = newestFirst.phase(cursor, heads === 0) === undefined;
    const found = [{ key: account, lt: cursor.newest?.lt }];
    await writeResponse(walkContext, {
      response,
      reading,
      cursor,
      ...(isLast && {
        outcomes: { walk: walk.name, asked: [account], found, refresh: undefined, unknownFor: 0 },
      }),
    });
    pages += 1;
  }
}

/** A page, or the error if the server does not serve one of this size. A smaller page may still pass. */
async function askWithin(
  walkContext: WalkContext<BackwardWalk>,
  params: Params,
  isDoubted: boolean,
): Promise<WalkResponse | EtlError> {
  try {
    return await ask(walkContext, params, { attemptsInDoubt: isDoubted ? ATTEMPTS_IN_DOUBT : undefined });
  } catch (error) {
    if (mayConcernPage(error)) return error;
    throw error;
  }
}

const AccountMove = z.object({ address: account, last_transaction_lt: int64 });
const Accounts = z.object({ accounts: z.array(AccountMove).nullable() });

type ProbingWalk = WalkContext<LookupWalk | BackwardWalk>;

/** Maximum number of accounts in one request. */
const MOST = 500;

/**
 * Asks the index how far the watched accounts have moved. One request for many accounts saves a request for
 * each account that has not moved.
 */
export async function noteWatchedMoves(walkContext: ProbingWalk): Promise<void> {
  const { context, dataset, walk, network } = walkContext;
  const watched = (await readWatched(context.database)).map(({ address }) => address);
  for (let at = 0; at < watched.length; at += MOST) {
    const states = await askStates(walkContext, watched.slice(at, at + MOST));
    const moves = states.flatMap(({ address, last_transaction_lt: lt }) =>
      lt == null ? [] : [{ key: address, lt }],
    );
    await network.confirm();
    await noteMoves(context.database, { dataset: dataset.name, walk: walk.name }, moves);
  }
}

/**
 * Requests account states. If the list is too long for a gateway, or too slow for the server, it asks for each half.
 */
async function askStates(
  walkContext: ProbingWalk,
  address: readonly string[],
): Promise<z.infer<typeof AccountMove>[]> {
  const { context, priority, stop, turns } = walkContext;
  const request = {
    path: '/api/v3/accountStates',
    params: { address, include_boc: false, x_no_address_book: true, x_no_metadata: true },
    priority,
    signal: stop.leaving,
    parse: (body: unknown) => parseCanonical(Accounts, body).accounts ?? [],
  };
  try {
    return (await turns.ask(nameOf(walkContext), () => context.api.get(request))).value;
  } catch (error) {
    if (!(error instanceof ApiTimeoutError) || address.length === 1) throw error;
    const half = Math.ceil(address.length / 2);
    const first = await askStates(walkContext, address.slice(0, half));
    return [...first, ...(await askStates(walkContext, address.slice(half)))];
  }
}
