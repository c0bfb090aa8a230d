import * as z from 'zod';
import { sql } from 'drizzle-orm';
import { canonicalOf } from '../../dataset/declaration/record.ts';
import { flag } from '../../records/members.ts';
import { type ApiClient, type GetRequest, ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import { LinkedBlock, type ChainInfo } from '../../crawl/source-chain.ts';
import { BadResponseError, isNotServed } from '../../errors.ts';
import { blockKey, MASTERCHAIN, tiles } from '../../ton/shard.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import type { Session } from '../../postgres/database.ts';
import type { Range } from '../../range.ts';
import { during } from '../../postgres/sql.ts';

/** Rows of a page of blocks before or after a stretch: several blocks of each shard. */
const PAGE = 1000;
const PAGE_BEFORE = 256;

/** A block without parents would end every chain that reaches it, and the blocks below it would not be missed. */
const Linked = LinkedBlock.extend({ after_merge: flag });
const Block = Linked.refine(hasParents, { error: 'does not name the blocks before it' });

const Blocks = z.object({ blocks: z.array(z.unknown()) });

/** A block that does not fit the chain proves nothing, so it is left out. A stored one is in quarantine. */
function fittingOf(blocks: readonly unknown[]): z.output<typeof Block>[] {
  return blocks.flatMap((block) => Block.safeParse(canonicalOf(Block, block)).data ?? []);
}

function hasParents({ workchain, seqno, after_merge, prev_blocks }: z.output<typeof Linked>): boolean {
  const parents = prev_blocks ?? [];
  return (
    seqno === 0 ||
    (parents.length >= (after_merge === true ? 2 : 1) &&
      parents.every((parent) => parent.workchain === workchain) &&
      Math.max(...parents.map((parent) => parent.seqno)) === seqno - 1)
  );
}

/** The requests of verification: a few blocks around a stretch, and the shards of a moment. */
export interface BlocksOfSource {
  readonly chain: ChainInfo;
  readonly requests: () => number;
  /** The first visible blocks from a second on, ascending; `whole` if there are no later ones. */
  after(second: number): Promise<{ readonly blocks: readonly LinkedBlock[]; readonly whole: boolean }>;
  before(second: number): Promise<readonly LinkedBlock[]>;
  /** The top blocks of all shards as a masterchain block saw them. Undefined if it does not exist or is not served. */
  topsOf(seqno: number): Promise<readonly LinkedBlock[] | undefined>;
  /** The block with this key; undefined if the source has none. */
  named(block: Pick<LinkedBlock, 'workchain' | 'shard' | 'seqno'>): Promise<LinkedBlock | undefined>;
}

interface BlocksRead {
  readonly blocks: readonly LinkedBlock[];
  /** Includes those that do not fit. */
  readonly rows: number;
}

/** If the server fails for some block, it asks for fewer, in the end for none, and less is proved. */
async function askWithin(
  api: ApiClient,
  request: GetRequest<BlocksRead>,
): Promise<{ readonly value: BlocksRead; readonly request: { readonly limit: number | undefined } }> {
  try {
    return await api.get(request);
  } catch (error) {
    const { limit } = request.params ?? {};
    if (!isNotServed(error) || typeof limit !== 'number') throw error;
    if (limit <= 2) return { value: { blocks: [], rows: limit }, request: { limit } };
    const params = { ...request.params, limit: Math.floor(limit / 4) + 1 };
    return askWithin(api, { ...request, params, attemptsInDoubt: ATTEMPTS_IN_DOUBT });
  }
}

/** Asks with the priority of repairs: verified seconds are older than the tail, and come before any backfill. */
export function createBlockSource(api: ApiClient, chain: ChainInfo, signal: AbortSignal): BlocksOfSource {
  let requests = 0;
  const ask = async (path: string, params: Params, isAsked: (block: LinkedBlock) => boolean = () => true) => {
    requests += 1;
    const { value, request } = await askWithin(api, {
      path,
      params,
      signal,
      priority: 'repair',
      parse: (body) => {
        const raw = Blocks.parse(body).blocks;
        const blocks = fittingOf(raw);
        const other = blocks.find((block) => !isAsked(block));
        if (other === undefined) return { blocks, rows: raw.length };
        throw new BadResponseError(`the response contains block ${blockKey(other)}, which was not requested`);
      },
    });
    return { ...value, limit: request.limit };
  };
  return {
    chain,
    requests: () => requests,
    async after(second) {
      const params = { start_utime: second, sort: 'asc', limit: PAGE, offset: 0 };
      const isAfter = ({ gen_utime }: LinkedBlock) => gen_utime >= second;
      const { blocks, rows, limit = PAGE } = await ask('/api/v3/blocks', params, isAfter);
      return { blocks, whole: rows < limit };
    },
    async before(second) {
      const params = { end_utime: second - 1, sort: 'desc', limit: PAGE_BEFORE, offset: 0 };
      return (await ask('/api/v3/blocks', params, ({ gen_utime }) => gen_utime < second)).blocks;
    },
    async topsOf(seqno) {
      try {
        return (await ask('/api/v3/masterchainBlockShardState', { seqno })).blocks;
      } catch (error) {
        // Another masterchain block may serve. If none does, less is proved.
        if (isNotServed(error)) return undefined;
        throw error;
      }
    },
    async named({ workchain, shard, seqno }) {
      const params = { workchain, shard, seqno, sort: 'asc', limit: 2, offset: 0 };
      const { blocks } = await ask('/api/v3/blocks', params);
      return blocks.find((block) => blockKey(block) === blockKey({ workchain, shard, seqno }));
    },
  };
}

/** A masterchain block this many seconds after the stretch has tops after it, unless a shard lags. */
const LEADS = [15, 90, 600];

/** What is known about the blocks around a stretch: from the tables if they are stored, else from the source. */
export interface BlocksAround {
  /** The tops from which every block can be reached; each lies at or after `closesAt`. */
  readonly tops: readonly LinkedBlock[];
  /** The second before which the closure holds: the stretch's end, or an earlier one if nothing is known after it. */
  readonly closesAt: number;
  /** Stored blocks from this second on do not belong to the closure. */
  readonly storedUntil: number;
  readonly after: readonly LinkedBlock[];
}

export interface CoveredStretch {
  /** The seconds to prove. */
  readonly stretch: Range;
  /** The covered range in which the stretch lies. Its blocks are stored. */
  readonly covered: Range;
}

/** Tops at or after the stretch's end and the blocks between: stored ones if coverage goes on, else requested ones. */
export async function readBlocksAround(
  session: Session,
  source: BlocksOfSource,
  checked: CoveredStretch,
): Promise<BlocksAround | undefined> {
  const stored = await storedMasters(session, { from: checked.stretch.to, to: checked.covered.to });
  const inside = await topsAfter(source, stored, checked.stretch.to);
  if (inside !== undefined) return { ...inside, after: [], closesAt: checked.stretch.to };
  const { blocks, whole } = await source.after(checked.stretch.to);
  const last = blocks.at(-1)?.gen_utime ?? 0;
  // The page may end in the middle of its last second.
  const complete = whole ? blocks : blocks.filter(({ gen_utime }) => gen_utime < last);
  const beyond = await topsAfter(source, mastersOf(complete), checked.stretch.to);
  if (beyond === undefined || !areAmong(beyond.tops, complete)) return undefined;
  return {
    tops: beyond.tops,
    after: complete,
    closesAt: checked.stretch.to,
    storedUntil: checked.stretch.to,
  };
}

/**
 * A page with a masterchain block also has, in the same seconds, the tops after the stretch that the block names. A top
 * that only claims to lie after the stretch would never be searched for within it.
 */
function areAmong(tops: readonly LinkedBlock[], blocks: readonly LinkedBlock[]): boolean {
  const seconds = new Map(blocks.map((block) => [blockKey(block), block.gen_utime]));
  return tops.every((top) => seconds.get(blockKey(top)) === top.gen_utime);
}

/** Used if nothing can be had after the stretch: the tops of a stored block near its end, which prove a little less. */
export async function readBlocksAtEnd(
  session: Session,
  source: BlocksOfSource,
  stretch: Range,
): Promise<BlocksAround | undefined> {
  const masters = await storedMasters(session, stretch);
  const last = masters.at(-1);
  const tops = last && (await topsOf(source, last));
  if (last === undefined || tops === undefined) return undefined;
  return {
    tops,
    after: [],
    closesAt: Math.min(...tops.map(({ gen_utime }) => gen_utime)),
    storedUntil: last.gen_utime + 1,
  };
}

/** The last blocks before a stretch. There are none before the index's first block, and covered ones are stored. */
export async function blocksBefore(
  source: BlocksOfSource,
  { stretch, covered }: CoveredStretch,
): Promise<readonly LinkedBlock[]> {
  if (covered.from < stretch.from || stretch.from <= source.chain.first.utime) return [];
  return source.before(stretch.from);
}

interface Master {
  readonly seqno: number;
  readonly gen_utime: number;
}

/** The tops of the nearest of several masterchain blocks whose tops all lie at or after `end`. */
async function topsAfter(
  source: BlocksOfSource,
  masters: readonly Master[],
  end: number,
): Promise<Pick<BlocksAround, 'tops' | 'storedUntil'> | undefined> {
  const tried = LEADS.map((lead) => masters.find(({ gen_utime }) => gen_utime >= end + lead));
  const choices = new Set([...tried, masters.at(-1)].filter((master) => master !== undefined));
  for (const master of choices) {
    const tops = await topsOf(source, master);
    if (tops?.every((top) => top.gen_utime >= end) === true)
      return { tops, storedUntil: master.gen_utime + 1 };
  }
  return undefined;
}

/** The tops of all shards. Undefined if one is later than the masterchain block that names it. */
async function topsOf(
  source: BlocksOfSource,
  { seqno, gen_utime }: Master,
): Promise<readonly LinkedBlock[] | undefined> {
  const tops = await source.topsOf(seqno);
  const fit = tops !== undefined && tiles(tops) && tops.every((top) => top.gen_utime <= gen_utime);
  return fit ? tops : undefined;
}

const StoredMaster = z.object({ seqno: z.number(), gen_utime: z.coerce.number() });

/** The stored masterchain blocks of a range, ascending: the first thousand and the last thousand are enough. */
async function storedMasters(session: Session, range: Range): Promise<Master[]> {
  if (range.from >= range.to) return [];
  const some = (order: 'asc' | 'desc') =>
    session.rows(
      sql`select seqno, extract(epoch from utime)::int8 as gen_utime from ton.blocks b
          where ${during('b', range)} and workchain = ${MASTERCHAIN} order by b.utime ${sql.raw(order)}, seqno ${sql.raw(order)} limit 1000`,
      StoredMaster,
    );
  const [first, last] = [await some('asc'), await some('desc')];
  const bySeqno = new Map([...first, ...last].map((master) => [master.seqno, master]));
  return [...bySeqno.values()].sort((a, b) => a.seqno - b.seqno);
}

function mastersOf(blocks: readonly LinkedBlock[]): Master[] {
  return blocks.filter(({ workchain }) => workchain === MASTERCHAIN).sort((a, b) => a.seqno - b.seqno);
}
