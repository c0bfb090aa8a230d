import type { Predecessor } from '../dataset/paginators/paginator.ts';
import { keepGap, readGaps, renewGap, type Gap } from '../ledger/stored-coverage.ts';
import { blocksNotStored } from '../read/bounding-blocks.ts';
import { BadResponseError, EtlError, isNotServed, MissingBlockError } from '../errors.ts';
import { common, formatRange, formatTime, union, without, type Range } from '../range.ts';
import { blockKey, misplacedBlocks, isOfMasterchain, MASTERCHAIN } from '../ton/shard.ts';
import type { CrawlContext } from './crawl-context.ts';
import {
  brokenLinks,
  newestBelow,
  type BrokenLink,
  type LinkedBlock,
  namedBlock,
  newestBefore,
  visibleBlocks,
  type Asking,
} from './source-chain.ts';

/**
 * Seconds after a range within which blocks name their missing parents of the range, if blocks come at the usual rate.
 */
const AHEAD = 120;
/** Maximum number of absent blocks that are looked up by name before they count as missing. */
const MOST_NAMED = 64;
/** Attempts to find a parent that no page shows: the server that answered may lag behind the others. */
const LOOKS = 3;
const PAUSE_MS = 1000;

const OF_MASTERCHAIN = { workchain: MASTERCHAIN };

function missingBlock({ namedAt, ...parent }: Predecessor): MissingBlockError {
  const child = `the parent of a block of ${formatTime(namedAt)}`;
  return new MissingBlockError(`block ${blockKey(parent)}, ${child}, is missing`, namedAt);
}

/** The visible blocks of a range, and the neighbors that show what is missing at its ends. */
async function blocksAround(asking: Asking, range: Range): Promise<Map<string, LinkedBlock>> {
  const known = new Map<string, LinkedBlock>();
  const add = (blocks: readonly LinkedBlock[]) =>
    blocks.forEach((block) => known.set(blockKey(block), block));
  add(await newestBefore(asking, range.from));
  for await (const { blocks } of visibleBlocks(asking, { from: range.from })) {
    add(blocks);
    const [first, last] = [blocks[0], blocks.at(-1)];
    if (last === undefined || first === undefined) break;
    if (first.gen_utime >= range.to || last.gen_utime >= range.to + AHEAD) break;
  }
  return known;
}

/**
 * Finds the gaps that touch a range. Every block but the first ones of the index follows from others, and
 * time never falls along a chain. So a missing block lies between the newest visible block below it and the
 * block that names it. It may share a second with either.
 */
export async function findGaps(asking: Asking, range: Range): Promise<Gap[]> {
  const known = await blocksAround(asking, range);
  const start = Math.min(...[...known.values()].map(({ gen_utime }) => gen_utime));
  const isStart = beginningOf(asking, start);
  const gaps: Gap[] = [];
  const sought = new Set<string>();
  for (const link of brokenLinks(known).toSorted((a, b) => a.child.gen_utime - b.child.gen_utime)) {
    // If nothing of a chain is known below, the index may have nothing there.
    if (link.lower === undefined && (await isStart())) continue;
    const gap = gapOf(link, start);
    const key = blockKey(link.missing);
    if (common([gap.span], [range]).length === 0 || sought.has(key)) continue;
    sought.add(key);
    if (sought.size > MOST_NAMED || (await namedBlock(asking, link.missing)) === undefined) gaps.push(gap);
  }
  return joined(gaps);
}

/** The gaps that broken links show. `start`: the second from which all visible blocks are known. */
export function gapsOf(links: readonly BrokenLink[], start: number): Gap[] {
  return joined(links.map((link) => gapOf(link, start)));
}

/** Whether the index begins at a second. The request is sent once. */
function beginningOf(asking: Asking, second: number): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined;
  return () => (answer ??= newestBefore(asking, second).then(({ length }) => length === 0));
}

