import { type NetworkAction, legOf, succeeded, type Leg } from '../actions/made-action.ts';
import type { BocMaker } from '../chain/boc.ts';
import type { World } from '../chain/world.ts';
import type { Faults } from '../../faults.ts';
import {
  actionAccounts,
  actionJson,
  actionTimes,
  actionText,
  type ActionJson,
} from '../../json/action-json.ts';
import type { ActionFacts, ActionSource, TraceSource } from '../../ledger.ts';
import type { View } from '../../network-view.ts';
import { mix32 } from '../../random.ts';
import { NONE } from '../chain/tables/block-table.ts';
import { SYSTEM, type Op } from '../chain/tables/message-table.ts';
import { TRANSACTION } from '../chain/tables/transaction-table.ts';
import { call, coins, coinsArrived, deployment } from '../actions/call-details.ts';
import { contractActions } from '../actions/contract-actions.ts';
import { deposit, swap, withdrawal } from '../actions/exchange-actions.ts';
import * as nft from '../actions/nft-actions.ts';
import { jettonBurn, jettonMint, jettonTransfers } from '../actions/token-actions.ts';
import type { Purpose } from '../chain/tables/trace-table.ts';

/** An action's row: its trace, which of the trace's two classifications it belongs to, and its place there. */
const PLACES = 512;
const AT_FIRST = 0;
const SETTLED = 1;
const REMEMBERED = 4096;

/** Actions of a generated network. They are computed for each query, and not stored. */
export class ChainActions implements ActionSource {
  private readonly world: World;
  private readonly bocs: BocMaker;
  private readonly traces: TraceSource;
  private readonly faults: Faults;
  /** The latest classifications, by trace and turn. */
  private readonly recent = new Map<number, readonly NetworkAction[]>();

  constructor(world: World, bocs: BocMaker, traces: TraceSource, faults: Faults) {
    this.world = world;
    this.bocs = bocs;
    this.traces = traces;
    this.faults = faults;
  }

  ofTrace(view: View, trace: number): readonly number[] {
    if (!this.traces.visible(view, trace)) return [];
    const turn = this.turn(view, trace);
    return turn === undefined ? [] : this.rows(trace, turn);
  }

  tracesOf(ids: readonly string[]): readonly number[] {
    const { traces } = this.world;
    const rows = ids.map((id) => this.world.hashes('action').indexOf(id, traces.count * 2 * PLACES));
    return [...new Set(rows.filter((row) => row !== undefined).map(traceOf))].filter(
      (trace) => traces.underWay.get(trace) === 0,
    );
  }

  facts(row: number): ActionFacts {
    const action = this.action(row);
    const { startLt, endLt, endUtime } = actionTimes(this.world, action);
    const { world } = this;
    return {
      id: world.hashes('action').text(row),
      type: action.type,
      ancestors: action.ancestors,
      startLt,
      endLt,
      endUtime,
      transactions: action.transactions,
      get accounts() {
        return actionAccounts(world, action);
      },
    };
  }

  text(row: number, { accounts }: { readonly accounts: boolean }): string {
    const body = this.json(row);
    if (!accounts) return actionText(body);
    return actionText({ ...body, accounts: actionAccounts(this.world, this.action(row)) });
  }

  /** The JSON of one action, without its accounts. */
  json(row: number): ActionJson {
    return actionJson(this.world, traceOf(row), this.action(row), this.world.hashes('action').text(row));
  }

  /** Rows of what a trace has in the end. */
  settled(trace: number): readonly number[] {
    return this.rows(trace, SETTLED);
  }

  /** Which classification a view shows of a complete trace; undefined: none yet. */
  private turn(view: View, trace: number): typeof AT_FIRST | typeof SETTLED | undefined {
    const { lateActions, reclassify } = this.faults;
    if (lateActions === undefined && reclassify === undefined) return SETTLED;
    const { least = 0, most = 0 } = lateActions ?? {};
    const late = least + ((most - least) * mix32(trace ^ 0x1a7e)) / 2 ** 32;
    const appears = this.completedAt(trace) + late;
    if (view.headTime < appears) return undefined;
    if (reclassify === undefined || view.headTime >= appears + reclassify.seconds) return SETTLED;
    return mix32(trace ^ 0x7e5) < reclassify.probability * 2 ** 32 ? AT_FIRST : SETTLED;
  }

  /** The second of the masterchain block that made a trace whole. */
  private completedAt(trace: number): number {
    const ticks = this.world.transactionsOfTrace(trace).map((row) => this.world.tickOf(row));
    return this.world.ticks.utime.get(Math.max(...ticks));
  }

  private rows(trace: number, turn: number): readonly number[] {
    return this.classified(trace, turn).map((_, index) => (trace * 2 + turn) * PLACES + index);
  }

  private action(row: number): NetworkAction {
    const action = this.classified(traceOf(row), Math.floor(row / PLACES) % 2)[row % PLACES];
    if (action === undefined) throw new RangeError(`There is no action ${row}.`);
    return action;
  }

  private classified(trace: number, turn: number): readonly NetworkAction[] {
    const key = trace * 2 + turn;
    const known = this.recent.get(key);
    if (known !== undefined) return known;
    const found = (turn === SETTLED ? classify : classifyAtFirst)(this.world, this.bocs, trace);
    if (this.recent.size >= REMEMBERED) this.recent.clear();
    this.recent.set(key, found);
    return found;
  }
}

