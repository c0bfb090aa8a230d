import type { Entities } from './network/entities/entities.ts';
import type { Bounds } from './bounds.ts';
import type { OrderedRows } from './simulator-rows.ts';
import type { View } from './network-view.ts';
import type { BlockIdJson } from './json/block-json.ts';
import type { ComplaintJson } from './network/staking/complaint.ts';
import type { CycleJson, ElectionJson } from './network/staking/cycle-json.ts';
import type { NominatorEventJson } from './network/staking/nominator-events.ts';
import type { PoolEventJson } from './network/staking/pool-events.ts';
import type { NodeSource } from './http/v2/v2-api.ts';
import type { ValidatorEventJson } from './network/staking/validator-event.ts';

/** Blocks as the routes need them: rows are numbers, everything else is asked for by row. */
export interface BlockSource {
  /** All blocks within seconds, ascending by (gen_utime, -workchain, shard, seqno). */
  byTime(bounds: Bounds): OrderedRows;
  /** Blocks that a masterchain block registered, itself among them. */
  registeredIn(seqno: number): OrderedRows;
  /** The tops of all shards at a masterchain block, itself among them, in the order (workchain, shard, seqno). */
  topsOf(seqno: number): OrderedRows;
  visible(view: View, row: number): boolean;
  id(row: number): BlockIdJson;
  utime(row: number): number;
  startLt(row: number): number;
  mcSeqno(row: number): number;
  hashes(row: number): { readonly root: string; readonly file: string };
  text(row: number): string;
}

/** Transactions as the routes need them. */
export interface TransactionSource {
  /** Ascending by (lt, account). */
  byLt(bounds: Bounds): OrderedRows;
  /** Ascending by (now, lt, account). */
  byTime(bounds: Bounds): OrderedRows;
  /** Ascending by (lt, account). */
  ofAccounts(addresses: readonly string[]): OrderedRows;
  ofHashes(hashes: readonly string[]): OrderedRows;
  /** Ascending by (lt, account). */
  ofMasterchainBlock(seqno: number): OrderedRows;
  visible(view: View, row: number): boolean;
  lt(row: number): number;
  utime(row: number): number;
  mcSeqno(row: number): number;
  account(row: number): string;
  hash(row: number): string;
  block(row: number): Omit<BlockIdJson, 'shard'> & { readonly shard: string | null };
  /** The message that it received, and those that it sent, as rows of the message source. */
  inMessage(row: number): number | undefined;
  outMessages(row: number): number[];
  /** JSON texts of rows, joined by commas. */
  texts(rows: readonly number[]): string | Buffer;
  /** Addresses that stand in the row, for the address book. */
  addresses(row: number): string[];
}

/** What filters and orders need to know of a message. */
export interface MessageFacts {
  readonly source: string | null;
  readonly destination: string | null;
  readonly createdLt: number | null;
  readonly createdAt: number | null;
  /** The lt of a transaction on either side, the earlier one first. */
  readonly transactionLt: number;
  readonly sender: number | undefined;
  readonly receiver: number | undefined;
}

/** Messages as the routes need them. */
export interface MessageSource {
  /** Candidates whose created_lt (or, for externals, whose transaction's lt) can lie in the range; unordered. */
  nearLt(bounds: Bounds): OrderedRows;
  /** Candidates whose created_at can lie in the range; unordered. */
  nearTime(bounds: Bounds): OrderedRows;
  /** Messages by hash or normalized hash. */
  ofHashes(hashes: readonly string[]): OrderedRows;
  facts(row: number): MessageFacts;
  hash(row: number): string;
  opcode(row: number): string | null;
  bodyHash(row: number): string | null;
  text(row: number, sides: { readonly in: boolean; readonly out: boolean }): string;
  addresses(row: number): string[];
}

/** Traces as the routes need them: only complete ones. */
export interface TraceSource {
  /** Ascending by (end_lt, trace_id). */
  byLt(bounds: Bounds): OrderedRows;
  /** Ascending by (end_utime, trace_id). */
  byTime(bounds: Bounds): OrderedRows;
  /** Traces whose last transaction was registered by a masterchain block. */
  ofMasterchainBlock(seqno: number): OrderedRows;
  ofTraces(ids: readonly string[]): OrderedRows;
  ofTransactions(hashes: readonly string[]): OrderedRows;
  ofMessages(hashes: readonly string[]): OrderedRows;
  ofAccount(address: string): OrderedRows;
  /** True if all of the trace is visible. */
  visible(view: View, row: number): boolean;
  endLt(row: number): number;
  endUtime(row: number): number;
  /** JSON texts of rows, joined by commas. `actions`: the JSON texts of a trace's actions; undefined leaves them out. */
  texts(rows: readonly number[], actions: ((row: number) => readonly string[]) | undefined): string;
  addresses(row: number): string[];
}