function gapOf({ missing, child, lower }: BrokenLink, start: number): Gap {
  const { workchain, seqno } = missing;
  const first = (lower?.seqno ?? seqno - 1) + 1;
  const named = workchain === MASTERCHAIN ? `masterchain block` : `block`;
  const detail =
    workchain !== MASTERCHAIN
      ? `${named} ${blockKey(missing)} is missing, or others of its chain too`
      : first < seqno
        ? `${named}s ${first} to ${seqno} are missing`
        : `${named} ${seqno} is missing`;
  return { span: { from: lower?.gen_utime ?? start, to: child.gen_utime + 1 }, detail };
}

/**
 * Merges gaps whose seconds overlap. A missing masterchain block is the better explanation, because it
 * registers the blocks of shards.
 */
function joined(gaps: readonly Gap[]): Gap[] {
  return union(gaps.map(({ span }) => span)).map((span) => {
    const own = gaps.filter((gap) => common([gap.span], [span]).length > 0).map(({ detail }) => detail);
    const [first] = own.toSorted((a, b) => Number(b.startsWith('master')) - Number(a.startsWith('master')));
    return { span, detail: `the source has a gap: ${first ?? 'blocks are missing'}` };
  });
}

/** Seconds between masterchain blocks of a range that do not follow each other, and how far the search came. */
export async function missingMasterchain(
  asking: Asking,
  range: Range,
  {
    below,
    mostPages = Infinity,
  }: { readonly below?: LinkedBlock | undefined; readonly mostPages?: number } = {},
): Promise<{ readonly missing: readonly Range[]; readonly pages: number; readonly until: number }> {
  const missing: Range[] = [];
  let last = below;
  let pages = 0;
  for await (const { blocks } of visibleBlocks(asking, { from: range.from, only: OF_MASTERCHAIN })) {
    for (const block of blocks.filter(isOfMasterchain).toSorted((a, b) => a.seqno - b.seqno)) {
      last ??= block;
      if (block.seqno > last.seqno + 1) missing.push({ from: last.gen_utime, to: block.gen_utime + 1 });
      if (block.seqno > last.seqno) last = block;
    }
    pages += 1;
    const until = last?.gen_utime ?? range.from;
    if (until >= range.to || pages >= mostPages) return { missing, pages, until: Math.min(until, range.to) };
  }
  // There are no later blocks.
  return { missing, pages, until: range.to };
}

async function findMasterchainGaps(
  asking: Asking,
  range: Range,
  mostPages: number,
): Promise<{ readonly gaps: readonly Gap[]; readonly pages: number; readonly until: number }> {
  const [below] = (await newestBefore(asking, range.from, OF_MASTERCHAIN)).toSorted(
    (a, b) => b.seqno - a.seqno,
  );
  const { missing, pages, until } = await missingMasterchain(asking, range, { below, mostPages });
  const gaps: Gap[] = [];
  for (const span of union(common(missing, [range]))) gaps.push(...(await findGaps(asking, span)));
  return { gaps: joinedOnce(gaps), pages, until };
}

/** Searches of neighboring seconds may find the same gap. */
function joinedOnce(gaps: readonly Gap[]): Gap[] {
  return gaps.filter(({ span }, index) => gaps.findIndex((gap) => gap.span.from === span.from) === index);
}

/**
 * Requires that the parents of a page of blocks are stored or visible at the source. A lease may begin inside
 * a gap, and nothing in its own pages would show it.
 * @throws MissingBlockError if a parent is missing
 */
