import type { Random } from '../../../random.ts';
import { MESSAGE, type Op } from '../tables/message-table.ts';
import type { Draft, Kind } from '../tables/transaction-table.ts';
import type { World } from '../world.ts';

/** Below this value a contract has no gas to run on. */
const LEAST_FOR_GAS = 1_000_000;

/** How often the receiver's code throws. */
const FAILURES: Readonly<Partial<Record<Op, number>>> = {
  call: 0.12,
  jetton_transfer: 0.02,
  nft_transfer: 0.02,
  jetton_burn: 0.01,
};

function failureRate({ options }: World, op: Op): number {
  return op === 'jetton_internal_transfer' ? options.refusals : (FAILURES[op] ?? 0);
}

/** Decides how an account processes the message that it has received. */
export function outcomeOf(world: World, random: Random, draft: Draft, message: number): Kind {
  const { messages } = world;
  const op = messages.opOf(message);
  if (draft.statusBefore !== 'active') return messages.has(message, MESSAGE.initState) ? 'ok' : 'no_state';
  if (messages.value.get(message) < LEAST_FOR_GAS) return 'no_state';
  if (messages.has(message, MESSAGE.sure)) return 'ok';
  if (canFreeze(world, draft.account, op) && random.chance(0.0004)) return 'frozen';
  if (op === 'call' && random.chance(0.02)) return 'action_failed';
  return random.chance(failureRate(world, op)) ? 'failed' : 'ok';
}

/** Wallets that are sent plain money may turn out to be frozen. */
function canFreeze({ accounts }: World, account: number, op: Op): boolean {
  if (op !== 'empty' && op !== 'text_comment') return false;
  return accounts.role(account) === 'wallet' && !accounts.isExchange(account);
}
