import { queryId } from '../../json/comment.ts';
import {
  customPayload,
  FORWARDED,
  forwardPayload,
  jettonAmount,
  responseDestination,
} from '../../json/payload.ts';
import { jettonParties } from '../../json/token-json.ts';
import { wasTaken } from '../chain/exchanges.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';
import { succeeded, type NetworkAction, type Leg } from './made-action.ts';

/** The transfers of jettons that a leg is made of: parts of an action that has the type of their ancestor, if any. */
export function jettonTransfers(leg: Leg, ancestors: readonly string[] = []): NetworkAction[] {
  return leg.transactions
    .filter((row) => receivedOp(leg.world, row) === 'jetton_transfer')
    .map((row) => transfer(leg, row, ancestors));
}

function receivedOp(world: World, row: number): string {
  const message = world.transactions.inMessage.get(row);
  return message === NONE ? '' : world.messages.opOf(message);
}

function transfer(leg: Leg, row: number, ancestors: readonly string[]): NetworkAction {
  return {
    type: 'jetton_transfer',
    ancestors,
    transactions:
      ancestors.length === 0 ? leg.transactions : leg.transactions.filter((other) => other >= row),
    success: leg.world.transactions.kindOf(row) === 'ok' && wasTaken(leg.world, row),
    details: () => transferDetails(leg, row),
  };
}

function transferDetails({ world, bocs, trace }: Leg, row: number): object {
  const { accounts } = world;
  const { from, to, item, group } = jettonParties(world, row);
  const message = world.transactions.inMessage.get(row);
  const { body, text } = forwardPayload(world, bocs, message);
  return {
    asset: accounts.address(group),
    sender: accounts.address(from),
    receiver: accounts.address(to),
    sender_jetton_wallet: accounts.address(item),
    receiver_jetton_wallet: accounts.address(accounts.jettonWallet(to, accounts.jettonSlot(item))),
    amount: jettonAmount(world, message, group),
    comment: text,
    is_encrypted_comment: text === null ? null : false,
    query_id: queryId(trace),
    response_destination: addressOrNull(world, responseDestination(world, message)),
    custom_payload: customPayload(bocs, message).body,
    forward_payload: body,
    forward_amount: FORWARDED,
  };
}

function addressOrNull(world: World, account: number | undefined): string | null {
  return account === undefined ? null : world.accounts.address(account);
}

export function jettonBurn(leg: Leg): NetworkAction[] {
  return [simple(leg, 'jetton_burn', jettonBurnDetails)];
}

function jettonBurnDetails({ world, message, receiver }: Leg): object {
  const { accounts } = world;
  const { from, item, group } = jettonParties(world, receiver);
  return {
    owner: accounts.address(from),
    owner_jetton_wallet: accounts.address(item),
    asset: accounts.address(group),
    amount: jettonAmount(world, message, group),
  };
}

/** A mint, or a deposit with a pool that mints its own jetton: of that the mint is a hidden part. */
export function jettonMint(leg: Leg): NetworkAction[] {
  const made = simple(leg, 'jetton_mint', jettonMintDetails);
  const mint = { ...made, success: succeeded(leg) && wasTaken(leg.world, leg.receiver) };
  const isDeposit = mix32(leg.trace + 7) % 5 === 0;
  return isDeposit
    ? [simple(leg, 'stake_deposit', depositDetails), { ...mint, ancestors: ['stake_deposit'] }]
    : [mint];
}

function depositDetails({ world, message }: Leg): object {
  const { accounts, messages } = world;
  const master = messages.destination.get(message);
  const pool = accounts.address(master);
  return {
    provider: 'liquid_staking',
    stake_holder: accounts.address(messages.source.get(message)),
    pool,
    amount: String(messages.value.get(message)),
    tokens_minted: jettonAmount(world, message, master),
    asset: pool,
  };
}

function jettonMintDetails({ world, trace, message }: Leg): object {
  const { accounts, messages, traces } = world;
  const receiver = traces.partner.get(trace);
  const master = messages.destination.get(message);
  return {
    asset: accounts.address(master),
    receiver: accounts.address(receiver),
    receiver_jetton_wallet: accounts.address(accounts.jettonWallet(receiver, traces.slot.get(trace))),
    amount: jettonAmount(world, message, master),
    ton_amount: String(messages.value.get(message)),
  };
}

/** An action of a leg as a whole. */
export function simple(leg: Leg, type: string, details: (leg: Leg) => object): NetworkAction {
  return {
    type,
    ancestors: [],
    transactions: leg.transactions,
    success: succeeded(leg),
    details: () => details(leg),
  };
}
