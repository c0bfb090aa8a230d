import type { BocMaker } from '../network/chain/boc.ts';
import type { World } from '../network/chain/world.ts';
import { queryId } from './comment.ts';
import {
  customPayload,
  forwardAmount,
  FORWARDED,
  forwardPayload,
  jettonAmount,
  responseDestination,
} from './payload.ts';

interface CarrierJson {
  readonly query_id: string;
  readonly transaction_hash: string;
  readonly transaction_lt: string;
  readonly transaction_now: number;
  readonly transaction_aborted: boolean;
  readonly response_destination: string | null;
  readonly custom_payload: string | null;
  readonly decoded_custom_payload: object | null;
  readonly trace_id: string | null;
}

/** A jetton transfer as v3 prints it. */
export interface JettonTransferJson extends CarrierJson {
  readonly source: string;
  readonly destination: string;
  readonly amount: string;
  readonly source_wallet: string;
  readonly jetton_master: string;
  readonly forward_ton_amount: string | null;
  readonly forward_payload: string | null;
  readonly decoded_forward_payload: object | null;
}

/** A jetton burn as v3 prints it. */
export interface JettonBurnJson extends CarrierJson {
  readonly owner: string;
  readonly jetton_wallet: string;
  readonly jetton_master: string;
  readonly amount: string;
}

/** A transfer of an item as v3 prints it. */
export interface NftTransferJson extends CarrierJson {
  readonly nft_address: string;
  readonly nft_collection: string;
  readonly old_owner: string;
  readonly new_owner: string;
  readonly forward_amount: string | null;
  readonly forward_payload: string | null;
  readonly decoded_forward_payload: object | null;
}

/** Accounts that a token transaction names. */
export interface TokenPartiesJson {
  readonly from: number;
  readonly to: number;
  /** The jetton wallet, or the item. */
  readonly item: number;
  /** The jetton master, or the collection. */
  readonly group: number;
}

/** The parties of a transaction that received a jetton_transfer or jetton_burn message; a burn has one on both ends. */
export function jettonParties(world: World, row: number): TokenPartiesJson {
  const { accounts, transactions, messages } = world;
  const item = transactions.account.get(row);
  const from = accounts.jettonWalletOwner(item);
  const message = transactions.inMessage.get(row);
  const burns = messages.opOf(message) === 'jetton_burn';
  const to = burns ? from : messages.party.get(message);
  return { from, to, item, group: accounts.masterOf(item) };
}

/** The parties of a transaction that received an nft_transfer message. */
export function nftParties(world: World, row: number): TokenPartiesJson {
  const { accounts, transactions, messages } = world;
  const item = transactions.account.get(row);
  const from = messages.source.get(transactions.inMessage.get(row));
  return {
    from,
    to: messages.party.get(transactions.inMessage.get(row)),
    item,
    group: accounts.collection(item),
  };
}

function carrier(world: World, bocs: BocMaker, row: number): CarrierJson {
  const { transactions, accounts, traces } = world;
  const hashes = world.hashes('transaction');
  const message = transactions.inMessage.get(row);
  const trace = transactions.trace.get(row);
  const response = responseDestination(world, message);
  const custom = customPayload(bocs, message);
  return {
    query_id: queryId(trace),
    transaction_hash: hashes.text(row),
    transaction_lt: String(transactions.lt.get(row)),
    transaction_now: world.utimeOf(row),
    transaction_aborted: transactions.kindOf(row) !== 'ok',
    response_destination: response === undefined ? null : accounts.address(response),
    custom_payload: custom.body,
    decoded_custom_payload: custom.decoded,
    trace_id: hashes.text(traces.root.get(trace)),
  };
}

export function jettonTransferJson(world: World, bocs: BocMaker, row: number): JettonTransferJson {
  const { accounts, transactions } = world;
  const { from, to, item, group } = jettonParties(world, row);
  const { body, decoded } = forwardPayload(world, bocs, transactions.inMessage.get(row));
  return {
    ...carrier(world, bocs, row),
    source: accounts.address(from),
    destination: accounts.address(to),
    amount: jettonAmount(world, transactions.inMessage.get(row), group),
    source_wallet: accounts.address(item),
    jetton_master: accounts.address(group),
    forward_ton_amount: FORWARDED,
    forward_payload: body,
    decoded_forward_payload: decoded,
  };
}

export function jettonBurnJson(world: World, bocs: BocMaker, row: number): JettonBurnJson {
  const { accounts, transactions } = world;
  const { from, item, group } = jettonParties(world, row);
  return {
    ...carrier(world, bocs, row),
    owner: accounts.address(from),
    jetton_wallet: accounts.address(item),
    jetton_master: accounts.address(group),
    amount: jettonAmount(world, transactions.inMessage.get(row), group),
  };
}

export function nftTransferJson(world: World, bocs: BocMaker, row: number): NftTransferJson {
  const { accounts, transactions } = world;
  const { from, to, item, group } = nftParties(world, row);
  const { body, decoded } = forwardPayload(world, bocs, transactions.inMessage.get(row));
  return {
    ...carrier(world, bocs, row),
    nft_address: accounts.address(item),
    // The column is joined: where it is null, the server prints an empty text.
    nft_collection: accounts.hasCollection(item) ? accounts.address(group) : '',
    old_owner: accounts.address(from),
    new_owner: accounts.address(to),
    forward_amount: forwardAmount(world, transactions.inMessage.get(row)),
    forward_payload: body,
    decoded_forward_payload: decoded,
  };
}
