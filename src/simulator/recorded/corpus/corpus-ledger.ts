import { friendlyAddress } from '../../json/address-json.ts';
import { ZERO_HASH } from '../../network/chain/tables/hash-space.ts';
import { MASTERCHAIN_SHARD, type BlockIdJson, type BlockJson } from '../../json/block-json.ts';
import type {
  ActionSource,
  BlockSource,
  Ledger,
  MessageSource,
  StakingSource,
  TokenSource,
  TraceSource,
  TransactionSource,
  TokenParties,
} from '../../ledger.ts';
import { NO_ENTITIES } from '../../network/entities/entities.ts';
import { listed, type OrderedRows } from '../../simulator-rows.ts';
import {
  type Recorded,
  type RecordedAction,
  type RecordedTrace,
  type RecordedToken,
  type RecordedTransaction,
  readRecorded,
  type RecordedMessage,
} from './recorded.ts';
import { withActions } from '../../network/ledger/chain-traces.ts';
import type { Clock } from '../../../clock.ts';
import type { ServedNetwork } from '../../head.ts';
import type { View } from '../../network-view.ts';
import type { Bounds } from '../../bounds.ts';

/** Masterchain blocks after the last recorded transaction: nothing has happened since. */
const AFTERWARDS = 7200;
const GLOBAL_IDS = { mainnet: -239, testnet: -3 } as const;

const NO_EVENTS = {
  byTime: () => listed([]),
  visible: () => false,
  json: (row: number): never => at([], row),
};
/** Nothing is recorded of validators and pools. */
const NO_STAKING: StakingSource = {
  validatorEvents: NO_EVENTS,
  poolEvents: NO_EVENTS,
  nominatorEvents: NO_EVENTS,
  complaints: () => [],
  elections: () => [],
  cycles: () => [],
  pool: () => undefined,
};

/** Serves recorded transactions, messages and traces; of blocks only what masterchainInfo and shard states need. */
export class CorpusLedger implements Ledger {
  readonly firstSeqno: number;
  readonly lastSeqno: number;
  readonly lastUtime: number;
  readonly blocks: BlockSource;
  readonly transactions: TransactionSource;
  readonly messages: MessageSource;
  readonly traces: TraceSource;
  readonly actions: ActionSource;
  readonly jettonTransfers: TokenSource;
  readonly jettonBurns: TokenSource;
  readonly nftTransfers: TokenSource;
  readonly staking: StakingSource = NO_STAKING;
  readonly node = undefined;
  readonly entities = { at: () => NO_ENTITIES };
  private readonly globalId: number;
  private readonly firstUtime: number;

  /**
   * The last block's time is `now` (unix seconds), so that no reader waits for the head of a recording that ended
   * long ago.
   */
  constructor(recorded: Recorded, network: keyof typeof GLOBAL_IDS, now: number) {
    const rows = recorded.transactions.toSorted(
      (a, b) => Number(a.lt) - Number(b.lt) || order(a.account, b.account),
    );
    const seqnos = rows.map((row) => row.mc_block_seqno);
    const utimes = rows.map((row) => row.now);
    this.globalId = GLOBAL_IDS[network];
    this.firstSeqno = Math.min(...seqnos);
    this.lastSeqno = Math.max(...seqnos) + AFTERWARDS;
    this.firstUtime = Math.min(...utimes);
    this.lastUtime = Math.max(now, ...utimes);
    const messages = collectMessages(rows);
    this.blocks = this.edgeBlocks();
    this.transactions = corpusTransactions(rows, messages);
    this.messages = corpusMessages(rows, messages);
    const traces = recorded.traces.toSorted((a, b) => order(a.trace_id, b.trace_id));
    this.traces = corpusTraces(traces);
    this.actions = corpusActions(traces, this.transactions);
    const { jettonTransfers, jettonBurns, nftTransfers } = recorded;
    const jetton = { from: 'source', to: 'destination', item: 'source_wallet', group: 'jetton_master' };
    this.jettonTransfers = corpusTokens(jettonTransfers, jetton);
    const burn = { from: 'owner', to: 'owner', item: 'jetton_wallet', group: 'jetton_master' };
    this.jettonBurns = corpusTokens(jettonBurns, burn);
    const nft = { from: 'old_owner', to: 'new_owner', item: 'nft_address', group: 'nft_collection' };
    this.nftTransfers = corpusTokens(nftTransfers, nft);
  }

  masterchainBlock(seqno: number): string {
    return JSON.stringify(this.block(-1, seqno));
  }

