import type { ActionFacts, ActionSource, TraceSource } from '../../ledger.ts';
import { supportedTypes } from '../../network/actions/made-action.ts';
import { listed, type OrderedRows, walk } from '../../simulator-rows.ts';
import { cutPage, parsePaging } from '../paging.ts';
import {
  addressBookMember,
  EVERYTHING,
  ltRange,
  metadataMember,
  type RouteRequest,
  type Routes,
  utimeRange,
  within,
} from '../route.ts';
import { ServedError } from '../served-error.ts';

/** What traces did. */
export const actionRoutes: Routes = { '/api/v3/actions': actions };

/** Transactions that are added to actions are fetched with the default limit, whatever is asked for. */
const FETCHED = 100;

function actions(request: RouteRequest): string {
  const { query, build, ledger } = request;
  const paging = parsePaging(query, build);
  const page = cutPage(ordered(request, paging.sort !== 'asc'), paging);
  const accounts = query.bool('include_accounts') === true;
  const texts = page.map((row) => ledger.actions.text(row, { accounts }));
  const full = query.bool('include_transactions') === true ? withTransactions(request, page, texts) : texts;
  const addresses = (): string[] => page.flatMap((row) => [...ledger.actions.facts(row).accounts]);
  return `{"actions":[${full.join(',')}],${addressBookMember(request, addresses)},${metadataMember(request, addresses)}}`;
}

/**
 * By the trace's end, the trace, the action's end and its id: lts, or seconds wherever a second is given. All of it
 * follows the direction.
 */
function* ordered(request: RouteRequest, descending: boolean): Generator<number> {
  const { ledger, view } = request;
  const passes = actionFilter(request);
  const timed = utimeRange(request.query) !== undefined;
  for (const trace of walk(candidates(request, timed), descending, () => true)) {
    const rows = ledger.actions.ofTrace(view, trace);
    const found = rows.map((row) => ({ row, facts: ledger.actions.facts(row) }));
    const kept = found.filter(({ facts }) => passes(trace, facts));
    const end = ({ facts }: (typeof kept)[number]): number => (timed ? facts.endUtime : facts.endLt);
    kept.sort((a, b) => end(a) - end(b) || (a.facts.id < b.facts.id ? -1 : 1));
    if (descending) kept.reverse();
    for (const { row } of kept) yield row;
  }
}

/** Traces among which the filters choose, ascending by (end, trace_id). */
function candidates(request: RouteRequest, timed: boolean): OrderedRows {
  const { query, ledger, build } = request;
  const source = ledger.traces;
  const chosen = chosenTraces(request);
  // On 1.2 a trace or an action that is named pushes the window aside.
  const named = build === '1.2' && (query.has('trace_id') || query.has('action_id'));
  const [lts, utimes] = named ? [undefined, undefined] : [ltRange(query), utimeRange(query)];
  if (chosen === undefined)
    return timed ? source.byTime(utimes ?? EVERYTHING) : source.byLt(lts ?? EVERYTHING);
  const all = timed ? source.byTime(EVERYTHING) : source.byLt(EVERYTHING);
  return listed([...walk(all, false, (trace) => chosen.has(trace))]);
}

function chosenTraces({ query, ledger, view }: RouteRequest): ReadonlySet<number> | undefined {
  const source = ledger.traces;
  const mcSeqno = query.int32('mc_seqno');
  if (mcSeqno !== undefined && !view.seesMasterchain(mcSeqno))
    throw new ServedError(404, `masterchain block ${mcSeqno} not found`);
  const [ids, transactions, messages] = [
    query.hashes('trace_id'),
    query.hashes('tx_hash'),
    query.hashes('msg_hash'),
  ];
  const [actionIds, account] = [query.hashes('action_id'), query.address('account')];
  if (ids.length > 0) return setOf(source.ofTraces(ids));
  if (actionIds.length > 0) return new Set(ledger.actions.tracesOf(actionIds));
  if (transactions.length > 0) return setOf(source.ofTransactions(transactions));
  if (messages.length > 0) return setOf(source.ofMessages(messages));
  if (account !== undefined) return setOf(source.ofAccount(account));
  return mcSeqno === undefined ? undefined : setOf(source.ofMasterchainBlock(mcSeqno));
}

function setOf(rows: OrderedRows): ReadonlySet<number> {
  return new Set(walk(rows, false, () => true));
}

type Passes = (trace: number, facts: ActionFacts) => boolean;

