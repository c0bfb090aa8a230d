import { BocMaker } from '../chain/boc.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';
import { ChainActions } from './chain-actions.ts';
import { chainTraces } from './chain-traces.ts';
import { ChainEntities } from '../entities/entities.ts';
import type { Faults } from '../../faults.ts';
import { addressBook, metadata } from '../../json/address-book-json.ts';
import { blockId, blockJson } from '../../json/block-json.ts';
import { bodyHash, messageRowJson, opcodeOf, opcodeText } from '../../json/message-json.ts';
import { transactionJson } from '../../json/transaction-json.ts';
import type { Bounds } from '../../bounds.ts';
import type {
  BlockSource,
  Ledger,
  MessageFacts,
  MessageSource,
  TokenSource,
  TraceSource,
  TransactionSource,
  EventSource,
  PoolFacts,
  StakingSource,
} from '../../ledger.ts';
import type { View } from '../../network-view.ts';
import { listed, slice, type OrderedRows } from '../../simulator-rows.ts';
import type { NodeSource } from '../../http/v2/v2-api.ts';
import type { ChainView } from './visibility.ts';
import type { Family } from '../chain/tables/family.ts';
import {
  jettonBurnJson,
  jettonParties,
  jettonTransferJson,
  nftParties,
  nftTransferJson,
  type TokenPartiesJson,
} from '../../json/token-json.ts';
import { mix32 } from '../../random.ts';
import { EVERYTHING } from '../../http/route.ts';
import { complaints, type ComplaintJson } from '../staking/complaint.ts';
import { cycleJson, electionJson, type CycleJson, type ElectionJson } from '../staking/cycle-json.ts';
import { Elections } from '../staking/elections.ts';
import { NominatorEvents, type NominatorEventJson } from '../staking/nominator-events.ts';
import { PoolEvents, type PoolEventJson } from '../staking/pool-events.ts';
import { ValidatorEvents, type ValidatorEventJson } from '../staking/validator-event.ts';

/** Serves a generated network. */
export class ChainLedger implements Ledger {
  readonly world: World;
  readonly bocs: BocMaker;
  readonly blocks: BlockSource;
  readonly transactions: TransactionSource;
  readonly messages: MessageSource;
  readonly traces: TraceSource;
  readonly actions: ChainActions;
  readonly jettonTransfers: TokenSource;
  readonly jettonBurns: TokenSource;
  readonly nftTransfers: TokenSource;
  readonly staking: ChainStaking;
  readonly entities: ChainEntities;
  readonly node: NodeSource;
  readonly beforeReorganisation: (text: string, view: View) => string;

  constructor(world: World, faults: Faults) {
    this.world = world;
    this.beforeReorganisation = createReorganisation(world, faults);
    this.bocs = new BocMaker(world.options.seed);
    this.blocks = chainBlocks(world);
    this.transactions = chainTransactions(world, this.bocs);
    this.messages = chainMessages(world, this.bocs);
    this.traces = chainTraces(world, this.bocs, this);
    this.actions = new ChainActions(world, this.bocs, this.traces, faults);
    this.jettonTransfers = chainTokens(world, this.bocs, 'jetton_transfers', this.transactions);
    this.jettonBurns = chainTokens(world, this.bocs, 'jetton_burns', this.transactions);
    this.nftTransfers = chainTokens(world, this.bocs, 'nft_transfers', this.transactions);
    this.staking = new ChainStaking(world, this.bocs, this.transactions);
    const { transactions } = this;
    this.node = chainNode(world, this.bocs, transactions);
    this.entities = new ChainEntities(world, this.bocs, (view, row) => transactions.visible(view, row));
  }

  get firstSeqno(): number {
    return this.world.options.firstSeqno;
  }

  masterchainBlock(seqno: number): string {
    return JSON.stringify(blockJson(this.world, this.world.ticks.block.get(seqno - this.firstSeqno)));
  }