  addressBook(addresses: readonly string[]): Readonly<Record<string, object>> {
    const testnet = this.globalId !== GLOBAL_IDS.mainnet;
    const row = (address: string): object => ({
      user_friendly: friendlyAddress(address, true, testnet),
      domain: null,
      interfaces: null,
    });
    return Object.fromEntries([...new Set(addresses)].map((address) => [address, row(address)]));
  }

  metadata(): Readonly<Record<string, object>> {
    return {};
  }

  /** Rows of the two tops of the last block: 0 the masterchain's, 1 the basechain's. No list shows them. */
  private edgeBlocks(): BlockSource {
    const id = (row: number): BlockIdJson => ({
      workchain: row - 1,
      shard: MASTERCHAIN_SHARD,
      seqno: this.lastSeqno,
    });
    const known = (seqno: number): boolean => seqno >= this.firstSeqno && seqno <= this.lastSeqno;
    return {
      byTime: () => listed([]),
      registeredIn: () => listed([]),
      topsOf: (seqno) => listed(known(seqno) ? [0, 1] : []),
      visible: () => true,
      id,
      utime: () => this.lastUtime,
      startLt: () => 0,
      mcSeqno: () => this.lastSeqno,
      hashes: () => ({ root: ZERO_HASH, file: ZERO_HASH }),
      text: (row) => JSON.stringify(this.block(row - 1, this.lastSeqno)),
    };
  }

  /** A plausible block at a seqno between the recorded ones: its time lies on the line between them. */
  private block(workchain: number, seqno: number): BlockJson {
    const share = (seqno - this.firstSeqno) / (this.lastSeqno - this.firstSeqno);
    const utime = Math.round(this.firstUtime + share * (this.lastUtime - this.firstUtime));
    const fill = Buffer.alloc(32, seqno % 251).toString('base64');
    return {
      workchain,
      shard: MASTERCHAIN_SHARD,
      seqno,
      root_hash: fill,
      file_hash: fill,
      global_id: this.globalId,
      version: 0,
      ...UNEVENTFUL,
      gen_utime: String(utime),
      start_lt: String(seqno * 1_000_000),
      end_lt: String(seqno * 1_000_000 + 4),
      min_ref_mc_seqno: seqno - 3,
      prev_key_block_seqno: seqno - (seqno % 1000),
      rand_seed: fill,
      created_by: fill,
      tx_count: 0,
      masterchain_block_ref: { workchain: -1, shard: MASTERCHAIN_SHARD, seqno },
      prev_blocks: [{ workchain, shard: MASTERCHAIN_SHARD, seqno: seqno - 1 }],
    };
  }
}

const UNEVENTFUL = {
  after_merge: false,
  before_split: false,
  after_split: false,
  want_merge: false,
  want_split: false,
  key_block: false,
  vert_seqno_incr: false,
  flags: 1,
  validator_list_hash_short: 0,
  gen_catchain_seqno: 0,
  vert_seqno: 0,
  master_ref_seqno: 0,
} as const;

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface CorpusEntry {
  readonly action: RecordedAction;
  readonly trace: number;
}

/** Recorded actions, served as they were recorded. `traces`: in the order of the rows of the trace source. */
function corpusActions(traces: readonly RecordedTrace[], transactions: TransactionSource): ActionSource {
  const entries: CorpusEntry[] = traces.flatMap((recorded, trace) =>
    recorded.actions.map((action) => ({ action, trace })),
  );
  const rows = entries.map((_, row) => row);
  const ofTransactions = ({ action }: CorpusEntry): number[] => {
    const found = transactions.ofHashes(action.transactions ?? []);
    return Array.from({ length: found.length }, (_, index) => found.at(index));
  };
  return {
    ofTrace: (_, trace) => rows.filter((row) => at(entries, row).trace === trace),
    tracesOf: (ids) => [
      ...new Set(entries.filter(({ action }) => ids.includes(action.action_id)).map(({ trace }) => trace)),
    ],
    facts: (row) => {
      const entry = at(entries, row);
      const { action } = entry;
      return {
        id: action.action_id,
        type: action.type,
        ancestors: [],
        startLt: Number(action.start_lt),
        endLt: Number(action.end_lt),
        endUtime: action.end_utime,
        transactions: ofTransactions(entry),
        accounts: action.accounts ?? ofTransactions(entry).map((found) => transactions.account(found)),
      };
    },
    text: (row, include) => {
      const { accounts, ...rest } = at(entries, row).action;
      return JSON.stringify(include.accounts ? { ...rest, accounts: accounts ?? [] } : rest);
    },
  };
}

