import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { LinkedBlock } from '../../crawl/block-links.ts';
import { blockKey } from '../../ton/block-key.ts';
import { MASTERCHAIN, tiles } from '../../ton/shard.ts';
import type { Session } from '../../postgres/database.ts';
import type { Range } from '../../range.ts';
import type { BlocksOfSource } from './block-source.ts';
import { during } from '../../postgres/seconds.ts';

/** A masterchain block so long after the stretch has tops after it, unless a shard lags. */
const LEADS = [15, 90, 600];

/** What is known about the blocks around a stretch, from the source or, where they are stored too, from the tables. */
export interface Surroundings {
  /** The tops from which everything can be reached; each lies at or after `closesAt`. */
  readonly tops: readonly LinkedBlock[];
  /** The second before which the closure holds: the stretch's end, or, where that cannot be had, an earlier one. */
  readonly closesAt: number;
  /** Stored blocks from here on belong to the closure no more. */
  readonly storedUntil: number;
  readonly after: readonly LinkedBlock[];
}

export interface CoveredStretch {
  /** What is to be proved. */
  readonly stretch: Range;
  /** The stored blocks around it: the covered range in which the stretch lies. */
  readonly covered: Range;
}

/** Tops at or after the stretch's end and what lies between: stored, where coverage goes on, else asked for. */
export async function surroundingsOf(
  session: Session,
  source: BlocksOfSource,
  place: CoveredStretch,
): Promise<Surroundings | undefined> {
  const stored = await storedMasters(session, { from: place.stretch.to, to: place.covered.to });
  const inside = await topsBehind(source, stored, place.stretch.to);
  if (inside !== undefined) return { ...inside, after: [], closesAt: place.stretch.to };
  const { blocks, whole } = await source.after(place.stretch.to);
  const last = blocks.at(-1)?.gen_utime ?? 0;
  // The page may end in the middle of its last second.
  const complete = whole ? blocks : blocks.filter(({ gen_utime }) => gen_utime < last);
  const beyond = await topsBehind(source, mastersOf(complete), place.stretch.to);
  if (beyond === undefined || !areAmong(beyond.tops, complete)) return undefined;
  return {
    tops: beyond.tops,
    after: complete,
    closesAt: place.stretch.to,
    storedUntil: place.stretch.to,
  };
}

/**
 * The page that has a masterchain block has the tops behind the stretch that it names, too, in the same seconds. One that
 * only claims to lie behind the stretch would never be looked for in it.
 */
function areAmong(tops: readonly LinkedBlock[], blocks: readonly LinkedBlock[]): boolean {
  const seconds = new Map(blocks.map((block) => [blockKey(block), block.gen_utime]));
  return tops.every((top) => seconds.get(blockKey(top)) === top.gen_utime);
}

/** Where what follows the stretch cannot be had: tops of a stored block near its end, which prove a little less. */
export async function surroundingsWithin(
  session: Session,
  source: BlocksOfSource,
  stretch: Range,
): Promise<Surroundings | undefined> {
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

/** The last blocks before a stretch. None come before the index' first; what is covered before it is stored. */
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

/** Of several masterchain blocks the nearest one all of whose tops lie at or after `end`. */
async function topsBehind(
  source: BlocksOfSource,
  masters: readonly Master[],
  end: number,
): Promise<Pick<Surroundings, 'tops' | 'storedUntil'> | undefined> {
  const tried = LEADS.map((lead) => masters.find(({ gen_utime }) => gen_utime >= end + lead));
  const choices = new Set([...tried, masters.at(-1)].filter((master) => master !== undefined));
  for (const master of choices) {
    const tops = await topsOf(source, master);
    if (tops?.every((top) => top.gen_utime >= end) === true)
      return { tops, storedUntil: master.gen_utime + 1 };
  }
  return undefined;
}

/** The tops of all shards, none of them later than the masterchain block that names them; else undefined. */
async function topsOf(
  source: BlocksOfSource,
  { seqno, gen_utime }: Master,
): Promise<readonly LinkedBlock[] | undefined> {
  const tops = await source.topsOf(seqno);
  const fit = tops !== undefined && tiles(tops) && tops.every((top) => top.gen_utime <= gen_utime);
  return fit ? tops : undefined;
}

const StoredMaster = z.object({ seqno: z.number(), gen_utime: z.coerce.number() });

/** The stored masterchain blocks of a range, ascending: the first and the last thousand are more than enough. */
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