export async function requirePredecessors(
  { database, clock }: Pick<CrawlContext, 'database' | 'clock'>,
  asking: Asking,
  before: readonly Predecessor[],
  from: number,
): Promise<void> {
  const unstored = await blocksNotStored(database, before);
  if (unstored.length === 0) return;
  const below = await unlessUnserved(newestBefore(asking, from));
  const known = new Map((below ?? []).map((block) => [blockKey(block), block]));
  const start = Math.min(from, ...(below ?? []).map(({ gen_utime }) => gen_utime));
  const isStart = below === undefined ? () => Promise.resolve(false) : beginningOf(asking, start);
  const isThere = async (parent: Predecessor) =>
    (await unlessUnserved(namedBlock(asking, parent).then((block) => block !== undefined))) ?? true;
  const misplaced = misplacedBlocks([...known.values()], unstored);
  for (const parent of unstored.filter((one) => !known.has(blockKey(one)) && !misplaced.has(blockKey(one)))) {
    if (newestBelow(parent, known) === undefined && (await isStart())) continue;
    for (let look = 1; !(await isThere(parent)); look += 1) {
      if (look === LOOKS) throw missingBlock(parent);
      await clock.sleep(PAUSE_MS, asking.signal);
    }
  }
}

/**
 * Undefined if the server fails for this request: a block that it cannot serve is not missing, and is refused
 * by itself.
 */
async function unlessUnserved<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotServed(error)) return undefined;
    throw error;
  }
}

/** Finds and stores the gap that explains a failed reading of blocks; false if there is none. */
export async function explainByGap(
  { api, database, logger }: Pick<CrawlContext, 'api' | 'database' | 'logger'>,
  rest: Range,
  failure: unknown,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(failure instanceof BadResponseError)) return false;
  const at = failure instanceof MissingBlockError ? failure.namedAt : rest.from;
  const span = { from: Math.min(at, rest.from), to: at + 1 };
  const gaps = await findGaps({ api, priority: 'repair', signal }, span).catch(nothingFound);
  const known = (await readGaps(database, [span])).map((gap) => gap.span);
  const news = gaps.filter((gap) => without([gap.span], known).length > 0);
  for (const gap of news) await logAndKeepGap({ database, logger }, gap);
  return news.length > 0;
}

/** The failure that is being explained says enough. */
function nothingFound(error: unknown): Gap[] {
  if (error instanceof EtlError) return [];
  throw error;
}

/** Logs a gap and stores it. */
export async function logAndKeepGap(
  { database, logger }: Pick<CrawlContext, 'database' | 'logger'>,
  gap: Gap,
): Promise<void> {
  logger.warn(
    { range: formatRange(gap.span), reason: gap.detail },
    'gap in the source: no dataset is read there',
  );
  await keepGap(database, gap);
}

/** Rechecks the stored gaps of a range. Blocks that have appeared can be read; the pause of remaining gaps grows. */
export async function recheckGaps(
  { api, database, logger }: Pick<CrawlContext, 'api' | 'database' | 'logger'>,
  range: Range,
  { dueOnly, signal }: { readonly dueOnly: boolean; readonly signal: AbortSignal },
): Promise<void> {
  for (const { span, isDue } of await readGaps(database, [range])) {
    if (dueOnly && !isDue) continue;
    const left = await findGaps({ api, priority: 'repair', signal }, span);
    await renewGap(database, span, left);
    const level = left.length === 0 ? 'info' : 'debug';
    logger[level]({ range: formatRange(span), left: left.length }, 'rechecked a gap in the source');
  }
}

/** Maximum number of requests for masterchain blocks, each of an hour or more, before a range is read without them. */
const MOST_PAGES = 100;

/**
 * Looks for gaps in ranges whose blocks are not crawled: the list of masterchain blocks is short. If a range
 * spans many days, only its beginning is searched.
 */
export async function searchGaps(
  { api, database, logger }: Pick<CrawlContext, 'api' | 'database' | 'logger'>,
  ranges: readonly Range[],
  signal: AbortSignal,
): Promise<void> {
  let left = MOST_PAGES;
  for (const range of ranges) {
    const looked = await findMasterchainGaps({ api, priority: 'backfill', signal }, range, left);
    for (const gap of looked.gaps) await logAndKeepGap({ database, logger }, gap);
    left -= looked.pages;
    if (looked.until >= range.to && left > 0) continue;
    logger.info(
      { since: formatTime(looked.until) },
      'search for gaps in the source stopped at this time: choose blocks too, or a shorter range',
    );
    return;
  }
}
