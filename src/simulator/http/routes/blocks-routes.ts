import type { BlockSource } from '../../ledger.ts';
import { listed, type OrderedRows, rotate, shuffleTies, walk } from '../../simulator-rows.ts';
import { cutPage, parsePaging } from '../paging.ts';
import { EVERYTHING, ltRange, type RouteRequest, type Routes, utimeRange, within } from '../route.ts';
import { ServedError } from '../served-error.ts';
import type { Query } from '../simulator-query.ts';

/** masterchainInfo and everything that answers with blocks. */
export const blockRoutes: Routes = {
  '/api/v3/masterchainInfo': masterchainInfo,
  '/api/v3/blocks': blocks,
  '/api/v3/masterchainBlockShards': masterchainBlockShards,
  '/api/v3/masterchainBlockShardState': masterchainBlockShardState,
};

function masterchainInfo({ ledger, view }: RouteRequest): string {
  if (view.head === undefined) throw new ServedError(500, 'internal server error: no rows in result set');
  return `{"last":${ledger.masterchainBlock(view.head)},"first":${ledger.masterchainBlock(ledger.firstSeqno)}}`;
}

/** The order is by gen_utime alone on 1.2, total on 1.3, and there is none if no sort is given. */
function blocks(request: RouteRequest): string {
  const { ledger, query, random, view } = request;
  const paging = parsePaging(query, request.build);
  const passes = blockFilter(ledger.blocks, query);
  const rows = candidates(ledger.blocks, query);
  const visible = (row: number): boolean => ledger.blocks.visible(view, row) && passes(row);
  if (paging.sort === undefined)
    return answer(request, cutPage(walk(rotate(rows, random), false, visible), paging));
  const ordered = walk(rows, paging.sort === 'desc', visible);
  if (request.build === '1.3') return answer(request, cutPage(ordered, paging));
  const tied = (a: number, b: number): boolean => ledger.blocks.utime(a) === ledger.blocks.utime(b);
  return answer(request, cutPage(shuffleTies(ordered, tied, random), paging));
}

function candidates(source: BlockSource, query: Query): OrderedRows {
  const mcSeqno = query.int32('mc_seqno');
  if (mcSeqno === undefined) return source.byTime(utimeRange(query) ?? EVERYTHING);
  const rows = source.registeredIn(mcSeqno);
  const list = Array.from({ length: rows.length }, (_, index) => rows.at(index));
  return listed(list.sort((a, b) => source.utime(a) - source.utime(b)));
}

function blockFilter(source: BlockSource, query: Query): (row: number) => boolean {
  const id = {
    workchain: query.int32('workchain'),
    shard: query.shard('shard'),
    seqno: query.int32('seqno'),
  };
  const [root, file] = [query.hash('root_hash'), query.hash('file_hash')];
  const [lts, utimes] = [ltRange(query), utimeRange(query)];
  const anyId = id.workchain !== undefined || id.shard !== undefined || id.seqno !== undefined;
  return (row) =>
    within(utimes, source.utime(row)) &&
    within(lts, source.startLt(row)) &&
    (!anyId || matchesId(source.id(row), id)) &&
    (root === undefined || source.hashes(row).root === root) &&
    (file === undefined || source.hashes(row).file === file);
}

interface IdFilter {
  readonly workchain: number | undefined;
  readonly shard: string | undefined;
  readonly seqno: number | undefined;
}

/** True if a block's id has every given part. */
export function matchesId(
  id: { readonly workchain: number; readonly shard: string | null; readonly seqno: number },
  wanted: IdFilter,
): boolean {
  return (
    (wanted.workchain === undefined || id.workchain === wanted.workchain) &&
    (wanted.shard === undefined || id.shard === wanted.shard) &&
    (wanted.seqno === undefined || id.seqno === wanted.seqno)
  );
}

/** 1.2 reads garbage as 0, 1.3 refuses it. */
export function parseSeqno({ query, build }: RouteRequest): number {
  if (build === '1.3') return query.int32('seqno') ?? 0;
  const text = query.first('seqno') ?? '';
  return /^[+-]?\d{1,10}$/.test(text) ? Number(text) : 0;
}

function masterchainBlockShards(request: RouteRequest): string {
  const { ledger, query, random, view, build } = request;
  const seqno = parseSeqno(request);
  const paging = parsePaging(query, build);
  const rows = ledger.blocks.registeredIn(seqno);
  const visible = [...walk(rows, false, (row) => ledger.blocks.visible(view, row))];
  random.shuffle(visible);
  if (build === '1.2' && paging.sort !== undefined) {
    const sign = paging.sort === 'asc' ? 1 : -1;
    visible.sort((a, b) => sign * (ledger.blocks.utime(a) - ledger.blocks.utime(b)));
  }
  const page = cutPage(visible, paging);
  if (page.length === 0) throw new ServedError(404, 'blocks not found');
  return answer(request, page);
}

/** The tops of all shards; one that is not visible drops out, as a join does. */
function masterchainBlockShardState(request: RouteRequest): string {
  const { ledger, view } = request;
  const seqno = parseSeqno(request);
  const tops = view.seesMasterchain(seqno) ? ledger.blocks.topsOf(seqno) : listed([]);
  const page = [...walk(tops, false, (row) => ledger.blocks.visible(view, row))];
  if (page.length === 0) throw new ServedError(404, 'blocks not found');
  return answer(request, page);
}

/** The server does not notice that its query broke off: the response is a 200 with the first rows. */
function answer({ ledger, random, breaksOff }: RouteRequest, page: readonly number[]): string {
  const kept = breaksOff ? page.slice(0, random.below(page.length)) : page;
  return `{"blocks":[${kept.map((row) => ledger.blocks.text(row)).join(',')}]}`;
}