/**
 * 1.3 joins all filters with `and`. On 1.2 a trace_id, or else an action_id, replaces them all. What is not supported,
 * and the parts of what is, are hidden in either case.
 */
function actionFilter(request: RouteRequest): Passes {
  const { query, build } = request;
  const included = actionTypes(request, 'action_type');
  const visible = supportedFilter(request, included.size > 0);
  const traces = namedTraces(request);
  const actionIds = new Set(query.hashes('action_id'));
  const inTraces: Passes = (trace) => traces === undefined || traces.has(trace);
  const withIds: Passes = (_, { id }) => actionIds.size === 0 || actionIds.has(id);
  const others = otherFilters(request, included);
  const replaced = build === '1.2' ? (traces === undefined ? withIds : inTraces) : undefined;
  if (replaced !== undefined && (traces !== undefined || actionIds.size > 0))
    return (trace, facts) => visible(facts) && replaced(trace, facts);
  return (trace, facts) =>
    visible(facts) && inTraces(trace, facts) && withIds(trace, facts) && others(trace, facts);
}

function namedTraces({ query, ledger }: RouteRequest): ReadonlySet<number> | undefined {
  const ids = query.hashes('trace_id');
  return ids.length === 0 ? undefined : setOf(ledger.traces.ofTraces(ids));
}

function otherFilters(request: RouteRequest, included: ReadonlySet<string>): Passes {
  const { query, ledger } = request;
  const excluded = actionTypes(request, 'exclude_action_type');
  const [lts, utimes] = [ltRange(query), utimeRange(query)];
  const account = query.address('account');
  const transactions = wantedTransactions(request);
  const mcSeqno = query.int32('mc_seqno');
  const completed = mcSeqno === undefined ? undefined : setOf(ledger.traces.ofMasterchainBlock(mcSeqno));
  const isTraceWanted = (trace: number): boolean =>
    within(lts, ledger.traces.endLt(trace)) &&
    within(utimes, ledger.traces.endUtime(trace)) &&
    (completed === undefined || completed.has(trace));
  return (trace, facts) =>
    isTraceWanted(trace) &&
    (included.size === 0 || included.has(facts.type)) &&
    !excluded.has(facts.type) &&
    (transactions === undefined || facts.transactions.some((row) => transactions.has(row))) &&
    (account === undefined || facts.accounts.includes(account));
}

/** Transactions one of which an action must hold: those asked for by hash, or by a message on either side. */
function wantedTransactions({ query, ledger }: RouteRequest): ReadonlySet<number> | undefined {
  const messages = query.hashes('msg_hash');
  if (messages.length > 0) {
    const sides = [...setOf(ledger.messages.ofHashes(messages))].flatMap((row) => {
      const { sender, receiver } = ledger.messages.facts(row);
      return [sender, receiver].filter((side) => side !== undefined);
    });
    return new Set(sides);
  }
  const hashes = query.hashes('tx_hash');
  return hashes.length === 0 ? undefined : setOf(ledger.transactions.ofHashes(hashes));
}

function actionTypes({ query }: RouteRequest, name: string): ReadonlySet<string> {
  const types = query.texts(name);
  const wrong = types.find((type) => !/^[A-Za-z0-9_.]+$/.test(type));
  if (wrong !== undefined) throw new ServedError(422, `invalid ${name}: ${wrong}`);
  return new Set(types);
}

/** True for actions of supported types that are no part of another such action. `anyType`: their own type may be any. */
function supportedFilter(request: RouteRequest, anyType: boolean): (facts: ActionFacts) => boolean {
  const header = request.header('x-actions-version');
  const names = header === undefined ? request.query.texts('supported_action_types') : header.split(',');
  const supported = supportedTypes(names, request.build);
  return ({ type, ancestors }) =>
    (anyType || supported.has(type)) && !ancestors.some((ancestor) => supported.has(ancestor));
}

/** The texts of a trace's supported actions in the order (start_lt, end_lt), as they stand inside the trace. */
export function actionsInside(request: RouteRequest): (trace: number) => string[] {
  const source: ActionSource = request.ledger.actions;
  const passes = supportedFilter(request, false);
  return (trace) => {
    const found = source.ofTrace(request.view, trace).map((row) => ({ row, facts: source.facts(row) }));
    return found
      .filter(({ facts }) => passes(facts))
      .sort((a, b) => a.facts.startLt - b.facts.startLt || a.facts.endLt - b.facts.endLt)
      .map(({ row }) => source.text(row, { accounts: false }));
  };
}

