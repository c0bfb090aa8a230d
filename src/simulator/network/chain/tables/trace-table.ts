import { Column } from './column.ts';
import { NONE } from './block-table.ts';

/** The purpose with which the trace began. */
export const PURPOSES = [
  'tick_tock',
  'transfer',
  'batch',
  'fund',
  'jetton_transfer',
  'jetton_mint',
  'jetton_burn',
  'jetton_swap',
  'nft_transfer',
  'call',
  'deploy',
  'sweep',
  'emission',
  'oddity',
  'dex_deposit',
  'dex_withdraw',
  'nft_trade',
] as const;

export type Purpose = (typeof PURPOSES)[number];

export interface TraceRow {
  readonly purpose: Purpose;
  /** The account that began the trace. */
  readonly actor: number;
  /** The other party: a wallet, an item, a contract, a pool. */
  readonly partner: number;
  /** Which of the actor's jettons, or which of the contracts that offer an item. */
  readonly slot: number;
  /** Units of a jetton; of an item that is offered the price, nanotons; of a swap the pool that pays. */
  readonly amount: number;
}

/** All traces in the order in which they began. */
export class TraceTable {
  readonly purpose = Column.uint8();
  readonly actor = Column.uint32();
  readonly partner = Column.uint32();
  readonly slot = Column.uint8();
  readonly amount = Column.float64();
  /** The first transaction. */
  readonly root = Column.int32();
  /** The transaction with the greatest lt. */
  readonly last = Column.int32();
  readonly transactions = Column.uint32();
  readonly messages = Column.uint32();
  /** Messages that wait for their receiver: 0 means complete. */
  readonly underWay = Column.int32();
  /** The latest second of its transactions. */
  readonly endUtime = Column.uint32();
  /** Complete traces in the order (end_lt, trace_id). */
  readonly byLt = Column.uint32();
  /** Complete traces in the order (end_utime, trace_id). */
  readonly byTime = Column.uint32();

  get count(): number {
    return this.purpose.length;
  }

  push(row: TraceRow): number {
    this.purpose.push(PURPOSES.indexOf(row.purpose));
    this.actor.push(row.actor);
    this.partner.push(row.partner);
    this.slot.push(row.slot);
    this.amount.push(row.amount);
    this.root.push(NONE);
    this.last.push(NONE);
    this.transactions.push(0);
    this.messages.push(0);
    this.underWay.push(0);
    this.endUtime.push(0);
    return this.count - 1;
  }

  purposeOf(trace: number): Purpose {
    return PURPOSES[this.purpose.get(trace)] ?? 'transfer';
  }
}
