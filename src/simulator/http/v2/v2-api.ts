import * as z from 'zod';
import { jsonResponse, type HttpResponse } from '../response.ts';
import type { BocMaker } from '../../network/chain/boc.ts';
import { NONE } from '../../network/chain/tables/block-table.ts';
import type { World } from '../../network/chain/world.ts';
import { accountStateJson } from '../../json/account-state-json.ts';
import { messageJson } from '../../json/message-json.ts';
import type { View } from '../../network-view.ts';
import { Query } from '../simulator-query.ts';
import { ServedError } from '../served-error.ts';
import { friendlyAddress } from '../../json/address-json.ts';
import { MESSAGE } from '../../network/chain/tables/message-table.ts';
import { ZERO_HASH } from '../../network/chain/tables/hash-space.ts';
import { blockId } from '../../json/block-json.ts';
import { comment } from '../../json/comment.ts';

/** What v2 reads from: only generated networks have it. */
export interface NodeSource {
  readonly world: World;
  readonly bocs: BocMaker;
  /** Blocks that a masterchain block registered, and the shards' tops, as rows. */
  readonly registeredIn: (seqno: number) => readonly number[];
  readonly topsOf: (seqno: number) => readonly number[];
  /** Rows of an account's transactions, ascending by lt. */
  readonly ofAccount: (address: string) => readonly number[];
  readonly sees: (view: View, row: number) => boolean;
}

interface MethodCall {
  readonly node: NodeSource;
  readonly view: View;
  readonly query: Query;
}

type Method = (call: MethodCall) => object;

/** Seconds of history that regular nodes keep; more only with `archival`. */
const KEPT = 2 * 86_400;
const MOST = 1000;

const METHODS: Readonly<Record<string, Method>> = {
  getMasterchainInfo: masterchainInfo,
  shards,
  getShards: shards,
  getTransactions: transactions,
  tryLocateTx: locate,
  tryLocateResultTx: locate,
  getExtendedAddressInformation: addressInformation,
  getShardBlockProof: proof,
};

const JsonRpc = z.object({ method: z.string(), params: z.record(z.string(), z.unknown()).optional() });
const PATH = '/api/v2/';

/** True for what v2 answers. */
export function isV2(path: string): boolean {
  return path.startsWith(PATH);
}

/**
 * Answers a v2 method, over GET or through POST jsonRPC, which gives the inner body and status as they are: no `jsonrpc`,
 * no `id`. `node` undefined: nothing is known of accounts and blocks.
 */
export function answerV2(
  request: {
    readonly method: string;
    readonly path: string;
    readonly search: URLSearchParams;
    readonly body: string;
  },
  node: NodeSource | undefined,
  view: View,
): HttpResponse {
  try {
    const { name, query } = readCall(request);
    const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
    if (method === undefined || node === undefined) throw new ServedError(404, 'method not found');
    return jsonResponse(
      200,
      JSON.stringify({ ok: true, result: method({ node, view, query }), '@extra': EXTRA }),
    );
  } catch (error) {
    if (!(error instanceof ServedError)) throw error;
    const { status, message } = error;
    return jsonResponse(status, JSON.stringify({ ok: false, error: message, code: status, '@extra': EXTRA }));
  }
}

const EXTRA = '1760000000.0000000:0:0.5';