/** What filters and orders need to know of an action. */
export interface ActionFacts {
  /** The id in base64. */
  readonly id: string;
  /** As it is stored, which can be another than is printed. */
  readonly type: string;
  /** Types of the composite actions that it is a part of. */
  readonly ancestors: readonly string[];
  readonly startLt: number;
  readonly endLt: number;
  readonly endUtime: number;
  /** Rows of the transaction source. */
  readonly transactions: readonly number[];
  readonly accounts: readonly string[];
}

/** Actions as the routes need them: each belongs to a trace of the trace source. */
export interface ActionSource {
  /** Rows of the actions that a trace shows in a view; unordered. */
  ofTrace(view: View, trace: number): readonly number[];
  /** Traces that have, or had, actions with these ids. */
  tracesOf(ids: readonly string[]): readonly number[];
  facts(row: number): ActionFacts;
  text(row: number, include: { readonly accounts: boolean }): string;
}

/** Addresses that a transfer or burn names; empty if the row lacks them. */
export interface TokenParties {
  readonly from: string;
  readonly to: string;
  /** The jetton wallet, or the item. */
  readonly item: string;
  /** The jetton master, or the collection. */
  readonly group: string;
}

/** Transfers or burns as the routes need them. */
export interface TokenSource {
  /** Ascending by lt. */
  byLt(bounds: Bounds): OrderedRows;
  /** Ascending by the second. */
  byTime(bounds: Bounds): OrderedRows;
  visible(view: View, row: number): boolean;
  lt(row: number): number;
  utime(row: number): number;
  parties(row: number): TokenParties;
  text(row: number): string;
}

/** Events of the elector or of pools; rows ascend by (utime, lt). */
export interface EventSource<T> {
  byTime(bounds: Bounds): OrderedRows;
  visible(view: View, row: number): boolean;
  json(row: number): T;
}

/** A nominator pool at a moment. */
export interface PoolFacts {
  readonly validator: string;
  /** The last change of the validator's money. */
  readonly last: PoolEventJson | undefined;
  readonly nominators: readonly object[];
}

/** Validators and pools as the routes need them. */
export interface StakingSource {
  readonly validatorEvents: EventSource<ValidatorEventJson>;
  readonly poolEvents: EventSource<PoolEventJson>;
  /** Rows are the transactions of pools, of which each may change the money of several nominators. */
  readonly nominatorEvents: EventSource<readonly NominatorEventJson[]>;
  /** Complaints created in a range, as they stand at a second of chain time; ascending by (created_at, hash). */
  complaints(bounds: Bounds, at: number): ComplaintJson[];
  /** Elections that have begun at a second, ascending; `whole`: with their participants. */
  elections(at: number, whole: boolean): ElectionJson[];
  /** Cycles that have begun at a second, ascending; `whole`: with their validators. */
  cycles(at: number, whole: boolean): CycleJson[];
  /** What a pool is after the rows that are visible, ascending; undefined if there is no such pool. */
  pool(address: string, rows: readonly number[]): PoolFacts | undefined;
}

/** All data that are served: a generated network or recorded data. */
export interface Ledger {
  readonly blocks: BlockSource;
  readonly transactions: TransactionSource;
  readonly messages: MessageSource;
  readonly traces: TraceSource;
  readonly actions: ActionSource;
  readonly jettonTransfers: TokenSource;
  readonly jettonBurns: TokenSource;
  readonly nftTransfers: TokenSource;
  readonly staking: StakingSource;
  /** The contracts as of a view. */
  readonly entities: { at(view: View): Entities };
  /** The data for v2; undefined if there are none. */
  readonly node: NodeSource | undefined;
  readonly firstSeqno: number;
  /**
   * Exchanges hashes in a text, of an answer or a question, for those before a reorganisation that is still to come;
   * undefined if nothing is reorganised.
   */
  readonly beforeReorganisation?: (text: string, view: View) => string;
  /** JSON of the block objects of masterchainInfo. */
  masterchainBlock(seqno: number): string;
  /** The caller adds members that are omitted here. */
  addressBook(addresses: readonly string[]): Readonly<Record<string, object>>;
  metadata(addresses: readonly string[]): Readonly<Record<string, object>>;
}
