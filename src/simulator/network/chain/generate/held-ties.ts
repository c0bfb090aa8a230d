import { SLOTS } from '../tables/accounts.ts';
import type { Executor } from './executor.ts';
import type { Intent, Opener } from './opener.ts';
import type { Tie } from '../options.ts';
import type { OutgoingMessage } from './reactions.ts';
import type { Round } from './round.ts';
import type { Draft } from '../tables/transaction-table.ts';
import type { Random } from '../../../random.ts';
import { NONE } from '../tables/block-table.ts';
import { OUTSIDE } from '../tables/message-table.ts';

/** What each message of a tie carries, nanotons. */
const VALUE = 60_000_000;
/** Messages that one wallet sends, if they need not share one lt. */
const EACH = 8;
/** Seconds before the tie in which its messages are sent. */
const AHEAD = 40;

interface HeldGathering {
  readonly tie: Tie;
  /** How many messages are still to be sent. */
  missing: number;
  /** The next wallet, or item, to think of: they come in turn, again and again. */
  next: number;
  /** Accounts that are to receive something. */
  readonly receivers: Set<number>;
  /** The wallets that send the transfers of items that are not minted yet. */
  readonly senders: Map<number, number>;
}

/**
 * Fills a second with transactions of one family: wallets send the messages for it ahead of time, and the messages
 * are held back until that second.
 */
export class HeldTies {
  private readonly executor: Executor;
  private readonly opener: Opener;
  private readonly gatherings: readonly HeldGathering[];
  private readonly held = new Map<number, Tie>();

  constructor(executor: Executor, opener: Opener, ties: readonly Tie[]) {
    this.executor = executor;
    this.opener = opener;
    this.gatherings = ties.map((tie) => ({
      tie,
      missing: tie.count,
      next: executor.world.accounts.exchanges,
      receivers: new Set<number>(),
      senders: new Map<number, number>(),
    }));
  }

  get any(): boolean {
    return this.gatherings.length > 0;
  }

  get heldMessages(): number {
    return this.held.size;
  }

  holds(message: number): boolean {
    return this.held.has(message);
  }

  /** Takes a message out of a queue if it belongs to a tie. */
  release(message: number, tie: Tie): boolean {
    return this.held.get(message) === tie && this.held.delete(message);
  }

  /** Begins the traces whose messages are held; they stand outside of the round's quota. */
  prepare(round: Round): Draft[] {
    return this.gatherings.flatMap((gathering) => this.gather(round, gathering));
  }

  private gather(round: Round, gathering: HeldGathering): Draft[] {
    const { tie } = gathering;
    if (!this.isGathering(round, tie)) return [];
    const drafts: Draft[] = [];
    const rest = Math.max(0, gathering.missing - Math.max(150, Math.ceil(tie.count / 8)));
    const turns = this.executor.world.accounts.wallets;
    for (let turn = 0; turn < turns && gathering.missing > rest; turn++) {
      const intent = this.intent(gathering);
      if (intent === undefined || (tie.sameLt === true && this.repeats(gathering, intent))) continue;
      const draft = this.opener.run(round, intent);
      if (draft === undefined) continue;
      for (const { to } of intent.outs) gathering.receivers.add(to);
      drafts.push(draft);
      gathering.missing -= draft.outCount;
      for (let at = 0; at < draft.outCount; at++) this.held.set(draft.firstOut + at, tie);
    }
    return drafts;
  }

  /** True in the seconds in which the messages of a tie are sent. */
  private isGathering({ utime }: Round, { second }: Tie): boolean {
    const interval = this.executor.world.options.masterchainInterval;
    return utime >= second - AHEAD - 8 * interval && utime < second - 2 * interval - 1;
  }

  /** What the next wallet sends; undefined if it cannot. */
  private intent(gathering: HeldGathering): Intent | undefined {
    switch (gathering.tie.of) {
      case 'jetton_transfers':
        return this.jettons(gathering, 'jetton_transfer');
      case 'jetton_burns':
        return this.jettons(gathering, 'jetton_burn');
      case 'nft_transfers':
        return this.item(gathering);
      default:
        return this.call(gathering);
    }
  }

  /** Rows that share one lt are transactions of as many accounts. */
  private repeats({ receivers }: HeldGathering, { outs }: Intent): boolean {
    return outs.some(({ to }) => receivers.has(to));
  }

  private nextWallet(gathering: HeldGathering): number {
    const { accounts } = this.executor.world;
    if (gathering.next >= accounts.wallets) gathering.next = accounts.exchanges;
    return accounts.account('wallet', gathering.next++);
  }

  private jettons(gathering: HeldGathering, op: 'jetton_transfer' | 'jetton_burn'): Intent | undefined {
    const { world, states } = this.executor;
    const { tie } = gathering;
    const actor = this.nextWallet(gathering);
    const wallets = Array.from({ length: SLOTS }, (_, slot) => world.accounts.jettonWallet(actor, slot));
    const least = Math.min(...wallets.map((wallet) => states.tokensOf(wallet)));
    const amount = Math.floor(Math.max(0, least) / (EACH * 2));
    const count = Math.min(gathering.missing, tie.sameLt === true ? SLOTS : EACH);
    const partner = op === 'jetton_burn' ? actor : this.opener.sameGroup(actor);
    const outs = Array.from({ length: count }, (_, at) => ({
      ...message(op, wallets[at % SLOTS] ?? 0),
      amount,
      party: partner,
    }));
    return { purpose: op, actor, partner, outs };
  }

  /** An item is sent by its owner. If it has none yet, a wallet sends it with its code. */
  private item(gathering: HeldGathering): Intent | undefined {
    const { world, states } = this.executor;
    const { accounts } = world;
    const { tie, senders } = gathering;
    const index = gathering.next++ - accounts.exchanges;
    const item = accounts.account('nft_item', index % accounts.wallets);
    const owner = states.market.ownerOf(item);
    const unminted = accounts.account(
      'wallet',
      accounts.exchanges + (index % (accounts.wallets - accounts.exchanges)),
    );
    const actor = owner ?? senders.get(item) ?? unminted;
    if (!states.isActive(actor) || accounts.role(actor) !== 'wallet') return undefined;
    senders.set(item, actor);
    // If items must move more than once, each keeps its owner.
    const stays = tie.count > accounts.wallets / 2;
    const receiver = stays ? actor : this.opener.sameGroup(actor);
    return {
      purpose: 'nft_transfer',
      actor,
      partner: item,
      outs: [{ ...message('nft_transfer', item), party: receiver }],
    };
  }

  private call(gathering: HeldGathering): Intent | undefined {
    const [pool = 0] = this.executor.world.pools;
    const actor = this.nextWallet(gathering);
    const count = Math.min(gathering.missing, EACH);
    return {
      purpose: 'call',
      actor,
      partner: pool,
      outs: Array.from({ length: count }, () => message('call', pool)),
    };
  }
}

function message(op: OutgoingMessage['op'], to: number): OutgoingMessage {
  return { op, to, value: VALUE, bounce: true, sure: true };
}

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
