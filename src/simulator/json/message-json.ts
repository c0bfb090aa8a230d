import { EMPTY_BOC, type BocMaker } from '../network/chain/boc.ts';
import { NONE } from '../network/chain/tables/block-table.ts';
import { MESSAGE, SYSTEM, type Op } from '../network/chain/tables/message-table.ts';
import { SYSTEM_ADDRESS } from '../network/chain/tables/accounts.ts';
import type { World } from '../network/chain/world.ts';
import { mix32 } from '../random.ts';
import { extraCurrencies } from './account-state-json.ts';
import { queryId, textOf } from './comment.ts';
import { poolAt, type Dex } from '../network/chain/exchanges.ts';
import { address, FORWARDED, jettonAmount, responseDestination, varUint } from './payload.ts';

export interface MessageContentJson {
  readonly hash: string;
  readonly body: string;
  readonly decoded: object | null;
}

/** A message as v3 prints it; the two transaction hashes stand only in /messages. */
export interface MessageJson {
  readonly hash: string;
  readonly source: string | null;
  readonly destination: string | null;
  readonly value: string | null;
  readonly value_extra_currencies: Readonly<Record<string, string>> | null;
  readonly fwd_fee: string | null;
  readonly ihr_fee: string | null;
  readonly extra_flags: string | null;
  readonly created_lt: string | null;
  readonly created_at: string | null;
  readonly opcode: string | null;
  readonly decoded_opcode: string | null;
  readonly ihr_disabled: boolean | null;
  readonly bounce: boolean | null;
  readonly bounced: boolean | null;
  readonly import_fee: string | null;
  readonly in_msg_tx_hash?: string;
  readonly out_msg_tx_hash?: string;
  readonly message_content: MessageContentJson;
  readonly init_state: MessageContentJson | null;
  readonly hash_norm?: string;
}

const OPCODES: Readonly<Partial<Record<Op, number>>> = {
  text_comment: 0,
  encrypted_comment: 0x2167da4b,
  jetton_transfer: 0x0f8a7ea5,
  jetton_internal_transfer: 0x178d4519,
  jetton_notify: 0x7362d09c,
  excess: 0xd53276db,
  jetton_burn: 0x595f07bc,
  jetton_burn_notification: 0x7bdd97de,
  nft_transfer: 0x5fcc3d14,
  nft_ownership_assigned: 0x05138d91,
  jetton_mint: 0x00000015,
  nft_mint: 0x00000001,
  bounced: 0xffffffff,
  deploy: 0x9c610de3,
  dex_deposit: 0xd55e4686,
  dex_withdraw: 0xd73ac09d,
  dex_payout: 0x474f86cf,
  nft_sale: 0x00000001,
  nft_outbid: 0x557cea20,
  nft_update: 0x6c6c2080,
  nft_cancel: 0x00000003,
  change_dns: 0x4eb1f0f9,
  fill_up: 0x370fec51,
  tele_start: 0x487a8e81,
  tele_cancel: 0x371638ae,
  tele_ok: 0xa37a0983,
};

/** Orders to swap, by the exchange; DeDust has another one between two pools. */
const SWAPS: Readonly<Record<Dex, number>> = {
  dedust: 0x61ee542d,
  stonfi: 0x25938561,
  stonfi_v2: 0x6664de2a,
  tonco: 0xa7fb58f8,
};
const SWAP_ON = 0x72aca8aa;

/** Bytes of body data, so that pages weigh what real ones do. */
const SIZES: Readonly<Partial<Record<Op, number>>> = {
  wallet_signed: 390,
  jetton_transfer: 330,
  jetton_internal_transfer: 300,
  jetton_notify: 260,
  jetton_mint: 230,
  nft_mint: 260,
  call: 520,
  log: 340,
  text_comment: 60,
  encrypted_comment: 220,
  system: 60,
};

/** Messages that bring coins and say nothing. */
const EMPTY: ReadonlySet<Op> = new Set<Op>(['empty', 'nft_buy', 'nft_bid', 'nft_payout']);

const EMPTY_BODY: MessageContentJson = {
  hash: 'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=',
  body: EMPTY_BOC,
  decoded: null,
};

/** A message's opcode; calls have one of a few, signed messages begin with a signature. */
export function opcodeOf(world: World, message: number): number | undefined {
  const op = world.messages.opOf(message);
  if (op === 'system' || EMPTY.has(op)) return undefined;
  if (textOf(world, message) !== undefined) return 0;
  if (op === 'wallet_signed') return mix32(message);
  if (op === 'call') return mix32((world.messages.destination.get(message) % 13) + 1000);
  if (op === 'log') return mix32((world.messages.source.get(message) % 7) + 2000);
  if (op === 'dex_swap') return swapOpcode(world, message);
  return OPCODES[op];
}

function swapOpcode({ accounts, messages, traces }: World, message: number): number {
  const { dex } = poolAt(accounts, messages.destination.get(message));
  const isFirst = traces.partner.get(messages.trace.get(message)) === messages.destination.get(message);
  return isFirst || dex !== 'dedust' ? SWAPS[dex] : SWAP_ON;
}

/** `0x` and eight lower-case digits. */
export function opcodeText(opcode: number | undefined): string | null {
  return opcode === undefined ? null : `0x${opcode.toString(16).padStart(8, '0')}`;
}

/** The hash of a message's body; empty bodies share one. */
export function bodyHash(world: World, message: number): string {
  return EMPTY.has(world.messages.opOf(message)) ? EMPTY_BODY.hash : world.hashes('body').text(message);
}

function content(world: World, bocs: BocMaker, message: number): MessageContentJson {
  const op = world.messages.opOf(message);
  if (EMPTY.has(op)) return EMPTY_BODY;
  const size = (SIZES[op] ?? 120) + (mix32(message + 3) % 40);
  const body = bocs.make(message, size, opcodeOf(world, message));
  return { hash: bodyHash(world, message), body, decoded: decodedBody(world, message) };
}