  addressBook(addresses: readonly string[]): Readonly<Record<string, object>> {
    return addressBook(this.world, addresses);
  }

  metadata(addresses: readonly string[]): Readonly<Record<string, object>> {
    return metadata(this.world, addresses);
  }
}

function chainNode(world: World, bocs: BocMaker, transactions: TransactionSource): NodeSource {
  const tickOf = (seqno: number): number => seqno - world.options.firstSeqno;
  const known = (seqno: number): boolean => tickOf(seqno) >= 0 && tickOf(seqno) < world.tickCount;
  return {
    world,
    bocs,
    registeredIn: (seqno) => (known(seqno) ? world.registeredIn(tickOf(seqno)) : []),
    topsOf: (seqno) => (known(seqno) ? world.topsOf(tickOf(seqno)) : []),
    ofAccount: (address) => rowsOfAccounts(world, [address]),
    sees: (view, row) => transactions.visible(view, row),
  };
}

function seesBlock(view: View, world: World, block: number): boolean {
  const tick = world.blocks.tick.get(block);
  if (tick === NONE || !view.seesMasterchain(world.seqnoOfTick(tick))) return false;
  return isChainView(view) ? view.seesBlock(block) : true;
}

function isChainView(view: View): view is ChainView {
  return 'seesBlock' in view;
}

function chainBlocks(world: World): BlockSource {
  const { blocks, ticks } = world;
  const utime = (row: number): number => blocks.utime.get(row);
  const tickOf = (seqno: number): number => seqno - world.options.firstSeqno;
  const known = (seqno: number): boolean => tickOf(seqno) >= 0 && tickOf(seqno) < ticks.block.length;
  return {
    byTime: ({ first, last }) =>
      slice(
        (index) => blocks.byTime.get(index),
        blocks.byTime.lowerBound(first, utime),
        blocks.byTime.lowerBound(last + 1, utime),
      ),
    registeredIn: (seqno) => listed(known(seqno) ? world.registeredIn(tickOf(seqno)) : []),
    topsOf: (seqno) => listed(known(seqno) ? inShardOrder(world, world.topsOf(tickOf(seqno))) : []),
    visible: (view, row) => seesBlock(view, world, row),
    id: (row) => blockId(world, row),
    utime,
    startLt: (row) => blocks.startLt.get(row),
    mcSeqno: (row) => world.seqnoOfTick(blocks.tick.get(row)),
    hashes: (row) => ({ root: world.hashes('root').text(row), file: world.hashes('file').text(row) }),
    text: (row) => JSON.stringify(blockJson(world, row)),
  };
}

/** (workchain, shard as a signed number): the masterchain first. */
function inShardOrder(world: World, tops: readonly number[]): number[] {
  const key = (row: number): bigint => BigInt.asIntN(64, BigInt(`0x${blockId(world, row).shard}`));
  const isMaster = (row: number): boolean => world.blocks.shard.get(row) === 0;
  return tops.toSorted((a, b) => Number(isMaster(b)) - Number(isMaster(a)) || (key(a) < key(b) ? -1 : 1));
}

