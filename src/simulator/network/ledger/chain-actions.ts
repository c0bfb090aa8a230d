import type { NetworkAction } from '../actions/made-action.ts';
import { classify, classifyAtFirst } from '../actions/classify.ts';
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