function readCall(request: Parameters<typeof answerV2>[0]): { name: string; query: Query } {
  const name = request.path.slice(PATH.length);
  if (name !== 'jsonRPC') {
    if (request.method !== 'GET') throw new ServedError(405, 'method not allowed');
    return { name, query: new Query(request.search) };
  }
  if (request.method !== 'POST') throw new ServedError(405, 'method not allowed');
  const call = JsonRpc.safeParse(jsonOf(request.body));
  if (!call.success) throw new ServedError(500, 'internal error');
  const params = Object.entries(call.data.params ?? {}).map(([key, value]): [string, string] => [
    key,
    String(value),
  ]);
  return { name: call.data.method, query: new Query(new URLSearchParams(params)) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refuse(text: string): never {
  throw new ServedError(422, text);
}

function addressOf(query: Query, name: string): string {
  const address = query.has(name) ? query.address(name) : undefined;
  return address ?? refuse(`empty ${name}`);
}

/** The row of a masterchain block that is visible. */
function masterOf({ node, view }: MethodCall, seqno: number): number {
  const [first] = node.registeredIn(seqno);
  if (first === undefined || !view.seesMasterchain(seqno))
    throw new ServedError(500, `LITE_SERVER_NOTREADY: block ${seqno} is not in db`);
  return first;
}

function headOf(call: MethodCall): number {
  return masterOf(call, call.view.head ?? 0);
}

function masterchainInfo(call: MethodCall): object {
  const { world } = call.node;
  return {
    '@type': 'blocks.masterchainInfo',
    last: blockIdExt(world, headOf(call)),
    state_root_hash: world.hashes('state').text(headOf(call)),
    init: { ...blockIdExt(world, headOf(call)), seqno: 0, root_hash: world.hashes('root').text(0) },
  };
}

/** Ids alone, without the masterchain block. */
function shards(call: MethodCall): object {
  const seqno = call.query.int32('seqno') ?? refuse('seqno is required');
  const master = masterOf(call, seqno);
  const tops = call.node.topsOf(seqno).filter((row) => row !== master);
  return { '@type': 'blocks.shards', shards: tops.map((row) => blockIdExt(call.node.world, row)) };
}

/** Newest first; the start is inclusive, `to_lt` is not. */
function transactions({ node, view, query }: MethodCall): object {
  const { world } = node;
  const limit = query.int32('limit') ?? 10;
  const [lt, hash] = [query.uint64('lt') ?? 0, query.hash('hash')];
  if (limit < 1) refuse('limit should be positive');
  if (limit > MOST) refuse('limit should be less or equal 1000');
  if ((lt === 0) !== (hash === undefined)) refuse('lt and hash should be used together');
  const until = query.uint64('to_lt') ?? 0;
  const oldest = query.bool('archival') === true ? 0 : view.headTime - KEPT;
  const rows = node
    .ofAccount(addressOf(query, 'address'))
    .filter((row) => node.sees(view, row) && world.utimeOf(row) >= oldest)
    .filter(
      (row) => world.transactions.lt.get(row) > until && (lt === 0 || world.transactions.lt.get(row) <= lt),
    );
  return rows
    .toReversed()
    .slice(0, limit)
    .map((row) => v2Transaction(world, node.bocs, row));
}

function locate({ node, view, query }: MethodCall): object {
  const { world } = node;
  const [source, destination] = [addressOf(query, 'source'), addressOf(query, 'destination')];
  const createdLt = query.uint64('created_lt') ?? refuse('empty created_lt');
  const found = node.ofAccount(destination).find((row) => {
    const message = world.transactions.inMessage.get(row);
    if (message === NONE || world.messages.createdLt.get(message) !== createdLt) return false;
    return messageJson(world, node.bocs, message).source === source && node.sees(view, row);
  });
  if (found === undefined) throw new ServedError(404, 'transaction not found');
  return v2Transaction(world, node.bocs, found);
}

function addressInformation(call: MethodCall): object {
  const { node, view, query } = call;
  const { world } = node;
  const seqno = query.int32('seqno');
  const block = seqno === undefined ? headOf(call) : masterOf(call, seqno);
  const address = addressOf(query, 'address');
  const at = seqno ?? view.head ?? 0;
  const seen = node
    .ofAccount(address)
    .filter((row) => node.sees(view, row) && world.seqnoOfTick(world.tickOf(row)) <= at);
  const row = seen.at(-1) ?? NONE;
  const exists = row !== NONE && accountStateJson(world, row).account_status !== null;
  return fullAccountState(world, node.bocs, { address, row: exists ? row : NONE, block });
}

function proof(call: MethodCall): object {
  const { node, query } = call;
  const { world } = node;
  const [workchain, shard, seqno] = [query.int32('workchain'), query.text('shard'), query.int32('seqno')];
  if (workchain === undefined || shard === undefined || seqno === undefined || seqno < 1)
    refuse('failed to parse block id');
  const head = call.view.head ?? 0;
  for (let master = head; master >= world.options.firstSeqno; master--) {
    const block = node.registeredIn(master).find((row) => {
      const id = blockIdExt(world, row);
      return id.workchain === workchain && id.shard === shard && id.seqno === seqno;
    });
    if (block === undefined) continue;
    const from = masterOf(call, query.int32('from_seqno') ?? head);
    return shardBlockProof(world, node.bocs, { block, master: masterOf(call, master), from });
  }
  throw new ServedError(500, 'LITE_SERVER_NOTREADY: block is not in db');
}

/** A block as v2 names it: the shard as a signed number. */
interface BlockIdExtJson {
  readonly '@type': 'ton.blockIdExt';
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
  readonly root_hash: string;
  readonly file_hash: string;
}

interface V2MessageJson {
  readonly '@type': 'ext.message';
  readonly hash: string;
  readonly source: string;
  readonly destination: string;
  readonly value: string;
  readonly extra_currencies: readonly object[];
  readonly fwd_fee: string;
  readonly ihr_fee: string;
  readonly created_lt: string;
  readonly body_hash: string;
  readonly msg_data: object;
  readonly message?: string;
  readonly message_decode_error?: string;
}

export interface V2TransactionJson {
  readonly '@type': 'ext.transaction';
  readonly address: { readonly '@type': 'accountAddress'; readonly account_address: string };
  readonly account: string;
  readonly utime: number;
  readonly data: string;
  readonly transaction_id: { readonly '@type': string; readonly lt: string; readonly hash: string };
  readonly fee: string;
  readonly storage_fee: string;
  readonly other_fee: string;
  readonly in_msg?: V2MessageJson;
  readonly out_msgs: readonly V2MessageJson[];
}

function signedShard(hex: string): string {
  return String(BigInt.asIntN(64, BigInt(`0x${hex}`)));
}

function blockIdExt(world: World, block: number): BlockIdExtJson {
  const { workchain, shard, seqno } = blockId(world, block);
  return {
    '@type': 'ton.blockIdExt',
    workchain,
    shard: signedShard(shard),
    seqno,
    root_hash: world.hashes('root').text(block),
    file_hash: world.hashes('file').text(block),
  };
}

function friendly(world: World, raw: string | null): string {
  return raw === null ? '' : friendlyAddress(raw, true, world.options.globalId !== -239);
}

function currencies(amounts: Readonly<Record<string, string>> | null): object[] {
  return Object.entries(amounts ?? {}).map(([id, amount]) => ({
    '@type': 'extraCurrency',
    id: Number(id),
    amount,
  }));
}

function v2Message(world: World, bocs: BocMaker, message: number): V2MessageJson {
  const json = messageJson(world, bocs, message);
  return {
    '@type': 'ext.message',
    hash: json.hash,
    source: friendly(world, json.source),
    destination: friendly(world, json.destination),
    value: json.value ?? '0',
    extra_currencies: currencies(json.value_extra_currencies),
    fwd_fee: json.fwd_fee ?? '0',
    ihr_fee: json.ihr_fee ?? '0',
    created_lt: json.created_lt ?? '0',
    body_hash: json.message_content.hash,
    ...bodyOf(world, message, json.message_content.body, json.init_state?.body ?? ''),
  };
}

/**
 * Text if the body is a comment, else the bag of cells itself, which the server tries to read as text without
 * success.
 */
function bodyOf(world: World, message: number, body: string, initState: string) {
  const op = world.messages.opOf(message);
  if (op === 'text_comment') {
    const text = comment(message);
    return {
      msg_data: { '@type': 'msg.dataText', text: Buffer.from(text).toString('base64') },
      message: text,
    };
  }
  if (op === 'encrypted_comment')
    return { msg_data: { '@type': 'msg.dataEncryptedText', text: body }, message: '' };
  const raw = { msg_data: { '@type': 'msg.dataRaw', body, init_state: initState } };
  return op === 'log'
    ? { ...raw, message_decode_error: 'Failed to decode comment' }
    : { ...raw, message: `${Buffer.from(body, 'base64').toString('base64')}\n` };
}

export function v2Transaction(world: World, bocs: BocMaker, row: number): V2TransactionJson {
  const { transactions, accounts } = world;
  const raw = accounts.address(transactions.account.get(row));
  const inMessage = transactions.inMessage.get(row);
  const first = transactions.firstOut.get(row);
  const [fee, storage] = [transactions.totalFees(row), transactions.storageFee.get(row)];
  return {
    '@type': 'ext.transaction',
    address: { '@type': 'accountAddress', account_address: friendly(world, raw) },
    account: raw,
    utime: world.utimeOf(row),
    data: bocs.make(row, 220),
    transaction_id: transactionId(world, row),
    fee: String(fee),
    storage_fee: String(storage),
    other_fee: String(fee - storage),
    ...(inMessage === NONE ? {} : { in_msg: v2Message(world, bocs, inMessage) }),
    out_msgs: Array.from({ length: transactions.outCount.get(row) }, (_, at) =>
      v2Message(world, bocs, first + at),
    ),
  };
}

function transactionId(world: World, row: number) {
  return row === NONE
    ? { '@type': 'internal.transactionId', lt: '0', hash: ZERO_HASH }
    : {
        '@type': 'internal.transactionId',
        lt: String(world.transactions.lt.get(row)),
        hash: world.hashes('transaction').text(row),
      };
}

/** An account at a block: wallets are taken apart, other contracts come raw. `row`: its last transaction, or NONE. */
function fullAccountState(
  world: World,
  bocs: BocMaker,
  { address, row, block }: { readonly address: string; readonly row: number; readonly block: number },
): object {
  const state = row === NONE ? undefined : accountStateJson(world, row);
  return {
    '@type': 'fullAccountState',
    address: { '@type': 'accountAddress', account_address: friendly(world, address) },
    balance: state?.balance ?? '0',
    extra_currencies: currencies(state?.extra_currencies ?? null),
    last_transaction_id: transactionId(world, row),
    block_id: blockIdExt(world, block),
    sync_utime: world.blocks.utime.get(block),
    account_state: parsedState(world, bocs, row),
    revision: row === NONE ? 0 : 2,
  };
}

function parsedState(world: World, bocs: BocMaker, row: number): object {
  const state = row === NONE ? undefined : accountStateJson(world, row);
  if (state === undefined || state.account_status !== 'active')
    return { '@type': 'uninited.accountState', frozen_hash: state?.frozen_hash ?? '' };
  const account = world.transactions.account.get(row);
  if (world.accounts.role(account) !== 'wallet')
    return {
      '@type': 'raw.accountState',
      code: bocs.make(account, 300),
      data: bocs.make(row, 90),
      frozen_hash: '',
    };
  return { '@type': 'wallet.v4.accountState', wallet_id: 698_983_191, seqno: sentBy(world, row) };
}

/** How many orders from outside a wallet has followed: its seqno. */
function sentBy(world: World, last: number): number {
  const { transactions, messages } = world;
  let count = 0;
  for (let row = last; row !== NONE; row = transactions.previous.get(row)) {
    const message = transactions.inMessage.get(row);
    if (message !== NONE && messages.isExternalIn(message) && !messages.has(message, MESSAGE.bounce)) count++;
  }
  return count;
}

/** A proof of a shard's block: its link to the masterchain block that registered it, and one back to an older one. */
function shardBlockProof(
  world: World,
  bocs: BocMaker,
  { block, master, from }: { readonly block: number; readonly master: number; readonly from: number },
): object {
  const own = blockIdExt(world, block);
  const mc = blockIdExt(world, master);
  const trusted = blockIdExt(world, from);
  return {
    '@type': 'blocks.shardBlockProof',
    from: trusted,
    mc_id: mc,
    links: [{ '@type': 'blocks.shardBlockLink', id: own, proof: bocs.make(block, 200) }],
    mc_proof:
      master === from
        ? []
        : [
            {
              '@type': 'blocks.blockLinkBack',
              to_key_block: false,
              from: trusted,
              to: mc,
              dest_proof: bocs.make(master, 80),
              proof: bocs.make(master + 1, 90),
              state_proof: bocs.make(master + 2, 70),
            },
          ],
  };
}
