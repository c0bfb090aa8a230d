import { friendlyAddress } from '../../json/address-json.ts';
import type { BocMaker } from '../../network/chain/boc.ts';
import { NONE } from '../../network/chain/tables/block-table.ts';
import { MESSAGE } from '../../network/chain/tables/message-table.ts';
import { ZERO_HASH } from '../../network/chain/tables/hash-space.ts';
import type { World } from '../../network/chain/world.ts';
import { accountStateJson } from '../../json/account-state-json.ts';
import { blockId } from '../../json/block-json.ts';
import { comment } from '../../json/comment.ts';
import { messageJson } from '../../json/message-json.ts';

/** A block as v2 names it: the shard as a signed number. */
export interface BlockIdExtJson {
  readonly '@type': 'ton.blockIdExt';
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
  readonly root_hash: string;
  readonly file_hash: string;
}

export interface V2MessageJson {
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

export function signedShard(hex: string): string {
  return String(BigInt.asIntN(64, BigInt(`0x${hex}`)));
}

export function blockIdExt(world: World, block: number): BlockIdExtJson {
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
export function fullAccountState(
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
export function shardBlockProof(
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
