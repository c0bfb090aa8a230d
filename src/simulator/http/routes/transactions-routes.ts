import type { Ledger, MessageSource, TransactionSource, MessageFacts } from '../../ledger.ts';
import { listed, type OrderedRows, reverseTies, walk } from '../../simulator-rows.ts';
import { cutPage, type Paging, parsePaging } from '../paging.ts';
import {
  addressBookMember,
  type Body,
  EVERYTHING,
  joinBody,
  ltRange,
  type RouteRequest,
  type Routes,
  utimeRange,
  within,
  metadataMember,
} from '../route.ts';
import { ServedError } from '../served-error.ts';
import { matchesId, parseSeqno } from './blocks-routes.ts';
import type { Bounds } from '../../bounds.ts';
import type { View } from '../../network-view.ts';
import type { Query } from '../simulator-query.ts';

/** Everything that answers with transactions. */
export const transactionRoutes: Routes = {
  '/api/v3/transactions': transactions,
  '/api/v3/transactionsByMasterchainBlock': transactionsByMasterchainBlock,
  '/api/v3/transactionsByMessage': transactionsByMessage,
  '/api/v3/adjacentTransactions': adjacentTransactions,
};

function transactions(request: RouteRequest): Body {
  const { query, build, ledger } = request;
  const paging = parsePaging(query, build);
  const source = ledger.transactions;
  const hashes = query.hashes('hash');
  const passes = transactionFilter(request);
  if (hashes.length > 0) return answer(request, cutPage(byHash(source, hashes, paging, passes), paging));
  const rows = candidates(request);
  return answer(request, cutPage(ordered(request, rows, paging, passes), paging));
}

function transactionsByMasterchainBlock(request: RouteRequest): Body {
  const paging = parsePaging(request.query, request.build);
  const rows = ofMasterchainBlock(request, parseSeqno(request));
  return answer(request, cutPage(ordered(request, rows, paging, visibleIn(request)), paging));
}

function ofMasterchainBlock({ ledger, view }: RouteRequest, seqno: number): OrderedRows {
  if (!view.seesMasterchain(seqno)) throw new ServedError(404, `masterchain block ${seqno} not found`);
  return ledger.transactions.ofMasterchainBlock(seqno);
}

function visibleIn({ ledger, view }: RouteRequest): (row: number) => boolean {
  return (row) => ledger.transactions.visible(view, row);
}

/** The rows among which the filter chooses, ascending by the keys of the order. */
function candidates(request: RouteRequest): OrderedRows {
  const { query, ledger, build } = request;
  const source = ledger.transactions;
  const [lts, utimes] = [ltRange(query), utimeRange(query)];
  const mcSeqno = query.int32('mc_seqno');
  if (mcSeqno !== undefined) return ofMasterchainBlock(request, mcSeqno);
  const matched = build === '1.3' ? matchMessages(request, false) : undefined;
  const accounts = query.addresses('account');
  const chosen = matched ?? (accounts.length > 0 ? source.ofAccounts(accounts) : undefined);
  if (chosen !== undefined)
    return utimes === undefined ? chosen : sortedBy(chosen, (row) => source.utime(row));
  const lt = query.uint64('lt');
  if (lt !== undefined) return source.byLt({ first: lt, last: lt });
  return utimes === undefined ? source.byLt(lts ?? EVERYTHING) : source.byTime(utimes);
}

function sortedBy(rows: OrderedRows, key: (row: number) => number): OrderedRows {
  const list = Array.from({ length: rows.length }, (_, index) => rows.at(index));
  return listed(list.sort((a, b) => key(a) - key(b)));
}

/** exclude_account is parsed and has no effect, as on the real server. */
function transactionFilter(request: RouteRequest): (row: number) => boolean {
  const { query, ledger } = request;
  const source = ledger.transactions;
  query.addresses('exclude_account');
  const accounts = new Set(query.addresses('account'));
  const id = {
    workchain: query.int32('workchain'),
    shard: query.shard('shard'),
    seqno: query.int32('seqno'),
  };
  const anyId = id.workchain !== undefined || id.shard !== undefined || id.seqno !== undefined;
  const [lts, utimes, lt] = [ltRange(query), utimeRange(query), query.uint64('lt')];
  const visible = visibleIn(request);
  return (row) =>
    visible(row) &&
    within(utimes, source.utime(row)) &&
    within(lts, source.lt(row)) &&
    (lt === undefined || source.lt(row) === lt) &&
    (!anyId || matchesId(source.block(row), id)) &&
    (accounts.size === 0 || accounts.has(source.account(row)));
}

/** Desc on 1.2 turns the order around but for the account, which stays ascending. */
function ordered(
  request: RouteRequest,
  rows: OrderedRows,
  { sort }: Paging,
  passes: (row: number) => boolean,
): Iterable<number> {
  const source = request.ledger.transactions;
  if (sort === 'asc') return walk(rows, false, passes);
  const down = walk(rows, true, passes);
  if (request.build === '1.3' || request.query.has('lt')) return down;
  const timed = utimeRange(request.query) !== undefined && !request.query.has('mc_seqno');
  const sameTime = (a: number, b: number): boolean => !timed || source.utime(a) === source.utime(b);
  return reverseTies(down, (a, b) => source.lt(a) === source.lt(b) && sameTime(a, b));
}

