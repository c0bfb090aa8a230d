import { Column } from './tables/column.ts';
import { Accounts } from './tables/accounts.ts';
import { BlockTable } from './tables/block-table.ts';
import type { Family } from './tables/family.ts';
import { HashSpace } from './tables/hash-space.ts';
import { MessageTable } from './tables/message-table.ts';
import type { ResolvedChainOptions } from './options.ts';
import { TraceTable } from './tables/trace-table.ts';
import { TransactionTable } from './tables/transaction-table.ts';

/** Rounds: the steps in which shards make a block each; a masterchain block is a round of its own. */
class RoundTable {
  /** The latest second of the round's blocks. */
  readonly utime = Column.float64();
  /** Below every lt of the round, above every lt of the rounds before. */
  readonly baseLt = Column.float64();
  readonly firstTransaction = Column.uint32();
  readonly firstMessage = Column.uint32();
}

/** Ticks: one masterchain block each. */
class TickTable {
  readonly block = Column.uint32();
  readonly utime = Column.uint32();
  /** Where the tick's blocks begin in `registered`. */
  readonly firstRegistered = Column.uint32();
  /** Where the tick's shard tops begin in `tops`. */
  readonly firstTop = Column.uint32();
  readonly registered = Column.uint32();
  readonly tops = Column.uint32();
}

/** The network as it was generated: numbers only, from which every response is derived. */
export class World {
  readonly options: ResolvedChainOptions;
  readonly accounts: Accounts;
  readonly blocks = new BlockTable();
  readonly transactions = new TransactionTable();
  readonly messages = new MessageTable();
  readonly traces = new TraceTable();
  readonly events: Readonly<Record<Family, EventTable>> = {
    jetton_transfers: new EventTable(),
    jetton_burns: new EventTable(),
    nft_transfers: new EventTable(),
    validator_events: new EventTable(),
    pool_events: new EventTable(),
  };
  readonly rounds = new RoundTable();
  readonly ticks = new TickTable();
  /** Of each account, the row of its latest transaction. */
  readonly latest: Int32Array;
  private readonly spaces = new Map<string, HashSpace>();

  constructor(options: ResolvedChainOptions) {
    this.options = options;
    this.accounts = new Accounts(options.seed, options.accounts);
    this.latest = new Int32Array(this.accounts.count).fill(-1);
  }

  /** The hashes of one kind of thing: `transaction`, `message`, `root`, … */
  hashes = (kind: string): HashSpace => {
    let space = this.spaces.get(kind);
    if (space === undefined) {
      space = new HashSpace(this.options.seed, kind);
      this.spaces.set(kind, space);
    }
    return space;
  };

  /** True for the contracts that nominators put their stakes into: the first few. */
  isPool(account: number): boolean {
    const { accounts, options } = this;
    return accounts.role(account) === 'contract' && accounts.indexInRole(account) < options.pools;
  }

  /** The accounts of the nominator pools. */
  get pools(): number[] {
    return Array.from({ length: this.options.pools }, (_, index) => this.accounts.account('contract', index));
  }

  get tickCount(): number {
    return this.ticks.block.length;
  }

  seqnoOfTick(tick: number): number {
    return this.options.firstSeqno + tick;
  }

  /** Blocks that a tick's masterchain block registered, itself first. */
  registeredIn(tick: number): number[] {
    return slice(this.ticks.registered, this.ticks.firstRegistered, tick);
  }

  /** The tops of all shards as a tick's masterchain block knows them, itself first. */
  topsOf(tick: number): number[] {
    return slice(this.ticks.tops, this.ticks.firstTop, tick);
  }

  /** Rows of the transactions of one block, sorted by (lt, account). */
  transactionsOf(block: number): number[] {
    const rows: number[] = [];
    const count = this.blocks.transactions.get(block);
    if (count === 0) return rows;
    const round = this.blocks.round.get(block);
    for (let row = this.rounds.firstTransaction.get(round); rows.length < count; row++)
      if (this.transactions.block.get(row) === block) rows.push(row);
    return rows;
  }

  /** Rows of a trace's transactions in the order (lt, account). */
  transactionsOfTrace(trace: number): number[] {
    const rows = [this.traces.root.get(trace)];
    for (let at = 0; at < rows.length; at++) rows.push(...this.childrenOf(rows[at] ?? -1));
    return rows.sort((a, b) => a - b);
  }

  /** Transactions that received what a transaction sent. */
  childrenOf(transaction: number): number[] {
    const first = this.transactions.firstOut.get(transaction);
    const receivers = Array.from({ length: this.transactions.outCount.get(transaction) }, (_, index) =>
      this.messages.inTransaction.get(first + index),
    );
    return receivers.filter((receiver) => receiver >= 0);
  }

  utimeOf(transaction: number): number {
    return this.blocks.utime.get(this.transactions.block.get(transaction));
  }

  /** The tick that registered a transaction's block; -1 while none has. */
  tickOf(transaction: number): number {
    return this.blocks.tick.get(this.transactions.block.get(transaction));
  }
}

function slice(values: Column, firsts: Column, at: number): number[] {
  const end = at + 1 < firsts.length ? firsts.get(at + 1) : values.length;
  const rows: number[] = [];
  for (let index = firsts.get(at); index < end; index++) rows.push(values.get(index));
  return rows;
}

/** Rows of the transactions of one family. */
class EventTable {
  /** In the order (lt, account). */
  readonly byLt = Column.uint32();
  /** In the order (utime, lt, account). */
  readonly byTime = Column.uint32();

  /** Appends the rows of one round, ascending by (lt, account). */
  append(rows: readonly number[], utime: (row: number) => number): void {
    for (const row of rows) this.byLt.push(row);
    for (const row of rows.toSorted((a, b) => utime(a) - utime(b) || a - b)) this.byTime.push(row);
  }
}