/** Recorded transfers or burns, served as they were recorded. `members`: what each kind calls its parties. */
function corpusTokens(
  rows: readonly RecordedToken[],
  members: Readonly<Record<keyof TokenParties, string>>,
): TokenSource {
  const text = (row: RecordedToken, member: string): string => {
    const value = row[member];
    return typeof value === 'string' ? value : '';
  };
  return {
    byLt: (range) => sortedWithin(rows, (row) => Number(row.transaction_lt), range),
    byTime: (range) => sortedWithin(rows, (row) => row.transaction_now, range),
    visible: () => true,
    lt: (row) => Number(at(rows, row).transaction_lt),
    utime: (row) => at(rows, row).transaction_now,
    parties: (row) => {
      const recorded = at(rows, row);
      return {
        from: text(recorded, members.from),
        to: text(recorded, members.to),
        item: text(recorded, members.item),
        group: text(recorded, members.group),
      };
    },
    text: (row) => JSON.stringify(at(rows, row)),
  };
}

/** Recorded traces as a ledger shows them. */
function corpusTraces(rows: readonly RecordedTrace[]): TraceSource {
  const transactionsOf = (row: RecordedTrace): RecordedTransaction[] => Object.values(row.transactions);
  return {
    byLt: (range) => sortedWithin(rows, (row) => Number(row.end_lt), range),
    byTime: (range) => sortedWithin(rows, (row) => row.end_utime, range),
    ofMasterchainBlock: (seqno) => indexes(rows, (row) => Number(row.mc_seqno_end) === seqno),
    ofTraces: (ids) => indexes(rows, (row) => ids.includes(row.trace_id)),
    ofTransactions: (hashes) =>
      indexes(rows, (row) => hashes.some((hash) => Object.hasOwn(row.transactions, hash))),
    ofMessages: (hashes) =>
      indexes(rows, (row) =>
        transactionsOf(row).some(({ in_msg: received, out_msgs: sent }) =>
          [received?.hash, received?.hash_norm, ...sent.map((message) => message.hash)].some(
            (hash) => hash !== undefined && hash !== null && hashes.includes(hash),
          ),
        ),
      ),
    ofAccount: (address) =>
      indexes(rows, (row) => transactionsOf(row).some((transaction) => transaction.account === address)),
    visible: () => true,
    endLt: (row) => Number(at(rows, row).end_lt),
    endUtime: (row) => at(rows, row).end_utime,
    texts: (page, actions) =>
      page
        .map((row) => withActions(JSON.stringify({ ...at(rows, row), actions: undefined }), actions?.(row)))
        .join(','),
    addresses: (row) => transactionsOf(at(rows, row)).map((transaction) => transaction.account),
  };
}

/** Recorded transactions as a ledger shows them. */
function corpusTransactions(
  rows: readonly RecordedTransaction[],
  messages: readonly MessageEntry[],
): TransactionSource {
  const byReceiver = new Map(messages.map((entry, index) => [entry.receiver, index]));
  const byHash = new Map(messages.map((entry, index) => [entry.message.hash, index]));
  const outMessages = (row: number): number[] =>
    at(rows, row)
      .out_msgs.map((message) => byHash.get(message.hash))
      .filter((index) => index !== undefined);
  return {
    byLt: (range) => sortedWithin(rows, (row) => Number(row.lt), range),
    byTime: (range) => sortedWithin(rows, (row) => row.now, range),
    ofAccounts: (addresses) => indexes(rows, (row) => addresses.includes(row.account)),
    ofHashes: (hashes) => indexes(rows, (row) => hashes.includes(row.hash)),
    ofMasterchainBlock: (seqno) => indexes(rows, (row) => row.mc_block_seqno === seqno),
    visible: () => true,
    lt: (row) => Number(at(rows, row).lt),
    utime: (row) => at(rows, row).now,
    mcSeqno: (row) => at(rows, row).mc_block_seqno,
    account: (row) => at(rows, row).account,
    hash: (row) => at(rows, row).hash,
    block: (row) => at(rows, row).block_ref,
    inMessage: (row) => byReceiver.get(row),
    outMessages,
    texts: (page) => page.map((row) => JSON.stringify(at(rows, row))).join(','),
    addresses: (row) => {
      const { account, in_msg: received, out_msgs: sent } = at(rows, row);
      const ends = [received?.source, ...sent.map((message) => message.destination)];
      return [account, ...ends.filter((end) => end !== null && end !== undefined)];
    },
  };
}

