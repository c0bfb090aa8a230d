import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ActionJson } from '../../src/simulator/json/action-json.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { ask, type Reply } from './ask.ts';
import { makeDetailsValidator, makeValidator } from './open-api.ts';
import { hasOpenapi, NO_OPENAPI } from '../support/shared-data.ts';
import { some } from '../support/thorough.ts';

const START = 1_767_225_600;
const SIZE = { start: START, duration: 1200, load: 12, accounts: 300 } as const;
const WINDOW = `start_utime=${START + 300}&end_utime=${START + 700}&sort=asc`;
const NOTHING_ELSE = 'x_no_address_book=true&x_no_metadata=true';

const actionsOf = (reply: Reply): ActionJson[] => reply.body.actions ?? [];
const idsOf = (actions: readonly ActionJson[]): string[] => actions.map((action) => action.action_id);
/** The values as sent: numbers beyond 2^53 lose their last digits in a test that parses them like this. */
const wire = (action: ActionJson): unknown =>
  JSON.parse(
    JSON.stringify(action, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)),
  );

interface Swap {
  readonly dex: string;
  readonly dex_incoming_transfer: { readonly asset: string | null; readonly amount: string };
  readonly dex_outgoing_transfer: { readonly asset: string | null; readonly amount: string };
  readonly peer_swaps: readonly {
    readonly asset_in: string | null;
    readonly amount_in: string;
    readonly asset_out: string | null;
    readonly amount_out: string;
  }[];
}

/** All actions of a window, read by offset in the total order. */
async function readAll(simulator: Simulator, query: string): Promise<ActionJson[]> {
  const found: ActionJson[] = [];
  for (let offset = 0; ; offset += 700) {
    const page = actionsOf(
      await ask(simulator, `/api/v3/actions?${query}&limit=700&offset=${offset}&${NOTHING_ELSE}`),
    );
    found.push(...page);
    if (page.length < 700) return found;
  }
}

