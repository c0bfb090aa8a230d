import { Column } from './column.ts';
import { NONE } from './block-table.ts';

/** The kinds of messages. Their order is not visible outside. */
export const OPS = [
  'empty',
  'text_comment',
  'wallet_signed',
  'jetton_transfer',
  'jetton_internal_transfer',
  'jetton_notify',
  'excess',
  'jetton_burn',
  'jetton_burn_notification',
  'nft_transfer',
  'nft_ownership_assigned',
  'call',
  'log',
  'bounced',
  'jetton_mint',
  'nft_mint',
  'system',
  'deploy',
  'encrypted_comment',
  'dex_swap',
  'dex_deposit',
  'dex_withdraw',
  'dex_payout',
  'nft_first_bid',
  'nft_sale',
  'nft_buy',
  'nft_bid',
  'nft_outbid',
  'nft_payout',
  'nft_update',
  'nft_cancel',
  'nft_finish',
  'change_dns',
  'fill_up',
  'tele_start',
  'tele_cancel',
  'tele_ok',
] as const;

export type Op = (typeof OPS)[number];

/** Bits of `flags`. `sure`: its receiver does not fail. */
export const MESSAGE = { bounce: 1, initState: 2, sure: 4 } as const;

/** Ends of messages that are not accounts of the network. */
export const OUTSIDE = -1;
export const SYSTEM = -2;

export interface MessageRow {
  readonly op: Op;
  /** An account, {@link OUTSIDE} (external-in) or {@link SYSTEM}. */
  readonly source: number;
  /** An account, or {@link OUTSIDE} (external-out). */
  readonly destination: number;
  readonly value: number;
  readonly extra: number;
  readonly fwdFee: number;
  readonly createdLt: number;
  readonly createdAt: number;
  readonly flags: number;
  readonly trace: number;
  readonly round: number;
  /** What a token message moves: jettons, or nanotons that stay with an exchange. Of an item, its price. */
  readonly amount: number;
  /**
   * Whom a token message names: the receiver of a transfer, or where its jettons or its item come from; of a sale its
   * item. {@link NONE} if it names none.
   */
  readonly party: number;
}

/** All messages in the order in which they appeared; the messages of one transaction lie together. */
export class MessageTable {
  readonly op = Column.uint8();
  readonly source = Column.int32();
  readonly destination = Column.int32();
  readonly value = Column.float64();
  readonly extra = Column.float64();
  readonly fwdFee = Column.uint32();
  readonly createdLt = Column.float64();
  readonly createdAt = Column.uint32();
  readonly flags = Column.uint8();
  readonly trace = Column.uint32();
  readonly round = Column.uint32();
  readonly amount = Column.float64();
  readonly party = Column.int32();
  /** The transaction that sent it; {@link NONE} for what comes from outside. */
  readonly outTransaction = Column.int32();
  /** The transaction that received it; {@link NONE} for logs, and while it is under way. */
  readonly inTransaction = Column.int32();

  get count(): number {
    return this.op.length;
  }

  push(row: MessageRow): number {
    this.op.push(OPS.indexOf(row.op));
    this.source.push(row.source);
    this.destination.push(row.destination);
    this.value.push(row.value);
    this.extra.push(row.extra);
    this.fwdFee.push(row.fwdFee);
    this.createdLt.push(row.createdLt);
    this.createdAt.push(row.createdAt);
    this.flags.push(row.flags);
    this.trace.push(row.trace);
    this.round.push(row.round);
    this.amount.push(row.amount);
    this.party.push(row.party);
    this.outTransaction.push(NONE);
    this.inTransaction.push(NONE);
    return this.count - 1;
  }

  opOf(message: number): Op {
    return OPS[this.op.get(message)] ?? 'empty';
  }

  has(message: number, flag: number): boolean {
    return (this.flags.get(message) & flag) !== 0;
  }

  isExternalIn(message: number): boolean {
    return this.source.get(message) === OUTSIDE;
  }

  isExternalOut(message: number): boolean {
    return this.destination.get(message) === OUTSIDE;
  }
}
