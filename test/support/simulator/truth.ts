import type { BocMaker } from '../../../src/simulator/network/chain/boc.ts';
import type { Chain } from '../../../src/simulator/http/server.ts';
import { NONE } from '../../../src/simulator/network/chain/tables/block-table.ts';
import type { Family } from '../../../src/simulator/network/chain/tables/family.ts';
import { supportedTypes } from '../../../src/simulator/network/actions/made-action.ts';
import { ChainLedger } from '../../../src/simulator/network/ledger/chain-ledger.ts';
import type { World } from '../../../src/simulator/network/chain/world.ts';
import type { Entities } from '../../../src/simulator/network/entities/entities.ts';
import type { ActionJson } from '../../../src/simulator/json/action-json.ts';
import { blockJson, type BlockJson } from '../../../src/simulator/json/block-json.ts';
import { messageRowJson, type MessageJson } from '../../../src/simulator/json/message-json.ts';
import { lastSeqno, traceJson, type TraceJson } from '../../../src/simulator/json/trace-json.ts';
import {
  jettonBurnJson,
  jettonTransferJson,
  nftTransferJson,
  type JettonBurnJson,
  type JettonTransferJson,
  type NftTransferJson,
} from '../../../src/simulator/json/token-json.ts';
import type { ComplaintJson } from '../../../src/simulator/network/staking/complaint.ts';
import type { NominatorEventJson } from '../../../src/simulator/network/staking/nominator-events.ts';
import type { PoolEventJson } from '../../../src/simulator/network/staking/pool-events.ts';
import type { CycleJson } from '../../../src/simulator/network/staking/cycle-json.ts';
import type { ValidatorEventJson } from '../../../src/simulator/network/staking/validator-event.ts';
import { transactionJson, type TransactionJson } from '../../../src/simulator/json/transaction-json.ts';
import { v2Transaction, type V2TransactionJson } from '../../../src/simulator/http/v2/v2-api.ts';
import type { Range } from '../../../src/range.ts';

const ALWAYS: Range = { from: 0, to: Infinity };

/**
 * The network as far as it has been generated, without regard to heads, holes and faults. Tests compare it
 * with what was read through the API. Blocks that no masterchain block has registered yet, and their
 * contents, are left out.
 */
export class Truth {
  readonly world: World;
  private readonly chain: Chain;
  private readonly bocs: BocMaker;
  private readonly ledger: ChainLedger;

  constructor(chain: Chain) {
    this.chain = chain;
    this.world = chain.world;
    this.ledger = new ChainLedger(chain.world, {});
    this.bocs = this.ledger.bocs;
  }

  /** Generates the network up to a second, so that it can be compared. */
  extendTo(utime: number): this {
    this.chain.extendTo(utime);
    return this;
  }

  /** The newest masterchain block. */
  head(): BlockJson {
    return blockJson(this.world, this.world.ticks.block.get(this.world.tickCount - 1));
  }

  /** Blocks by gen_utime, ascending. */
  *blocks(span: Range = ALWAYS): Generator<BlockJson> {
    for (const row of this.blockRows(span)) yield blockJson(this.world, row);
  }

  /** Transactions by now, ascending by (now, lt, account). */
  *transactions(span: Range = ALWAYS): Generator<TransactionJson> {
    for (const row of this.transactionRows(span)) yield transactionJson(this.world, this.bocs, row);
  }

  /** Messages by created_at, or by the receiver's time if they have none; each once, with both transactions. */
  *messages(span: Range = ALWAYS): Generator<MessageJson> {
    for (const row of this.messageRows(span))
      yield messageRowJson(this.world, this.bocs, row, { in: true, out: true });
  }

  /** Complete traces by end_utime, ascending by (end_utime, trace_id). */
  *traces(span: Range = ALWAYS): Generator<TraceJson> {
    for (const trace of this.traceRows(span)) yield traceJson(this.world, this.bocs, trace);
  }

  /**
   * What complete traces did in the end, once the classifier is done with them, by the trace's end_utime.
   * `types`: the supported ones, as in the request; default everything that build 1.3 knows by itself.
   * Ascending by (trace_end_utime, trace_id); numbers beyond 2^53 in details are bigints.
   */
  *actions(span: Range = ALWAYS, types: readonly string[] = []): Generator<ActionJson> {
    const { actions } = this.ledger;
    const supported = supportedTypes(types, '1.3');
    for (const trace of this.traceRows(span))
      for (const row of actions.settled(trace)) {
        const { type, ancestors } = actions.facts(row);
        if (supported.has(type) && !ancestors.some((ancestor) => supported.has(ancestor)))
          yield actions.json(row);
      }
  }

  /** The contracts of the network once all of it is visible. */
  entities(): Entities {
    return this.ledger.entities.at({ headTime: Infinity, head: undefined, seesMasterchain: () => true });
  }

  /** An account's transactions as v2 prints them, newest first; the account in raw form. */
  accountTransactions(address: string): V2TransactionJson[] {
    const { node } = this.ledger;
    return node
      .ofAccount(address)
      .toReversed()
      .filter((row) => this.world.tickOf(row) !== NONE)
      .map((row) => v2Transaction(this.world, this.bocs, row));
  }