describe.each(some(['1.3', '1.2'] as const, 1))('actions of build %s', (build) => {
  let simulator: Simulator;
  let all: ActionJson[];
  let transactions: Map<string, TransactionJson>;
  /** What the build supports by itself. */
  const latest = build === '1.2' ? ['v4'] : ['v5'];

  beforeAll(async () => {
    simulator = await startSimulator({ ...SIZE, build });
    all = [...simulator.truth.actions(undefined, latest)];
    transactions = new Map([...simulator.truth.transactions()].map((row) => [row.hash, row]));
  });
  afterAll(() => simulator.close());

  test.skipIf(!hasOpenapi)(`are as described, details and all (${NO_OPENAPI} if it is absent)`, async () => {
    const validate = makeValidator();
    const validateDetails = makeDetailsValidator();
    for (const query of [
      'limit=1000&sort=asc',
      'limit=200&include_accounts=true&include_transactions=true',
      'limit=1000&offset=3000&supported_action_types=v1',
      'limit=1001',
      'action_type=a-b',
      'mc_seqno=99999',
    ]) {
      const { status, body } = await ask(simulator, `/api/v3/actions?${query}`);
      expect(validate('/api/v3/actions', status, body), query).toBeUndefined();
    }
    const traces = await ask(simulator, '/api/v3/traces?limit=200&include_actions=true');
    expect(validate('/api/v3/traces', 200, traces.body)).toBeUndefined();
    for (const action of simulator.truth.actions(undefined, ['v5', 'tgbtc_mint', 'tgbtc_burn']))
      expect(validateDetails(action.type, wire(action) as ActionJson), action.type).toBeUndefined();
  });

  test('are of many types, including those of the description', () => {
    const types = new Set(all.map((action) => action.type));
    expect(types.size).toBeGreaterThan(30);
    for (const type of [
      'ton_transfer call_contract contract_deploy jetton_transfer jetton_burn jetton_mint jetton_swap nft_mint',
      'stake_deposit stake_withdrawal election_deposit election_recover change_dns subscribe tick_tock',
    ].flatMap((line) => line.split(' ')))
      expect(types.has(type), type).toBe(true);
    expect(types.has('extra_currency_transfer')).toBe(true);
  });

  test('name transactions of their trace, and are within it', () => {
    for (const action of all) {
      const own = action.transactions.map((hash) => transactions.get(hash)!);
      expect(new Set(own.map((row) => row.trace_id))).toEqual(new Set([action.trace_id]));
      expect([action.start_lt, action.end_lt]).toEqual([own[0]!.lt, own.at(-1)!.lt]);
      expect(Number(action.end_lt)).toBeLessThanOrEqual(Number(action.trace_end_lt));
    }
    expect(new Set(idsOf(all)).size).toBe(all.length);
  });

  test('are given once each, in a total order, window by window', async () => {
    const [from, to] = [START + 300, START + 700];
    const found = await readAll(simulator, WINDOW);
    const truth = [...simulator.truth.actions({ from, to: to + 1 }, latest)];
    expect(found.length).toBeGreaterThan(1000);
    const key = (action: ActionJson): [number, string, number, string] => [
      action.trace_end_utime,
      action.trace_id,
      action.end_utime,
      action.action_id,
    ];
    const compare = (a: ActionJson, b: ActionJson): number => {
      const [left, right] = [key(a), key(b)];
      const at = left.findIndex((value, index) => value !== right[index]);
      return left[at]! < right[at]! ? -1 : 1;
    };
    expect(found).toEqual(truth.map(wire).toSorted((a, b) => compare(a as ActionJson, b as ActionJson)));
    const down = await readAll(simulator, WINDOW.replace('asc', 'desc'));
    expect(idsOf(down)).toEqual(idsOf(found).reverse());
  });

  test('are filtered by trace, action, transaction, message, account, block and lt', async () => {
    const some = all.find((action) => action.type === 'jetton_transfer' && action.transactions.length > 3)!;
    const middle = transactions.get(some.transactions[1]!)!;
    const of = (passes: (action: ActionJson) => boolean): string[] => idsOf(all.filter(passes)).toSorted();
    const touches = (account: string) => (action: ActionJson) =>
      action.transactions.some((hash) => transactions.get(hash)!.account === account);
    const filters: [string, string[]][] = [
      [`trace_id=${encodeURIComponent(some.trace_id)}`, of((action) => action.trace_id === some.trace_id)],
      [`action_id=${encodeURIComponent(some.action_id)}`, [some.action_id]],
      [
        `tx_hash=${encodeURIComponent(middle.hash)}`,
        of((action) => action.transactions.includes(middle.hash)),
      ],
      [
        `msg_hash=${encodeURIComponent(middle.in_msg!.hash)}`,
        of((action) => action.transactions.includes(middle.hash)),
      ],
      [`account=${middle.account}`, of(touches(middle.account))],
      [
        `mc_seqno=${some.trace_mc_seqno_end}`,
        of((action) => action.trace_mc_seqno_end === some.trace_mc_seqno_end),
      ],
      [
        `start_lt=${some.trace_end_lt}&end_lt=${some.trace_end_lt}`,
        of((action) => action.trace_end_lt === some.trace_end_lt),
      ],
      [`action_type=nft_mint`, of((action) => action.type === 'nft_mint')],
    ];
    for (const [filter, ids] of filters) {
      const found = idsOf(await readAll(simulator, filter)).toSorted();
      if (filter.startsWith('msg_hash')) expect(found).toEqual(expect.arrayContaining(ids));
      else expect(found, filter).toEqual(ids);
    }
    const none = await readAll(simulator, 'exclude_action_type=ton_transfer&action_type=ton_transfer');
    expect(none).toEqual([]);
    expect((await ask(simulator, '/api/v3/actions?action_type=a-b')).status).toBe(422);
    expect((await ask(simulator, '/api/v3/actions?mc_seqno=99999')).status).toBe(404);
  });

  test('ignore the other filters for a named trace on 1.2 only', async () => {
    const some = all.find((action) => action.type === 'jetton_transfer')!;
    const query = `trace_id=${encodeURIComponent(some.trace_id)}&end_lt=1`;
    const found = await readAll(simulator, query);
    expect(found.length > 0).toBe(build === '1.2');
  });

  test('show the parts of unsupported types, and hide those of supported ones', async () => {
    const byType = (actions: readonly ActionJson[], type: string): ActionJson[] =>
      actions.filter((action) => action.type === type);
    const [v1, v5, tgbtc, itself] = [
      await readAll(simulator, `${WINDOW}&supported_action_types=v1`),
      await readAll(simulator, `${WINDOW}&supported_action_types=v5`),
      await readAll(simulator, `${WINDOW}&supported_action_types=v4&supported_action_types=tgbtc_mint`),
      await readAll(simulator, WINDOW),
    ];
    expect(byType(v1, 'nft_purchase')).toEqual([]);
    expect(byType(v1, 'nft_transfer').length).toBeGreaterThan(byType(itself, 'nft_transfer').length);
    expect(byType(v1, 'call_contract').length).toBeGreaterThan(byType(itself, 'call_contract').length);
    expect(byType(tgbtc, 'tgbtc_mint').length > 0 && byType(itself, 'tgbtc_mint').length === 0).toBe(true);
    expect(byType(itself, 'dedust_v2_claim_reward').length > 0).toBe(build === '1.3');
    // A shortcut that build 1.2 does not know is a type that no action has, so only v1 is left.
    if (build === '1.2') expect(idsOf(v5)).toEqual(idsOf(v1));
    else expect(idsOf(v5)).toEqual(idsOf(itself));
    const header = await fetch(`${simulator.url}/api/v3/actions?${WINDOW}&limit=1000&${NOTHING_ELSE}`, {
      headers: { 'X-Actions-Version': 'v1' },
    });
    expect(idsOf(((await header.json()) as Reply['body']).actions ?? [])).toEqual(idsOf(v1.slice(0, 1000)));
  });

  test('call a transfer of coins failed if they came back, or met a frozen account, and no other', () => {
    const outcomes = new Map<string, Set<boolean | null>>();
    for (const { type, success, transactions: rows } of all) {
      if (type !== 'ton_transfer') continue;
      const { description, in_msg, end_status } = transactions.get(rows[1]!)!;
      const {
        skipped,
        success: hasRun,
        reason = '',
      } = (description.compute_ph ?? {}) as { skipped?: boolean; success?: boolean; reason?: string };
      // A contract that sells an item throws on coins that come too late, and they bounce.
      const how =
        skipped !== true
          ? hasRun === true
            ? 'ran'
            : 'threw and bounces'
          : `${reason} ${end_status} ${in_msg!.bounce ? 'bounces' : 'stays'}`;
      outcomes.set(how, (outcomes.get(how) ?? new Set()).add(success));
    }
    expect(outcomes.get('no_state uninit stays')).toEqual(new Set([true]));
    for (const [how, successes] of outcomes) {
      const fails = how.endsWith('bounces') || how.includes(' frozen ');
      expect([how, successes]).toEqual([how, new Set([!fails])]);
    }
    expect([...outcomes.keys()].some((how) => how.endsWith('bounces'))).toBe(true);
  });

  test('carry accounts on request, and only some of the transactions', async () => {
    const query = `/api/v3/actions?${WINDOW}&limit=300&${NOTHING_ELSE}`;
    const plain = actionsOf(await ask(simulator, query));
    expect(plain.every((action) => !('accounts' in action) && !('transactions_full' in action))).toBe(true);
    const full = actionsOf(await ask(simulator, `${query}&include_accounts=1&include_transactions=1`));
    const filled = new Set<string>();
    let named = 0;
    for (const action of full as (ActionJson & { transactions_full: TransactionJson[] })[]) {
      const accounts = action.transactions.map((hash) => transactions.get(hash)!.account);
      expect(new Set(action.accounts)).toEqual(new Set(accounts));
      for (const transaction of action.transactions_full) filled.add(transaction.hash);
      named += action.transactions.length;
    }
    expect(filled.size).toBe(100);
    expect(named).toBeGreaterThan(300);
  });

  test('chain the legs of a swap: the next pool takes what one pool gives, and no leg sells an asset for itself', () => {
    const swaps = all.filter(({ type }) => type === 'jetton_swap').map(({ details }) => details as Swap);
    const routed = swaps.filter(({ peer_swaps }) => peer_swaps.length > 0);
    expect(new Set(routed.map(({ dex }) => dex))).toEqual(new Set(['dedust', 'stonfi_v2', 'tonco']));
    for (const { peer_swaps, dex_incoming_transfer: came, dex_outgoing_transfer: went } of routed) {
      const [given, got] = [peer_swaps[0]!, peer_swaps.at(-1)!];
      expect(peer_swaps.length).toBeGreaterThan(1);
      expect([given.asset_in, given.amount_in]).toEqual([came.asset, came.amount]);
      expect([got.asset_out, got.amount_out]).toEqual([went.asset, went.amount]);
      for (const [at, leg] of peer_swaps.entries()) {
        expect(leg.asset_in).not.toBe(leg.asset_out);
        expect(Number(leg.amount_in) > 0 && Number(leg.amount_out) > 0).toBe(true);
        const next = peer_swaps[at + 1];
        if (next !== undefined)
          expect([next.asset_in, next.amount_in]).toEqual([leg.asset_out, leg.amount_out]);
      }
    }
    // TON at the beginning, at the end, and between two jettons.
    const places = routed.map(({ peer_swaps: [first, last] }) =>
      [first!.asset_in, first!.asset_out, last!.asset_out].indexOf(null),
    );
    expect(new Set(places)).toEqual(new Set([0, 1, 2]));
  });

  test('are in traces in the order in which they began', async () => {
    const traces = (await ask(simulator, `/api/v3/traces?${WINDOW}&include_actions=true&limit=300`)).body
      .traces!;
    const byTrace = new Map<string, ActionJson[]>();
    for (const action of all) byTrace.set(action.trace_id, [...(byTrace.get(action.trace_id) ?? []), action]);
    for (const trace of traces as unknown as { trace_id: string; actions: ActionJson[] }[]) {
      expect(idsOf(trace.actions).toSorted()).toEqual(idsOf(byTrace.get(trace.trace_id) ?? []).toSorted());
      const starts = trace.actions.map((action) => Number(action.start_lt));
      expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    }
    expect(traces.some((trace) => !byTrace.has(trace.trace_id))).toBe(true);
  });
});

