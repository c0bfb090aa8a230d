import type { Bounds } from '../../bounds.ts';
import type { Ledger, MessageFacts } from '../../ledger.ts';
import type { View } from '../../network-view.ts';
import { walk } from '../../simulator-rows.ts';
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
import type { Query } from '../simulator-query.ts';
import { parseDirection } from './transactions-routes.ts';

/** Everything that answers with messages. */
export const messageRoutes: Routes = { '/api/v3/messages': messages };

interface Sides {
  readonly in: boolean;
  readonly out: boolean;
}

interface Candidate {
  readonly row: number;
  readonly facts: MessageFacts;
  readonly sides: Sides;
}

/** One row a message, with whichever of its two transactions is visible and asked for. */
function messages(request: RouteRequest): string {
  const { query, build, ledger, view, random } = request;
  const paging = parsePaging(query, build);
  const direction = parseDirection(request);
  const passes = messageFilter(request);
  const found: Candidate[] = [];
  for (const row of walk(candidates(request), false, () => true)) {
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

function candidates({ query, ledger }: RouteRequest): ReturnType<Ledger['messages']['nearLt']> {
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
): Sides {
  const sees = (row: number | undefined): boolean => row !== undefined && transactions.visible(view, row);
  return { in: direction !== 'out' && sees(facts.receiver), out: direction !== 'in' && sees(facts.sender) };
}

function messageFilter({ query, ledger }: RouteRequest): (row: number, facts: MessageFacts) => boolean {
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