function chainTransactions(world: World, bocs: BocMaker): TransactionSource {
  const { transactions, accounts, messages } = world;
  const utime = (row: number): number => world.utimeOf(row);
  const hashes = world.hashes('transaction');
  const party = (message: number): string[] =>
    [messages.source.get(message), messages.destination.get(message)]
      .filter((end) => end >= 0)
      .map((end) => accounts.address(end));
  const inMessage = (row: number): number | undefined => {
    const message = transactions.inMessage.get(row);
    return message === NONE ? undefined : message;
  };
  const outMessages = (row: number): number[] =>
    Array.from(
      { length: transactions.outCount.get(row) },
      (_, index) => transactions.firstOut.get(row) + index,
    );
  return {
    byLt: ({ first, last }) =>
      slice((row) => row, transactions.lt.lowerBound(first), transactions.lt.lowerBound(last + 1)),
    byTime: ({ first, last }) => {
      const { byTime } = transactions;
      return slice(
        (index) => byTime.get(index),
        byTime.lowerBound(first, utime),
        byTime.lowerBound(last + 1, utime),
      );
    },
    ofAccounts: (addresses) => listed(rowsOfAccounts(world, addresses)),
    ofHashes: (list) => listed(distinct(list.map((hash) => hashes.indexOf(hash, transactions.count)))),
    ofMasterchainBlock: (seqno) => listed(rowsOfTick(world, seqno - world.options.firstSeqno)),
    visible: (view, row) => seesBlock(view, world, transactions.block.get(row)),
    lt: (row) => transactions.lt.get(row),
    utime,
    mcSeqno: (row) => world.seqnoOfTick(world.tickOf(row)),
    account: (row) => accounts.address(transactions.account.get(row)),
    hash: (row) => hashes.text(row),
    block: (row) => blockId(world, transactions.block.get(row)),
    inMessage,
    outMessages,
    texts: (rows) => rows.map((row) => JSON.stringify(transactionJson(world, bocs, row))).join(','),
    addresses: (row) => {
      const received = inMessage(row);
      const own = accounts.address(transactions.account.get(row));
      return [own, ...(received === undefined ? [] : party(received)), ...outMessages(row).flatMap(party)];
    },
  };
}

function distinct(rows: readonly (number | undefined)[]): number[] {
  return [...new Set(rows.filter((row) => row !== undefined))];
}

function rowsOfAccounts(world: World, addresses: readonly string[]): number[] {
  const accounts = new Set(addresses.map((address) => world.accounts.find(address)));
  const rows: number[] = [];
  for (const account of accounts) {
    if (account === undefined) continue;
    for (let row = world.latest[account] ?? NONE; row !== NONE; row = world.transactions.previous.get(row))
      rows.push(row);
  }
  return rows.sort((a, b) => a - b);
}

function rowsOfTick(world: World, tick: number): number[] {
  if (tick < 0 || tick >= world.tickCount) return [];
  return world
    .registeredIn(tick)
    .flatMap((block) => world.transactionsOf(block))
    .sort((a, b) => a - b);
}

function chainMessages(world: World, bocs: BocMaker): MessageSource {
  const { messages } = world;
  const ofText = (hash: string): number | undefined =>
    world.hashes('message').indexOf(hash, messages.count) ??
    world.hashes('norm').indexOf(hash, messages.count);
  const address = (account: number): string | null => (account < 0 ? null : world.accounts.address(account));
  return {
    nearLt: (range) => rounds(world, (round) => world.rounds.baseLt.get(round), range),
    nearTime: (range) => rounds(world, (round) => world.rounds.utime.get(round), range),
    ofHashes: (hashes) => listed(distinct(hashes.map(ofText))),
    facts: (row) => messageFacts(world, row),
    hash: (row) => world.hashes('message').text(row),
    opcode: (row) => opcodeText(opcodeOf(world, row)),
    bodyHash: (row) => bodyHash(world, row),
    text: (row, sides) => JSON.stringify(messageRowJson(world, bocs, row, sides)),
    addresses: (row) =>
      [address(messages.source.get(row)), address(messages.destination.get(row))].filter(
        (end) => end !== null,
      ),
  };
}

/** Messages of every round that can touch a range of a value that does not fall from round to round. */
function rounds(world: World, key: (round: number) => number, { first, last }: Bounds): OrderedRows {
  const { rounds: table, messages } = world;
  const count = table.utime.length;
  let begin = 0;
  let high = count;
  while (begin < high) {
    const middle = (begin + high) >>> 1;
    if (key(middle) < first) begin = middle + 1;
    else high = middle;
  }
  let after = begin;
  while (after < count && key(after) <= last) after++;
  const start = table.firstMessage.get(Math.max(0, begin - 2));
  const end = after + 1 < count ? table.firstMessage.get(after + 1) : messages.count;
  return slice((row) => row, start, end);
}

