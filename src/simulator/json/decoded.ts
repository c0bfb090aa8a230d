import { NONE } from '../network/chain/tables/block-table.ts';
import type { World } from '../network/chain/world.ts';
import { comment, queryId } from './comment.ts';
import { jettonDestination, otherParty } from '../network/chain/jetton-parties.ts';
import { FORWARDED, jettonAmount, responseDestination } from './payload.ts';

function varUint(value: string): object {
  const bytes = Math.ceil(BigInt(value).toString(16).length / 2);
  return { '@type': 'var_uint', len: String(bytes), value };
}

function address(world: World, account: number): object {
  const raw = world.accounts.address(account);
  return {
    '@type': 'addr_std',
    anycast: { '@type': 'nothing_from_maybe' },
    workchain_id: raw.slice(0, raw.indexOf(':')),
    address: raw.slice(raw.indexOf(':') + 1),
  };
}

function responseAddress(world: World, message: number): object {
  const account = responseDestination(world, message);
  return account === undefined ? { '@type': 'addr_none' } : address(world, account);
}

/**
 * A body as the server's decoder prints it: an object for the messages that it knows, null for the others.
 * Numbers are strings, as they are there.
 */
export function decodedBody(world: World, message: number): object | null {
  const { messages, traces } = world;
  const trace = messages.trace.get(message);
  const op = messages.opOf(message);
  const common = { '@type': op, query_id: queryId(trace) };
  const amount = (): object => varUint(jettonAmount(world, trace, jettonSender(world, message)));
  switch (op) {
    case 'text_comment':
      return { '@type': 'text_comment', comment: comment(message), type: 'text_comment' };
    case 'jetton_transfer':
      return {
        ...common,
        amount: amount(),
        destination: address(world, jettonDestination(world, message)),
        response_destination: responseAddress(world, message),
        custom_payload: { '@type': 'nothing_from_maybe' },
        forward_ton_amount: varUint(FORWARDED),
      };
    case 'jetton_internal_transfer':
    case 'jetton_notify':
      return { ...common, amount: amount(), sender: address(world, jettonSender(world, message)) };
    case 'excess':
      return common;
    case 'nft_ownership_assigned':
      return { ...common, prev_owner: address(world, traces.actor.get(trace)) };
    default:
      return null;
  }
}

/** Whose jettons a message of a transfer moves. */
function jettonSender(world: World, message: number): number {
  const { messages, accounts, traces } = world;
  const source = messages.source.get(message);
  switch (messages.opOf(message)) {
    case 'jetton_transfer':
      return source;
    case 'jetton_notify':
      return otherParty(world, messages.trace.get(message), messages.destination.get(message));
    default:
      return accounts.role(source) === 'jetton_wallet'
        ? accounts.jettonWalletOwner(source)
        : traces.actor.get(messages.trace.get(message));
  }
}

/** The decoder's name for an opcode. */
export function decodedOpcode(world: World, message: number): string | null {
  if (world.messages.outTransaction.get(message) === NONE) return null;
  const op = world.messages.opOf(message);
  return ['empty', 'call', 'log', 'bounced', 'deploy', 'nft_mint'].includes(op) ? null : op;
}