function byHash(
  source: TransactionSource,
  hashes: readonly string[],
  { sort }: Paging,
  passes: (row: number) => boolean,
): Iterable<number> {
  const found = source.ofHashes(hashes);
  const rows = [...walk(found, false, passes)].map((row) => ({ row, hash: source.hash(row) }));
  rows.sort((a, b) => (a.hash < b.hash ? -1 : 1));
  return (sort === 'asc' ? rows : rows.reverse()).map(({ row }) => row);
}

interface MessageFilter {
  readonly hashes: readonly string[];
  readonly bodyHash: string | undefined;
  readonly opcode: string | undefined;
  readonly source: string | undefined;
  readonly destination: string | undefined;
}

function messageFilter({ query }: RouteRequest): MessageFilter {
  return {
    hashes: query.hashes('msg_hash'),
    bodyHash: query.hash('body_hash'),
    opcode: query.opcode('opcode'),
    source: query.address('source'),
    destination: query.address('destination'),
  };
}

/** in or out; anything else is refused. */
export function parseDirection({ query }: RouteRequest): 'in' | 'out' | undefined {
  const direction = query.text('direction');
  if (direction === undefined || direction === 'in' || direction === 'out') return direction;
  throw new ServedError(422, 'direction should be one of: in, out');
}

/**
 * Transactions on either side of messages, once for each message that matches; undefined if no message is asked for.
 * `opcodeIsReceived`: an opcode alone asks for receivers, as build 1.2 has it.
 */
function matchMessages(request: RouteRequest, opcodeIsReceived: boolean): OrderedRows | undefined {
  const filter = messageFilter(request);
  const asked = parseDirection(request);
  const { hashes, ...others } = filter;
  if (hashes.length === 0 && Object.values(others).every((value) => value === undefined)) {
    if (asked !== undefined) throw new ServedError(422, 'direction is allowed only with message filters');
    return undefined;
  }
  const direction = opcodeIsReceived && filter.opcode !== undefined ? 'in' : asked;
  return sidesOf(request.ledger, filter, direction);
}

/** Transactions that sent or received the messages of a filter, ascending by (lt, account). */
function sidesOf(
  { messages, transactions: source }: Ledger,
  filter: MessageFilter,
  direction: 'in' | 'out' | undefined,
): OrderedRows {
  const rows: number[] = [];
  const { hashes } = filter;
  const found = hashes.length > 0 ? messages.ofHashes(hashes) : messages.nearLt(EVERYTHING);
  for (const message of walk(found, false, (row) => matches(messages, row, filter))) {
    const { sender, receiver } = messages.facts(message);
    if (receiver !== undefined && direction !== 'out') rows.push(receiver);
    if (sender !== undefined && direction !== 'in') rows.push(sender);
  }
  rows.sort((a, b) => source.lt(a) - source.lt(b) || (source.account(a) < source.account(b) ? -1 : 1));
  return listed(rows);
}

function matches(messages: MessageSource, row: number, filter: MessageFilter): boolean {
  const facts = messages.facts(row);
  return (
    (filter.bodyHash === undefined || messages.bodyHash(row) === filter.bodyHash) &&
    (filter.opcode === undefined || messages.opcode(row) === filter.opcode) &&
    (filter.source === undefined || facts.source === filter.source) &&
    (filter.destination === undefined || facts.destination === filter.destination)
  );
}

function transactionsByMessage(request: RouteRequest): Body {
  const { query, build } = request;
  const paging = parsePaging(query, build);
  if (!['msg_hash', 'body_hash', 'opcode'].some((name) => query.has(name)))
    throw new ServedError(422, 'at least one of msg_hash, body_hash, opcode should be specified');
  const rows = matchMessages(request, build === '1.2') ?? listed([]);
  return answer(request, cutPage(ordered(request, rows, paging, visibleIn(request)), paging));
}

function adjacentTransactions(request: RouteRequest): Body {
  const { query, ledger } = request;
  const direction = parseDirection(request);
  const hash = query.hash('hash');
  const rows = hash === undefined ? listed([]) : ledger.transactions.ofHashes([hash]);
  const found = neighbours(ledger, rows, direction).filter(visibleIn(request));
  if (found.length === 0) throw new ServedError(404, 'adjacent transactions not found');
  return answer(
    request,
    found.sort((a, b) => ledger.transactions.lt(a) - ledger.transactions.lt(b)),
  );
}

function neighbours(
  { transactions: source, messages }: Ledger,
  rows: OrderedRows,
  direction: 'in' | 'out' | undefined,
): number[] {
  if (rows.length === 0) return [];
  const row = rows.at(0);
  const received = source.inMessage(row);
  const parents = received === undefined || direction === 'out' ? [] : [messages.facts(received).sender];
  const children =
    direction === 'in' ? [] : source.outMessages(row).map((message) => messages.facts(message).receiver);
  return [...parents, ...children].filter((neighbour) => neighbour !== undefined);
}