/** Only a limited number of the page's distinct transactions are there, by descending hash; nothing marks the rest. */
function withTransactions(
  { ledger }: RouteRequest,
  page: readonly number[],
  texts: readonly string[],
): string[] {
  const { actions: source, transactions } = ledger;
  const rows = [...new Set(page.flatMap((row) => [...source.facts(row).transactions]))];
  const hashed = rows.map((row) => ({ row, hash: transactions.hash(row) }));
  hashed.sort((a, b) => (a.hash < b.hash ? 1 : -1));
  const fetched = new Map(
    hashed.slice(0, FETCHED).map(({ row }) => [row, transactions.texts([row]).toString()]),
  );
  return texts.map((text, at) => {
    const own = source.facts(page[at] ?? 0).transactions.map((row) => fetched.get(row));
    const there = own.filter((transaction) => transaction !== undefined);
    return `${text.slice(0, -1)},"transactions_full":[${there.join(',')}]}`;
  });
}

/** Everything that answers with traces; /events is the old name. */
export const traceRoutes: Routes = {
  '/api/v3/traces': (request) => traces(request, 'traces', request.query.bool('include_actions') === true),
  '/api/v3/events': (request) => traces(request, 'events', true),
};

function traces(request: RouteRequest, member: string, includeActions: boolean): string {
  const { query, ledger, view, build } = request;
  const source = ledger.traces;
  const paging = parsePaging(query, build);
  const passes = traceFilter(request, source);
  const rows = walk(
    traceCandidates(request, source),
    paging.sort !== 'asc',
    (row) => source.visible(view, row) && passes(row),
  );
  const page = cutPage(rows, paging);
  const addresses = (): string[] => page.flatMap((row) => source.addresses(row));
  const tail = `${addressBookMember(request, addresses)},${metadataMember(request, addresses)}`;
  return `{"${member}":[${source.texts(page, includeActions ? actionsInside(request) : undefined)}],${tail}}`;
}

/** 1.2 orders by time if a second is given, 1.3 only if no lt is. */
function byTime({ query, build }: RouteRequest): boolean {
  return utimeRange(query) !== undefined && (build === '1.2' || ltRange(query) === undefined);
}

function traceCandidates(request: RouteRequest, source: TraceSource): OrderedRows {
  const { query } = request;
  const timed = byTime(request);
  const chosen = askedTraces(request, source);
  if (chosen === undefined)
    return timed ? source.byTime(utimeRange(query) ?? EVERYTHING) : source.byLt(ltRange(query) ?? EVERYTHING);
  const wanted = setOf(chosen);
  const all = timed ? source.byTime(EVERYTHING) : source.byLt(EVERYTHING);
  return listed([...walk(all, false, (row) => wanted.has(row))]);
}

function askedTraces({ query, view }: RouteRequest, source: TraceSource): OrderedRows | undefined {
  const account = query.address('account');
  const [ids, transactions, messages] = [
    query.hashes('trace_id'),
    query.hashes('tx_hash'),
    query.hashes('msg_hash'),
  ];
  const asked = [account !== undefined, ids.length > 0, transactions.length > 0, messages.length > 0];
  if (asked.filter(Boolean).length > 1)
    throw new ServedError(422, 'only one of account, trace_id, tx_hash, msg_hash should be specified');
  const mcSeqno = query.int32('mc_seqno');
  if (mcSeqno !== undefined && !view.seesMasterchain(mcSeqno))
    throw new ServedError(404, `masterchain block ${mcSeqno} not found`);
  if (ids.length > 0) return source.ofTraces(ids);
  if (transactions.length > 0) return source.ofTransactions(transactions);
  if (messages.length > 0) return source.ofMessages(messages);
  if (account !== undefined) return source.ofAccount(account);
  return mcSeqno === undefined ? undefined : source.ofMasterchainBlock(mcSeqno);
}

function traceFilter({ query }: RouteRequest, source: TraceSource): (row: number) => boolean {
  const [lts, utimes, mcSeqno] = [ltRange(query), utimeRange(query), query.int32('mc_seqno')];
  const completed = mcSeqno === undefined ? undefined : source.ofMasterchainBlock(mcSeqno);
  const rows = completed && setOf(completed);
  return (row) =>
    within(lts, source.endLt(row)) &&
    within(utimes, source.endUtime(row)) &&
    (rows === undefined || rows.has(row));
}