function messageFacts(world: World, row: number): MessageFacts {
  const { messages, transactions } = world;
  const sender = messages.outTransaction.get(row);
  const receiver = messages.inTransaction.get(row);
  const external = messages.isExternalIn(row);
  const source = messages.source.get(row);
  const destination = messages.destination.get(row);
  return {
    source: source < 0 ? null : world.accounts.address(source),
    destination: destination < 0 ? null : world.accounts.address(destination),
    createdLt: external ? null : messages.createdLt.get(row),
    createdAt: external ? null : messages.createdAt.get(row),
    transactionLt: transactions.lt.get(sender === NONE ? receiver : sender),
    sender: sender === NONE ? undefined : sender,
    receiver: receiver === NONE ? undefined : receiver,
  };
}

type MakeJson = (world: World, bocs: BocMaker, row: number) => object;
type FindParties = (world: World, row: number) => TokenPartiesJson;

const KINDS = {
  jetton_transfers: [jettonTransferJson, jettonParties],
  jetton_burns: [jettonBurnJson, jettonParties],
  nft_transfers: [nftTransferJson, nftParties],
} as const satisfies Partial<Record<Family, readonly [MakeJson, FindParties]>>;

type TokenFamily = keyof typeof KINDS;

/** Transfers and burns of a generated network; rows are those of their transactions. */
function chainTokens(
  world: World,
  bocs: BocMaker,
  family: TokenFamily,
  transactions: TransactionSource,
): TokenSource {
  const table = world.events[family];
  const [toJson, parties] = KINDS[family];
  const lt = (row: number): number => world.transactions.lt.get(row);
  const utime = (row: number): number => world.utimeOf(row);
  const address = (account: number): string => world.accounts.address(account);
  return {
    byLt: ({ first, last }) =>
      slice(
        (index) => table.byLt.get(index),
        table.byLt.lowerBound(first, lt),
        table.byLt.lowerBound(last + 1, lt),
      ),
    byTime: ({ first, last }) =>
      slice(
        (index) => table.byTime.get(index),
        table.byTime.lowerBound(first, utime),
        table.byTime.lowerBound(last + 1, utime),
      ),
    visible: (view, row) => transactions.visible(view, row),
    lt,
    utime,
    parties: (row) => {
      const { from, to, item, group } = parties(world, row);
      return { from: address(from), to: address(to), item: address(item), group: address(group) };
    },
    text: (row) => JSON.stringify(toJson(world, bocs, row)),
  };
}

const HASH = /[A-Za-z0-9+/]{43}=/g;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * Exchanges the hashes of blocks that will be reorganised, and of their transactions, with their later ones. So it
 * turns a text of the later network into one of the earlier network, and a question about the earlier one into one
 * about the later one.
 */
function createReorganisation(world: World, faults: Faults): (text: string, view: View) => string {
  const blockOf = (hash: string): number | undefined => {
    const { blocks, transactions } = world;
    const row = world.hashes('transaction').indexOf(hash, transactions.count);
    if (row !== undefined) return transactions.block.get(row);
    return ['root', 'file']
      .map((kind) => world.hashes(kind).indexOf(hash, blocks.count))
      .find(Number.isInteger);
  };
  return (text, { headTime }) => {
    const { reorganise } = faults;
    if (reorganise === undefined) return text;
    const isEarlier = (block: number): boolean => {
      const tick = world.blocks.tick.get(block);
      return (
        world.blocks.shard.get(block) !== 0 &&
        mix32(block ^ 0x5e0) < reorganise.probability * 2 ** 32 &&
        (tick === NONE || headTime < world.ticks.utime.get(tick) + reorganise.seconds)
      );
    };
    return text.replaceAll(HASH, (hash) => {
      const other = otherOf(hash);
      const block = blockOf(hash) ?? blockOf(other);
      return block !== undefined && isEarlier(block) ? other : hash;
    });
  };
}

