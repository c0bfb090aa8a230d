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
} from '../../ledger.ts';
import { NO_ENTITIES } from '../../network/entities/entities.ts';
import { listed } from '../../simulator-rows.ts';
import { corpusActions } from './corpus-actions.ts';
import { collectMessages, corpusMessages } from './corpus-messages.ts';
import { corpusTokens } from './corpus-tokens.ts';
import { corpusTraces } from './corpus-traces.ts';
import { corpusTransactions } from './corpus-transactions.ts';
import { at } from './recorded-rows.ts';
import type { Recorded } from './recorded.ts';

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