/** Recorded data: all of it is visible, always. */
export class CorpusSource implements ServedNetwork {
  readonly ledger: CorpusLedger;
  headTime: number;

  /** The network is read off the directory's name: `testnet` in it means testnet, else mainnet. */
  constructor(directory: string, clock: Clock) {
    const network = directory.includes('testnet') ? 'testnet' : 'mainnet';
    this.ledger = new CorpusLedger(readRecorded(directory), network, Math.floor(clock.now() / 1000));
    this.headTime = this.ledger.lastUtime;
  }

  view(): View {
    const { firstSeqno, lastSeqno } = this.ledger;
    return {
      headTime: this.headTime,
      head: lastSeqno,
      seesMasterchain: (seqno) => seqno >= firstSeqno && seqno <= lastSeqno,
    };
  }
}

interface MessageEntry {
  message: RecordedMessage;
  sender: number | undefined;
  receiver: number | undefined;
}

/** Each message once, with the rows of the transactions on its sides. The sender's copy counts. */
function collectMessages(rows: readonly RecordedTransaction[]): MessageEntry[] {
  const byHash = new Map<string, MessageEntry>();
  const entry = (message: RecordedMessage): MessageEntry => {
    const known = byHash.get(message.hash);
    if (known !== undefined) return known;
    const made: MessageEntry = { message, sender: undefined, receiver: undefined };
    byHash.set(message.hash, made);
    return made;
  };
  rows.forEach((row, index) => {
    if (row.in_msg !== null && row.in_msg !== undefined) entry(row.in_msg).receiver ??= index;
    for (const message of row.out_msgs) Object.assign(entry(message), { message, sender: index });
  });
  return [...byHash.values()];
}

/** Recorded messages as a ledger shows them. */
function corpusMessages(
  rows: readonly RecordedTransaction[],
  entries: readonly MessageEntry[],
): MessageSource {
  const number = (text: string | null | undefined): number | null =>
    text === null || text === undefined ? null : Number(text);
  const all = listed(entries.map((_, index) => index));
  const hashOf = (row: number | undefined): string | undefined =>
    row === undefined ? undefined : rows[row]?.hash;
  return {
    nearLt: () => all,
    nearTime: () => all,
    ofHashes: (hashes) =>
      indexes(
        entries,
        ({ message }) => hashes.includes(message.hash) || hashes.includes(message.hash_norm ?? ''),
      ),
    facts: (row) => {
      const { message, sender, receiver } = at(entries, row);
      const transactionLt = Number(rows[sender ?? receiver ?? 0]?.lt ?? 0);
      const [createdLt, createdAt] = [number(message.created_lt), number(message.created_at)];
      const [source, destination] = [message.source ?? null, message.destination ?? null];
      return { source, destination, createdLt, createdAt, transactionLt, sender, receiver };
    },
    hash: (row) => at(entries, row).message.hash,
    opcode: (row) => {
      const { opcode } = at(entries, row).message;
      return typeof opcode === 'number'
        ? `0x${(opcode >>> 0).toString(16).padStart(8, '0')}`
        : (opcode ?? null);
    },
    bodyHash: (row) => at(entries, row).message.message_content?.hash ?? null,
    text: (row, sides) => {
      const { message, sender, receiver } = at(entries, row);
      const [inHash, outHash] = [
        sides.in ? hashOf(receiver) : undefined,
        sides.out ? hashOf(sender) : undefined,
      ];
      return JSON.stringify({ ...message, in_msg_tx_hash: inHash, out_msg_tx_hash: outHash });
    },
    addresses: (row) => {
      const { source, destination } = at(entries, row).message;
      return [source, destination].filter((end) => end !== null && end !== undefined);
    },
  };
}

/** Positions of those rows whose value lies in a range, in the order of the value, ties in their own order. */
function sortedWithin<T>(
  rows: readonly T[],
  value: (row: T) => number,
  { first, last }: Bounds,
): OrderedRows {
  const found = rows
    .map((row, index) => ({ index, value: value(row) }))
    .filter((row) => row.value >= first && row.value <= last);
  return listed(found.toSorted((a, b) => a.value - b.value || a.index - b.index).map(({ index }) => index));
}

/** Positions of those rows that pass. */
function indexes<T>(rows: readonly T[], passes: (row: T) => boolean): OrderedRows {
  return listed(rows.flatMap((row, index) => (passes(row) ? [index] : [])));
}

/** @throws RangeError if there is no such row. */
function at<T>(rows: readonly T[], row: number): T {
  const found = rows[row];
  if (found === undefined) throw new RangeError(`There is no recorded row ${row}.`);
  return found;
}
