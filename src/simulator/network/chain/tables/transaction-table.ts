import { Column } from './column.ts';

/** How a transaction went. */
export const KINDS = [
  'tick',
  'tock',
  'ok',
  'failed',
  'no_state',
  'action_failed',
  'split_prepare',
  'storage',
  'frozen',
] as const;

export type Kind = (typeof KINDS)[number];

export const STATUSES = ['nonexist', 'uninit', 'active', 'frozen'] as const;

export type StatusCode = (typeof STATUSES)[number];

/** Bits of `flags`. */
export const TRANSACTION = { bounced: 1, destroyed: 2, activated: 4 } as const;

/** A transaction while its round is being made: rows get their place when the round is sorted. */
export interface Draft {
  readonly account: number;
  readonly lt: number;
  readonly utime: number;
  readonly block: number;
  readonly trace: number;
  /** The message received, or NONE. */
  readonly inMessage: number;
  kind: Kind;
  flags: number;
  firstOut: number;
  outCount: number;
  storageFee: number;
  gasFee: number;
  actionFee: number;
  importFee: number;
  balance: number;
  extra: number;
  statusBefore: StatusCode;
  statusAfter: StatusCode;
  /** The account's transaction before: a row, a draft of the same round, or nothing. */
  previous: Draft | number;
  row: number;
}

/** All transactions, sorted by (lt, account). */
export class TransactionTable {
  readonly account = Column.uint32();
  readonly lt = Column.float64();
  readonly block = Column.uint32();
  readonly trace = Column.uint32();
  readonly inMessage = Column.int32();
  readonly kind = Column.uint8();
  readonly flags = Column.uint8();
  readonly firstOut = Column.uint32();
  readonly outCount = Column.uint32();
  readonly storageFee = Column.uint32();
  readonly gasFee = Column.uint32();
  readonly actionFee = Column.uint32();
  readonly importFee = Column.uint32();
  /** Nanotons after the transaction. */
  readonly balance = Column.float64();
  /** Units of the one extra currency after the transaction. */
  readonly extra = Column.float64();
  readonly statusBefore = Column.uint8();
  readonly statusAfter = Column.uint8();
  readonly previous = Column.int32();
  /** Rows in the order (utime, lt, account). */
  readonly byTime = Column.uint32();

  get count(): number {
    return this.account.length;
  }

  /** Appends the drafts of one round, which must already be sorted by (lt, account). */
  append(drafts: readonly Draft[]): void {
    const first = this.count;
    drafts.forEach((draft, index) => (draft.row = first + index));
    for (const draft of drafts) this.push(draft);
    const byTime = drafts.toSorted((a, b) => a.utime - b.utime || a.row - b.row);
    for (const draft of byTime) this.byTime.push(draft.row);
  }

  kindOf(transaction: number): Kind {
    return KINDS[this.kind.get(transaction)] ?? 'ok';
  }

  statusBeforeOf(transaction: number): StatusCode {
    return STATUSES[this.statusBefore.get(transaction)] ?? 'nonexist';
  }

  statusAfterOf(transaction: number): StatusCode {
    return STATUSES[this.statusAfter.get(transaction)] ?? 'nonexist';
  }

  has(transaction: number, flag: number): boolean {
    return (this.flags.get(transaction) & flag) !== 0;
  }

  totalFees(transaction: number): number {
    const fees = this.storageFee.get(transaction) + this.gasFee.get(transaction);
    return fees + this.actionFee.get(transaction) + this.importFee.get(transaction);
  }

  private push(draft: Draft): void {
    this.account.push(draft.account);
    this.lt.push(draft.lt);
    this.block.push(draft.block);
    this.trace.push(draft.trace);
    this.inMessage.push(draft.inMessage);
    this.kind.push(KINDS.indexOf(draft.kind));
    this.flags.push(draft.flags);
    this.firstOut.push(draft.firstOut);
    this.outCount.push(draft.outCount);
    this.storageFee.push(draft.storageFee);
    this.gasFee.push(draft.gasFee);
    this.actionFee.push(draft.actionFee);
    this.importFee.push(draft.importFee);
    this.balance.push(draft.balance);
    this.extra.push(draft.extra);
    this.statusBefore.push(STATUSES.indexOf(draft.statusBefore));
    this.statusAfter.push(STATUSES.indexOf(draft.statusAfter));
    this.previous.push(typeof draft.previous === 'number' ? draft.previous : draft.previous.row);
  }
}
