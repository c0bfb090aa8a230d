import { parseCanonical } from '../../dataset/declaration/canonical.ts';
import { account } from '../../records/members/form.ts';
import { int64 } from '../../records/members/scalar.ts';
import * as z from 'zod';
import type { BackwardWalk, LookupWalk } from '../../dataset/walk.ts';
import { noteMoves } from '../../db/cursors/subjects.ts';
import { readWatched } from '../../db/cursors/watch-list.ts';
import type { WalkContext } from './walk-context.ts';

const Accounts = z.object({
  accounts: z.array(z.object({ address: account, last_transaction_lt: int64 })).nullable(),
});

/** Accounts that one probe asks for. */
const MOST = 500;

/**
 * Asks the index how far the watched accounts have moved: one request for many of them spares one for each that has not.
 */
export async function noteWatchedMoves(walkContext: WalkContext<LookupWalk | BackwardWalk>): Promise<void> {
  const { context, dataset, walk, network, priority, stop } = walkContext;
  const watched = (await readWatched(context.database)).map(({ address }) => address);
  for (let at = 0; at < watched.length; at += MOST) {
    await network.confirm();
    await walkContext.pace();
    const { value } = await context.api.get({
      path: '/api/v3/accountStates',
      params: {
        address: watched.slice(at, at + MOST),
        include_boc: false,
        x_no_address_book: true,
        x_no_metadata: true,
      },
      priority,
      signal: stop.leaving,
      parse: (body) => parseCanonical(Accounts, body).accounts ?? [],
    });
    const moves = value.flatMap(({ address, last_transaction_lt: lt }) =>
      lt == null ? [] : [{ key: address, lt }],
    );
    network.require();
    await noteMoves(context.database, { dataset: dataset.name, walk: walk.name }, moves);
  }
}