function answer(request: RouteRequest, page: readonly number[]): Body {
  const source = request.ledger.transactions;
  const book = addressBookMember(request, () => page.flatMap((row) => source.addresses(row)));
  return joinBody('{"transactions":[', source.texts(page), `],${book}}`);
}

/** Everything that answers with messages. */
export const messageRoutes: Routes = { '/api/v3/messages': messages };

interface VisibleSides {
  readonly in: boolean;
  readonly out: boolean;
}

interface Candidate {
  readonly row: number;
  readonly facts: MessageFacts;
  readonly sides: VisibleSides;
}

/** One row a message, with whichever of its two transactions is visible and asked for. */
function messages(request: RouteRequest): string {
  const { query, build, ledger, view, random } = request;
  const paging = parsePaging(query, build);
  const direction = parseDirection(request);
  const passes = rowFilter(request);
  const found: Candidate[] = [];
  for (const row of walk(messageCandidates(request), false, () => true)) {
    const facts = ledger.messages.facts(row);
    const sides = visibleSides(ledger, view, facts, direction);
    if ((sides.in || sides.out) && passes(row, facts)) found.push({ row, facts, sides });
  }
  sortCandidates(request, found, paging.sort !== 'asc');
  const byRow = new Map(found.map((candidate) => [candidate.row, candidate]));
  const page = cutPage(byRow.keys(), paging);
  // 1.2 joins the page with the contents and leaves its order to the database.
  if (build === '1.2') random.shuffle(page);
  const texts = page.map((row) =>
    ledger.messages.text(row, byRow.get(row)?.sides ?? { in: true, out: true }),
  );
  const addresses = (): string[] => page.flatMap((row) => ledger.messages.addresses(row));
  return `{"messages":[${texts.join(',')}],${addressBookMember(request, addresses)},${metadataMember(request, addresses)}}`;
}

function messageCandidates({ query, ledger }: RouteRequest): ReturnType<Ledger['messages']['nearLt']> {
  const hashes = query.hashes('msg_hash', 'hash');
  if (hashes.length > 0) return ledger.messages.ofHashes(hashes);
  const utimes = utimeRange(query);
  return utimes === undefined
    ? ledger.messages.nearLt(ltRange(query) ?? EVERYTHING)
    : ledger.messages.nearTime(utimes);
}

function visibleSides(
  { transactions }: Ledger,
  view: View,
  facts: MessageFacts,
  direction: 'in' | 'out' | undefined,
): VisibleSides {
  const sees = (row: number | undefined): boolean => row !== undefined && transactions.visible(view, row);
  return { in: direction !== 'out' && sees(facts.receiver), out: direction !== 'in' && sees(facts.sender) };
}

function rowFilter({ query, ledger }: RouteRequest): (row: number, facts: MessageFacts) => boolean {
  const [lts, utimes] = [ltRange(query), utimeRange(query)];
  const [bodyHash, opcode] = [query.hash('body_hash'), query.opcode('opcode')];
  const [source, destination] = [nullableAddress(query, 'source'), nullableAddress(query, 'destination')];
  const [noExternals, onlyExternals] = [query.bool('exclude_externals'), query.bool('only_externals')];
  const isInWindow = (facts: MessageFacts): boolean =>
    withinOrAbsent(lts, facts.createdLt) && withinOrAbsent(utimes, facts.createdAt);
  const hasContent = (row: number): boolean =>
    (bodyHash === undefined || ledger.messages.bodyHash(row) === bodyHash) &&
    (opcode === undefined || ledger.messages.opcode(row) === opcode);
  const hasEnds = (facts: MessageFacts): boolean =>
    (source === undefined || facts.source === source) &&
    (destination === undefined || facts.destination === destination) &&
    (noExternals !== true || facts.createdLt !== null) &&
    (onlyExternals !== true || facts.createdLt === null);
  return (row, facts) => isInWindow(facts) && hasContent(row) && hasEnds(facts);
}

/** SQL's way: null lies in no range. */
function withinOrAbsent(bounds: Bounds | undefined, value: number | null): boolean {
  return bounds === undefined || (value !== null && within(bounds, value));
}

function nullableAddress(query: Query, name: string): string | null | undefined {
  return query.text(name) === 'null' ? null : query.address(name);
}

/**
 * 1.2: by created_lt (created_at under a utime filter), where null is greater than everything, then by hash.
 * 1.3: by created_lt or else the transaction's lt, then by hash.
 */
function sortCandidates(
  { build, query, ledger }: RouteRequest,
  found: Candidate[],
  descending: boolean,
): void {
  const byTime = build === '1.2' && utimeRange(query) !== undefined;
  const key = ({ facts }: Candidate): number => {
    if (build === '1.3') return facts.createdLt ?? facts.transactionLt;
    return (byTime ? facts.createdAt : facts.createdLt) ?? Infinity;
  };
  const sign = descending ? -1 : 1;
  found.sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left !== right) return left < right ? -sign : sign;
    return ledger.messages.hash(a.row) < ledger.messages.hash(b.row) ? -sign : sign;
  });
}