describe('the classifier', () => {
  test('is late, and reclassifies until the truth is final', async () => {
    const simulator = await startSimulator({
      ...SIZE,
      headTime: START + 600,
      faults: { lateActions: { least: 2, most: 8 }, reclassify: { probability: 0.5, seconds: 120 } },
    });
    const window = `start_utime=${START + 400}&end_utime=${START + 600}&sort=asc`;
    const before = await readAll(simulator, window);
    const lately = (
      await ask(simulator, `/api/v3/traces?start_utime=${START + 599}&limit=1000&${NOTHING_ELSE}`)
    ).body.traces!;
    const shown = new Set(before.map((action) => action.trace_id));
    expect(lately.length > 0 && lately.every((trace) => !shown.has(trace.trace_id))).toBe(true);
    simulator.headTime = START + 760;
    const after = await readAll(simulator, window);
    const truth = [...simulator.truth.actions({ from: START + 400, to: START + 601 })];
    expect(idsOf(after).toSorted()).toEqual(idsOf(truth).toSorted());
    const [old, settled] = [new Set(idsOf(before)), new Set(idsOf(after))];
    expect([...old].filter((id) => !settled.has(id)).length).toBeGreaterThan(30);
    const tracesAfter = new Set(after.map((action) => action.trace_id));
    expect([...shown].filter((trace) => !tracesAfter.has(trace)).length).toBeGreaterThan(0);
    const typeOf = new Map(before.map((action) => [action.action_id, action.type]));
    expect(after.every((action) => (typeOf.get(action.action_id) ?? action.type) === action.type)).toBe(true);
    await simulator.close();
  });

  test('prints numbers beyond 2^53 digit by digit', async () => {
    const simulator = await startSimulator(SIZE);
    const text = await (await fetch(`${simulator.url}/api/v3/actions?action_type=layerzero_send`)).text();
    const [, digits = '0'] = /"send_request_id":(\d+)/.exec(text) ?? [];
    expect(BigInt(digits) > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true);
    const big = [...simulator.truth.actions()].find((action) => action.type === 'layerzero_send')!;
    expect(big.details).toMatchObject({
      layerzero_send_data: { send_request_id: expect.anything() as bigint },
    });
    await simulator.close();
  });
});
