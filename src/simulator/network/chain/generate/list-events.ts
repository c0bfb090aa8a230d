import { ELECTOR } from '../tables/accounts.ts';
import { NONE } from '../tables/block-table.ts';
import type { Family } from '../tables/family.ts';
import type { Op } from '../tables/message-table.ts';
import type { Draft } from '../tables/transaction-table.ts';
import type { World } from '../world.ts';

/** Lists the finished drafts of a round, sorted by (lt, account), with their families. */
export function listEvents(world: World, drafts: readonly Draft[]): void {
  const found = new Map<Family, number[]>();
  for (const draft of drafts) {
    const family = familyOf(world, draft);
    if (family === undefined) continue;
    const rows = found.get(family);
    if (rows === undefined) found.set(family, [draft.row]);
    else rows.push(draft.row);
  }
  for (const [family, rows] of found) world.events[family].append(rows, (row) => world.utimeOf(row));
}

/**
 * The family of a transaction, if it has one. Jetton transfers that failed are listed nowhere, burns and item transfers
 * that failed are: the real index does it so.
 */
function familyOf(world: World, draft: Draft): Family | undefined {
  const { account, inMessage, kind } = draft;
  if (inMessage === NONE) return isElectorTick(draft) ? 'validator_events' : undefined;
  const family = FAMILY_OF[world.messages.opOf(inMessage)];
  const threw = kind === 'failed' || kind === 'action_failed';
  if (family === 'pool_events' && !world.isPool(account)) return undefined;
  const listed = kind === 'ok' || (threw && (family === 'jetton_burns' || family === 'nft_transfers'));
  return listed ? family : undefined;
}

function isElectorTick({ account, kind }: Draft): boolean {
  return account === ELECTOR && (kind === 'tick' || kind === 'tock');
}

const FAMILY_OF: Readonly<Partial<Record<Op, Family>>> = {
  jetton_transfer: 'jetton_transfers',
  jetton_burn: 'jetton_burns',
  nft_transfer: 'nft_transfers',
  call: 'pool_events',
};