/** The hash that a block or transaction has before it is reorganised, or after it: each is the other's. */
export function otherOf(hash: string): string {
  const [first = ''] = hash;
  return (ALPHABET[ALPHABET.indexOf(first) ^ 1] ?? '') + hash.slice(1);
}

/** Validators, their elections and pools in a generated network. */
class ChainStaking implements StakingSource {
  private readonly schedule: Elections;
  readonly validatorEvents: EventSource<ValidatorEventJson>;
  readonly poolEvents: EventSource<PoolEventJson>;
  readonly nominatorEvents: EventSource<readonly NominatorEventJson[]>;
  readonly books: PoolEvents;
  private readonly nominators: NominatorEvents;
  private readonly bocs: BocMaker;

  constructor(world: World, bocs: BocMaker, transactions: TransactionSource) {
    this.bocs = bocs;
    this.schedule = new Elections(world);
    this.books = new PoolEvents(world, this.schedule);
    const source = <T>(family: Family, json: (row: number) => T): EventSource<T> =>
      eventsOf(world, family, transactions, json);
    const events = new ValidatorEvents(this.schedule);
    this.validatorEvents = source('validator_events', (row) => events.json(row));
    this.poolEvents = source('pool_events', (row) => this.books.json(row));
    this.nominators = new NominatorEvents(world, this.books);
    this.nominatorEvents = source('pool_events', (row) => this.nominators.json(row));
  }

  complaints(bounds: Bounds, at: number): ComplaintJson[] {
    return complaints(this.schedule, this.bocs, bounds, this.blockTime(at));
  }

  elections(at: number, whole: boolean): ElectionJson[] {
    const now = this.blockTime(at);
    // The stakes of the next cycle are already taken.
    return this.cyclesUntil(now, 1).map((cycle) => electionJson(this.schedule, cycle, now, whole));
  }

  cycles(at: number, whole: boolean): CycleJson[] {
    const now = this.blockTime(at);
    const known = whole ? this.complaints(EVERYTHING, now) : undefined;
    return this.cyclesUntil(now, 0).map((cycle) => {
      const id = this.schedule.idOf(cycle);
      const own = known?.filter((complaint) => complaint.election_id === id);
      return cycleJson(this.schedule, cycle, now, own);
    });
  }

  /** From the cycle before the network's first second on. */
  private cyclesUntil(now: number, ahead: number): number[] {
    const count = this.schedule.cycleAt(now) + ahead + 2;
    return Array.from({ length: count }, (_, index) => index - 1);
  }

  /** The second of the newest masterchain block at a moment: what an index knows follows its blocks. */
  private blockTime(at: number): number {
    const { ticks } = this.schedule.world;
    return ticks.utime.get(Math.max(0, ticks.utime.lowerBound(Math.floor(at) + 1) - 1));
  }

  pool(address: string, rows: readonly number[]): PoolFacts | undefined {
    const { world } = this.schedule;
    const account = world.accounts.find(address);
    if (account === undefined || !world.isPool(account)) return undefined;
    const own = rows.filter((row) => this.books.poolOf(row) === account);
    const last = own.at(-1);
    return {
      validator: this.books.validatorOf(account),
      last: last === undefined ? undefined : this.books.json(last),
      nominators: this.nominators.holders(account, own),
    };
  }
}

function eventsOf<T>(
  world: World,
  family: Family,
  transactions: TransactionSource,
  json: (row: number) => T,
): EventSource<T> {
  const { byTime } = world.events[family];
  const utime = (row: number): number => world.utimeOf(row);
  return {
    byTime: ({ first, last }) =>
      slice(
        (index) => byTime.get(index),
        byTime.lowerBound(first, utime),
        byTime.lowerBound(last + 1, utime),
      ),
    visible: (view, row) => transactions.visible(view, row),
    json,
  };
}