function initState(world: World, bocs: BocMaker, message: number): MessageContentJson | null {
  const { messages } = world;
  if (!messages.has(message, MESSAGE.initState)) return null;
  const destination = messages.destination.get(message);
  return { hash: world.hashes('init').text(destination), body: bocs.make(destination, 560), decoded: null };
}

function party(world: World, account: number): string | null {
  if (account === SYSTEM) return SYSTEM_ADDRESS;
  return account < 0 ? null : world.accounts.address(account);
}

const NO_MONEY = {
  value: null,
  value_extra_currencies: null,
  fwd_fee: null,
  ihr_fee: null,
  extra_flags: null,
} as const;

function money({ messages }: World, message: number) {
  return {
    value: String(messages.value.get(message)),
    value_extra_currencies: extraCurrencies(messages.extra.get(message)),
    fwd_fee: String(messages.fwdFee.get(message)),
    ihr_fee: '0',
    extra_flags: '0',
  };
}

const NO_DELIVERY = { ihr_disabled: null, bounce: null, bounced: null } as const;

function delivery({ messages }: World, message: number) {
  return {
    ihr_disabled: true,
    bounce: messages.has(message, MESSAGE.bounce),
    bounced: messages.opOf(message) === 'bounced',
  };
}

/** A message of the network as it stands inside its transactions: the same object on both sides. */
export function messageJson(world: World, bocs: BocMaker, message: number): MessageJson {
  const { messages } = world;
  const externalIn = messages.isExternalIn(message);
  const internal = !externalIn && !messages.isExternalOut(message);
  const hash = world.hashes('message').text(message);
  return {
    hash,
    source: party(world, messages.source.get(message)),
    destination: party(world, messages.destination.get(message)),
    ...(internal ? money(world, message) : NO_MONEY),
    created_lt: externalIn ? null : String(messages.createdLt.get(message)),
    created_at: externalIn ? null : String(messages.createdAt.get(message)),
    opcode: opcodeText(opcodeOf(world, message)),
    decoded_opcode: decodedOpcode(world, message),
    ...(internal ? delivery(world, message) : NO_DELIVERY),
    import_fee: externalIn ? '0' : null,
    message_content: content(world, bocs, message),
    init_state: initState(world, bocs, message),
    ...(externalIn ? { hash_norm: world.hashes('norm').text(message) } : {}),
  };
}

/** A message as /messages prints it: with the transactions on the sides that are asked for and visible. */
export function messageRowJson(
  world: World,
  bocs: BocMaker,
  message: number,
  sides: { readonly in: boolean; readonly out: boolean },
): MessageJson {
  const receiver = world.messages.inTransaction.get(message);
  const sender = world.messages.outTransaction.get(message);
  const hashes = world.hashes('transaction');
  return {
    ...messageJson(world, bocs, message),
    ...(sides.in && receiver !== NONE ? { in_msg_tx_hash: hashes.text(receiver) } : {}),
    ...(sides.out && sender !== NONE ? { out_msg_tx_hash: hashes.text(sender) } : {}),
  };
}

function responseAddress(world: World, message: number): object {
  return address(world, responseDestination(world, message) ?? NONE);
}

/**
 * A body as the server's decoder prints it: an object for the messages that it knows, null for the others.
 * Numbers are strings, as they are there.
 */
function decodedBody(world: World, message: number): object | null {
  const { messages } = world;
  const trace = messages.trace.get(message);
  const op = messages.opOf(message);
  const common = { '@type': op, query_id: queryId(trace) };
  const amount = (): object => varUint(jettonAmount(world, message, masterMoved(world, message)));
  const party = (): object => address(world, messages.party.get(message));
  const text = textOf(world, message);
  if (text !== undefined) return { '@type': 'text_comment', comment: text, type: 'text_comment' };
  switch (op) {
    case 'jetton_transfer':
      return {
        ...common,
        amount: amount(),
        destination: party(),
        response_destination: responseAddress(world, message),
        custom_payload: { '@type': 'nothing_from_maybe' },
        forward_ton_amount: varUint(FORWARDED),
      };
    case 'jetton_internal_transfer':
    case 'jetton_notify':
      return { ...common, amount: amount(), sender: party() };
    case 'excess':
      return common;
    case 'nft_ownership_assigned':
      return { ...common, prev_owner: party() };
    default:
      return null;
  }
}

/** The master of the jettons that a message moves: one of its ends is a jetton wallet. */
function masterMoved({ messages, accounts }: World, message: number): number {
  const [source, destination] = [messages.source.get(message), messages.destination.get(message)];
  return accounts.masterOf(accounts.role(destination) === 'jetton_wallet' ? destination : source);
}

const UNKNOWN: ReadonlySet<Op> = new Set<Op>([
  ...(['empty', 'call', 'log', 'bounced', 'deploy', 'nft_mint'] as const),
  ...(['dex_swap', 'dex_deposit', 'dex_withdraw', 'dex_payout'] as const),
  ...(['nft_sale', 'nft_buy', 'nft_bid', 'nft_outbid', 'nft_payout', 'nft_update', 'nft_cancel'] as const),
  ...(['change_dns', 'fill_up', 'tele_start', 'tele_cancel', 'tele_ok'] as const),
]);

/** The decoder's name for an opcode. */
function decodedOpcode(world: World, message: number): string | null {
  if (world.messages.outTransaction.get(message) === NONE) return null;
  const op = world.messages.opOf(message);
  if (textOf(world, message) !== undefined) return 'text_comment';
  return UNKNOWN.has(op) ? null : op;
}
