import { parseCanonical } from '../../dataset/declaration/canonical.ts';
import { account } from '../../records/members/form.ts';
import { int64 } from '../../records/members/scalar.ts';
import * as z from 'zod';
import type { BackwardWalk, LookupWalk } from '../../dataset/walk.ts';
import { ApiTimeoutError } from '../../errors.ts';
import { noteMoves } from '../../ledger/subjects.ts';
import { readWatched } from '../../ledger/stored-watch-list.ts';
import { nameOf, type WalkContext } from './walk-context.ts';

const AccountMove = z.object({ address: account, last_transaction_lt: int64 });
type AccountMove = z.infer<typeof AccountMove>;
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
async function askStates(walkContext: ProbingWalk, address: readonly string[]): Promise<AccountMove[]> {
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
