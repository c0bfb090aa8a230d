import type { TraceSource } from '../../ledger.ts';
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
import { actionsInside } from './actions-routes.ts';

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
    candidates(request, source),
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

function candidates(request: RouteRequest, source: TraceSource): OrderedRows {
  const { query } = request;
  const timed = byTime(request);
  const chosen = chosenTraces(request, source);
  if (chosen === undefined)
    return timed ? source.byTime(utimeRange(query) ?? EVERYTHING) : source.byLt(ltRange(query) ?? EVERYTHING);
  const wanted = new Set(Array.from({ length: chosen.length }, (_, index) => chosen.at(index)));
  const all = timed ? source.byTime(EVERYTHING) : source.byLt(EVERYTHING);
  return listed([...walk(all, false, (row) => wanted.has(row))]);
}

function chosenTraces({ query, view }: RouteRequest, source: TraceSource): OrderedRows | undefined {
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
  const rows =
    completed && new Set(Array.from({ length: completed.length }, (_, index) => completed.at(index)));
  return (row) =>
    within(lts, source.endLt(row)) &&
    within(utimes, source.endUtime(row)) &&
    (rows === undefined || rows.has(row));
}