function traceOf(row: number): number {
  return Math.floor(row / (2 * PLACES));
}

/** One in this many traces is never classified. */
const UNCLASSIFIED = 40;
/** The classifier gives up on larger traces. */
const MOST_ACTIONS = 500;

/**
 * The final actions of a complete trace, whatever was shown of it before. Parts of composite actions are included,
 * with their ancestors.
 */
function classify(world: World, bocs: BocMaker, trace: number): NetworkAction[] {
  const root = world.traces.root.get(trace);
  const actions = allActions(world, bocs, root);
  const first = actions[0];
  if (first === undefined || first.transactions.length < 2) return actions;
  return mix32(trace ^ 0x5eed) % UNCLASSIFIED === 0 ? [] : actions;
}

/** The first actions of a trace that is classified again later; see {@link classify} for the final ones. */
function classifyAtFirst(world: World, bocs: BocMaker, trace: number): NetworkAction[] {
  const root = world.traces.root.get(trace);
  const settled = classify(world, bocs, trace);
  const dice = mix32(trace ^ 0xf1a57) % 100;
  if (settled.length > 0 && dice < 40) return settled;
  if (settled.length > 1 && dice < 60) return settled.slice(0, 1);
  if (settled.length > 0 && dice < 75) return [];
  return allActions(world, bocs, root).slice(0, 2).map(basic(world));
}

/** Any action as a plain contract call, which is the fallback. */
function basic(world: World): (action: NetworkAction) => NetworkAction {
  return (action) => {
    const { transactions } = action;
    const received = world.transactions.inMessage.get(transactions.at(-1) ?? NONE);
    return { ...action, type: 'call_contract', ancestors: [], details: () => call(world, received) };
  };
}

function allActions(world: World, bocs: BocMaker, root: number): NetworkAction[] {
  const { transactions } = world;
  const actions = actionsOfRoot(world, root);
  if (transactions.inMessage.get(root) === NONE) return actions;
  const first = transactions.firstOut.get(root);
  const sent = transactions.outCount.get(root);
  for (let message = first; message < first + sent && actions.length < MOST_ACTIONS; message++) {
    const leg = legOf(world, bocs, root, message);
    if (leg !== undefined) actions.push(...actionsOfLeg(leg));
  }
  return actions;
}

/** The action of a trace's first transaction itself, whatever it sends. */
function actionsOfRoot(world: World, root: number): NetworkAction[] {
  const { transactions, messages } = world;
  const kind = transactions.kindOf(root);
  const received = transactions.inMessage.get(root);
  if (received === NONE)
    return kind === 'tick' || kind === 'tock' ? [only(root, 'tick_tock', () => ({}))] : [];
  if (messages.isExternalIn(received) && transactions.has(root, TRANSACTION.activated))
    return [only(root, 'contract_deploy', () => deployment(world, received))];
  if (transactions.outCount.get(root) === 0 || messages.source.get(received) === SYSTEM)
    return [only(root, 'call_contract', () => call(world, received))];
  return [];
}

function only(row: number, type: string, details: () => object): NetworkAction {
  return { type, ancestors: [], transactions: [row], success: true, details };
}

function actionsOfLeg(leg: Leg): NetworkAction[] {
  const op = leg.world.messages.opOf(leg.message);
  const onExchange = EXCHANGES[leg.world.traces.purposeOf(leg.trace)];
  return (onExchange ?? KNOWN[op])?.(leg) ?? tonTransfer(leg);
}

const EXCHANGES: Readonly<Partial<Record<Purpose, (leg: Leg) => NetworkAction[]>>> = {
  jetton_swap: swap,
  dex_deposit: deposit,
  dex_withdraw: withdrawal,
};

const KNOWN: Readonly<Partial<Record<Op, (leg: Leg) => NetworkAction[] | undefined>>> = {
  jetton_transfer: (leg) => jettonTransfers(leg).slice(0, 1),
  jetton_burn: jettonBurn,
  jetton_mint: jettonMint,
  nft_mint: nft.nftMint,
  nft_first_bid: nft.nftMint,
  nft_transfer: nft.nftTransfer,
  nft_buy: nft.nftBuy,
  nft_bid: nft.nftBid,
  nft_cancel: nft.offerEnd,
  nft_finish: nft.offerEnd,
  nft_update: nft.priceChange,
  change_dns: nft.domainClaim,
  tele_start: nft.nameOffer,
  tele_cancel: nft.nameOffer,
  call: contractActions,
  deploy: (leg) => {
    const activated = leg.world.transactions.has(leg.receiver, TRANSACTION.activated);
    return activated ? [ofLeg(leg, 'contract_deploy', deployment)] : [ofLeg(leg, 'call_contract', call)];
  },
};

function ofLeg(leg: Leg, type: string, details: (world: World, message: number) => object): NetworkAction {
  return {
    type,
    ancestors: [],
    transactions: leg.transactions,
    success: succeeded(leg),
    details: () => details(leg.world, leg.message),
  };
}

function tonTransfer(leg: Leg): NetworkAction[] {
  return [{ ...ofLeg(leg, 'ton_transfer', coins), success: coinsArrived(leg.world, leg.receiver) }];
}
