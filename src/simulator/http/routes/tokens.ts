import type { TokenParties, TokenSource } from '../../ledger.ts';
import { cutPage, parsePaging } from '../paging.ts';
import {
  addressBookMember,
  EVERYTHING,
  ltRange,
  metadataMember,
  utimeRange,
  within,
  type RouteRequest,
  type Routes,
} from '../route.ts';
import { shuffleTies, walk } from '../../simulator-rows.ts';

/** Transfers and burns of jettons, transfers of items. */
export const tokenRoutes: Routes = {
  '/api/v3/jetton/transfers': (request) =>
    tokens(request, 'jetton_transfers', request.ledger.jettonTransfers, JETTON),
  '/api/v3/jetton/burns': (request) => tokens(request, 'jetton_burns', request.ledger.jettonBurns, JETTON),
  '/api/v3/nft/transfers': (request) => tokens(request, 'nft_transfers', request.ledger.nftTransfers, NFT),
};

/** The names that an endpoint gives to the parties. */
interface Names {
  readonly item: string;
  readonly group: string;
}

const JETTON: Names = { item: 'jetton_wallet', group: 'jetton_master' };
const NFT: Names = { item: 'item_address', group: 'collection_address' };

/**
 * Ordered by lt, or by time wherever a second is given, and by nothing else on either build: rows that tie come in
 * another order with each request.
 */
function tokens(request: RouteRequest, member: string, source: TokenSource, names: Names): string {
  const { query, build, view, random } = request;
  const paging = parsePaging(query, build);
  const passes = tokenFilter(request, source, names);
  const utimes = utimeRange(query);
  const rows = utimes === undefined ? source.byLt(ltRange(query) ?? EVERYTHING) : source.byTime(utimes);
  const key = (row: number): number => (utimes === undefined ? source.lt(row) : source.utime(row));
  const ordered = walk(rows, paging.sort !== 'asc', (row) => source.visible(view, row) && passes(row));
  const page = cutPage(
    shuffleTies(ordered, (a, b) => key(a) === key(b), random),
    paging,
  );
  const addresses = (): string[] =>
    page.flatMap((row) => {
      const { from, to, item, group } = source.parties(row);
      return [from, to, item, group].filter((address) => address !== '');
    });
  const texts = page.map((row) => source.text(row));
  return `{"${member}":[${texts.join(',')}],${addressBookMember(request, addresses)},${metadataMember(request, addresses)}}`;
}

/** `in` means the receiver, any other direction the sender, none either of them. */
function tokenFilter({ query }: RouteRequest, source: TokenSource, names: Names): (row: number) => boolean {
  const [lts, utimes] = [ltRange(query), utimeRange(query)];
  const owners = new Set(query.addresses('owner_address', 'address'));
  const items = new Set(query.addresses(names.item));
  const group = query.address(names.group);
  const direction = query.text('direction');
  const owned = ({ from, to }: TokenParties): boolean =>
    owners.size === 0 ||
    (direction !== 'in' && owners.has(from)) ||
    ((direction === undefined || direction === 'in') && owners.has(to));
  const anyParty = owners.size > 0 || items.size > 0 || group !== undefined;
  const matches = (parties: TokenParties): boolean =>
    owned(parties) &&
    (items.size === 0 || items.has(parties.item)) &&
    (group === undefined || parties.group === group);
  return (row) =>
    within(utimes, source.utime(row)) &&
    within(lts, source.lt(row)) &&
    (!anyParty || matches(source.parties(row)));
}