  /** Jetton transfers that succeeded, by time, ascending by (utime, lt, account of the jetton wallet). */
  *jettonTransfers(span: Range = ALWAYS): Generator<JettonTransferJson> {
    for (const row of this.eventRows('jetton_transfers', span))
      yield jettonTransferJson(this.world, this.bocs, row);
  }

  /** Jetton burns, failed ones too, in the order of transfers. */
  *jettonBurns(span: Range = ALWAYS): Generator<JettonBurnJson> {
    for (const row of this.eventRows('jetton_burns', span)) yield jettonBurnJson(this.world, this.bocs, row);
  }

  /** Transfers of items, failed ones too, ascending by (utime, lt, account of the item). */
  *nftTransfers(span: Range = ALWAYS): Generator<NftTransferJson> {
    for (const row of this.eventRows('nft_transfers', span))
      yield nftTransferJson(this.world, this.bocs, row);
  }

  /** What the elector did with stakes, ascending by (utime, lt). */
  *validatorEvents(span: Range = ALWAYS): Generator<ValidatorEventJson> {
    for (const row of this.eventRows('validator_events', span))
      yield this.ledger.staking.validatorEvents.json(row);
  }

  /**
   * Complaints by created_at, ascending by (created_at, hash), in their state at a second of chain time:
   * default the newest masterchain block's.
   */
  validatorComplaints({ from, to }: Range = ALWAYS, at = Number(this.head().gen_utime)): ComplaintJson[] {
    return this.ledger.staking.complaints({ first: from, last: to - 1 }, at);
  }

  /** Cycles of validators with their validators, in their state at the newest masterchain block. */
  cycles(): CycleJson[] {
    return this.ledger.staking.cycles(Number(this.head().gen_utime), true);
  }

  /** Addresses of the nominator pools. */
  get pools(): string[] {
    return this.world.pools.map((pool) => this.world.accounts.address(pool));
  }

  /** Changes of the validator's money in a pool, ascending by (utime, lt). */
  *poolEvents(pool: string, span: Range = ALWAYS): Generator<PoolEventJson> {
    for (const row of this.eventRows('pool_events', span)) {
      const event = this.ledger.staking.poolEvents.json(row);
      if (event.pool_address === pool) yield event;
    }
  }

  /** Changes of the money of a pool's nominators, ascending by (utime, lt) and in the order of the index. */
  *nominatorEvents(pool: string, span: Range = ALWAYS): Generator<NominatorEventJson> {
    for (const row of this.eventRows('pool_events', span))
      for (const event of this.ledger.staking.nominatorEvents.json(row))
        if (event.pool_address === pool) yield event;
  }

  counts(span: Range = ALWAYS): {
    readonly blocks: number;
    readonly transactions: number;
    readonly messages: number;
  } {
    return {
      blocks: count(this.blockRows(span)),
      transactions: count(this.transactionRows(span)),
      messages: count(this.messageRows(span)),
    };
  }

  private *blockRows({ from, to }: Range): Generator<number> {
    const { blocks } = this.world;
    for (let at = blocks.byTime.lowerBound(from, (row) => blocks.utime.get(row)); at < blocks.count; at++) {
      const row = blocks.byTime.get(at);
      if (blocks.utime.get(row) >= to) return;
      if (blocks.tick.get(row) !== NONE) yield row;
    }
  }

  private *transactionRows({ from, to }: Range): Generator<number> {
    const { transactions } = this.world;
    const first = transactions.byTime.lowerBound(from, (row) => this.world.utimeOf(row));
    for (let at = first; at < transactions.count; at++) {
      const row = transactions.byTime.get(at);
      if (this.world.utimeOf(row) >= to) return;
      if (this.world.tickOf(row) !== NONE) yield row;
    }
  }

  private *traceRows({ from, to }: Range): Generator<number> {
    const { traces } = this.world;
    const first = traces.byTime.lowerBound(from, (trace) => traces.endUtime.get(trace));
    for (let at = first; at < traces.byTime.length; at++) {
      const trace = traces.byTime.get(at);
      if (traces.endUtime.get(trace) >= to) return;
      if (lastSeqno(this.world, trace) !== NONE) yield trace;
    }
  }

  private *eventRows(family: Family, { from, to }: Range): Generator<number> {
    const { byTime } = this.world.events[family];
    for (let at = byTime.lowerBound(from, (row) => this.world.utimeOf(row)); at < byTime.length; at++) {
      const row = byTime.get(at);
      if (this.world.utimeOf(row) >= to) return;
      if (this.world.tickOf(row) !== NONE) yield row;
    }
  }

  private *messageRows({ from, to }: Range): Generator<number> {
    const { messages } = this.world;
    for (let row = 0; row < messages.count; row++) {
      const receiver = messages.inTransaction.get(row);
      const sender = messages.outTransaction.get(row);
      const utime = messages.isExternalIn(row) ? this.world.utimeOf(receiver) : messages.createdAt.get(row);
      const seen = (transaction: number): boolean =>
        transaction !== NONE && this.world.tickOf(transaction) !== NONE;
      if (utime >= from && utime < to && (seen(receiver) || seen(sender))) yield row;
    }
  }
}

function count(rows: Generator<number>): number {
  let total = 0;
  while (rows.next().done !== true) total++;
  return total;
}
