import type { Random } from '../../../random.ts';
import { NONE } from '../tables/block-table.ts';
import type { Executor } from './executor.ts';
import type { HeldTies } from './held-ties.ts';
import { OUTSIDE } from '../tables/message-table.ts';
import type { Tie } from '../options.ts';
import type { Round } from './round.ts';
import type { Draft } from '../tables/transaction-table.ts';

/** Messages under way: from the block that sent them, by way of the masterchain, to their receivers. */
export class Mailbox {
  private readonly executor: Executor;
  private readonly random: Random;
  private readonly held: HeldTies;
  /** Messages that a receiver may process. */
  private queue: number[] = [];
  /** Messages of blocks that the masterchain does not know yet. */
  private readonly outbox = new Map<number, number[]>();

  constructor(executor: Executor, random: Random, held: HeldTies) {
    this.executor = executor;
    this.random = random;
    this.held = held;
  }

  /** Messages that only wait for room in a block. */
  get waiting(): number {
    return Math.max(0, this.queue.length - this.held.heldMessages);
  }

  open(block: number): void {
    this.outbox.set(block, []);
  }

  /** The masterchain knows a block: what it sent may be received. */
  register(block: number): void {
    this.queue.push(...(this.outbox.get(block) ?? []));
    this.outbox.delete(block);
  }

  /** Leaves what a transaction sent to later blocks. */
  park(draft: Draft): void {
    for (const message of this.sentBy(draft)) this.outbox.get(draft.block)?.push(message);
  }

  /** Processes what a transaction sent within its own block, mostly at once, as a collator does. */
  cascade(round: Round, first: Draft): void {
    const stack = [first];
    for (let draft = stack.pop(); draft !== undefined; draft = stack.pop()) {
      for (const message of this.sentBy(draft)) {
        const here = round.blockFor(this.prefixOfReceiver(message)) === draft.block;
        if (here && !round.isFull && this.random.chance(0.6))
          stack.push(this.executor.receive(round, draft.block, message));
        else this.outbox.get(draft.block)?.push(message);
      }
    }
  }

  /** Receivers process what waits for them, as far as the round has room. */
  deliver(round: Round): void {
    // In a quiet network most rounds have no room at all.
    if (round.isFull) return;
    this.sift(round, (message, block) => {
      if (round.isFull || this.held.holds(message)) return false;
      this.cascade(round, this.executor.receive(round, block, message));
      return true;
    });
  }

  /** Receivers process what was held for the round's second, and nothing else. */
  deliverHeld(round: Round, tie: Tie): void {
    this.sift(round, (message, block) => {
      if (!this.held.release(message, tie)) return false;
      // Eight accounts for each lt, as in real blocks, unless they must share one.
      const floor = tie.sameLt === true ? 0 : round.baseLt + (round.drafts.length >> 3) * 3;
      this.park(this.executor.receive(round, block, message, floor));
      return true;
    });
  }

  /** Messages that are not taken stay in the queue. */
  private sift(round: Round, takes: (message: number, block: number) => boolean): void {
    this.queue = this.queue.filter((message) => {
      const block = round.blockFor(this.prefixOfReceiver(message));
      return block === NONE || !takes(message, block);
    });
  }

  private prefixOfReceiver(message: number): number {
    const { accounts, messages } = this.executor.world;
    return accounts.prefix(messages.destination.get(message));
  }

  private sentBy(draft: Draft): number[] {
    const sent: number[] = [];
    for (let message = draft.firstOut; message < draft.firstOut + draft.outCount; message++)
      if (this.executor.world.messages.destination.get(message) !== OUTSIDE) sent.push(message);
    return sent;
  }
}
