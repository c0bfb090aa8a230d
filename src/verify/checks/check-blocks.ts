import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { block_parents, blocks as blocksTable } from '../../tables/ton/blocks.ts';
import type { Session } from '../../postgres/database.ts';
import { common, formatTime, spanOfSecond, without, type Range, HOUR } from '../../range.ts';
import { blockKey, MASTERCHAIN } from '../../ton/shard.ts';
import {
  type Check,
  type CheckLook,
  type Result,
  type VerifyContext,
  NEAR,
  joinByHash,
  findingsOf,
  spansOf,
  type Finding,
} from './check.ts';
import {
  blocksBefore,
  readBlocksAround,
  readBlocksAtEnd,
  type CoveredStretch,
  type BlocksAround,
  type BlocksOfSource,
} from './block-source.ts';
import { countReadRows } from '../../write/seals.ts';
import { during, secondOf } from '../../postgres/sql.ts';
import type { LinkedBlock } from '../../crawl/source-chain.ts';
import { quarantine } from '../../tables/etl/quarantine.ts';

/** The bits of a shard's prefix, as text: a shard lies in another if its prefix begins with the other's. */
const prefix = (shard: SQL) => sql`left(rtrim(('x' || lpad(${shard}, 16, '0'))::bit(64)::text, '0'), -1)`;

const CHECK = 'blocks';
const FACTS = { check: CHECK, dataset: CHECK };
const ATTEMPTS = 3;

export const blocks: Check = {
  name: CHECK,
  reads: () => [blocksTable, block_parents],
  steps: (context, { covered, coverage }) =>
    covered.map((stretch) => {
      const around = coverage.find(({ from, to }) => from <= stretch.from && to >= stretch.to) ?? stretch;
      return {
        check: CHECK,
        stretch,
        run: (look) => checkBlocks(look, context, { stretch, covered: around }),
      };
    }),
};

/**
 * The closure: every block that `prev_blocks` leads to from tops at or after the stretch's end is stored. Every chain
 * ends in a block before the stretch, in seqno 0, or below the index's first block. It is a join and not a walk: if
 * every top is stored, and every parent of a stored block, then by induction so is everything that can be reached.
 * Nothing else is stored: every stored block is a top or the parent of another one.
 */
async function checkBlocks(
  look: CheckLook,
  { database, source }: VerifyContext,
  checked: CoveredStretch,
): Promise<Result> {
  const { stretch } = checked;
  const facts = { before: await blocksBefore(source, checked), first: source.chain.first };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const around = await readBlocksAround(database, source, checked);
    if (around === undefined) continue;
    const seen = await look((session) => lookAt(session, checked, { ...around, ...facts }));
    const broken = await locateFirst(source, stretch, seen.missing);
    const missing = await locateLast(source, Math.max(stretch.to, around.storedUntil), broken);
    // The blocks that are known after the stretch may end too early: then they are requested again.
    if (missing !== undefined)
      return { ...seen, findings: [...seen.findings, ...closureOf(checked, around, { ...seen, missing })] };
  }
  const within = await readBlocksAtEnd(database, source, stretch);
  const seen = await look((session) => lookAt(session, checked, within && { ...within, ...facts }));
  if (within === undefined) return { ...seen, findings: [...seen.findings, open(stretch)] };
  const missing = await locateFirst(source, stretch, seen.missing);
  const closed = { ...checked, stretch: { ...stretch, to: within.closesAt } };
  const closure = closureOf(closed, within, { ...seen, missing });
  return {
    ...seen,
    findings: [...seen.findings, ...closure, open({ from: within.closesAt, to: stretch.to })],
  };
}

interface SeenBlocks extends Result {
  readonly missing: readonly Missing[];
  readonly unreached: readonly Finding[];
}

/** The contents of a stretch at one moment. The closure is examined only if the blocks around it are known. */
async function lookAt(
  session: Session,
  checked: CoveredStretch,
  around: Around | undefined,
): Promise<SeenBlocks> {
  const { stretch } = checked;
  await joinByHash(session);
  const [block, link] = [blocksOf(stretch), linksWithin(stretch)];
  const counted = [
    await countReadRows(session, blocksTable, { read: block, stretch }),
    await countReadRows(session, block_parents, { read: link, stretch }),
  ];
  return {
    missing: around === undefined ? [] : await missingParents(session, checked, around),
    unreached: around === undefined ? [] : await unreachedBlocks(session, stretch, around),
    findings: [...(await findMiscounted(session, stretch)), ...(await unfitLinks(session, stretch))],
    rows: counted.reduce((sum, { rows }) => sum + rows, 0),
    readRows: counted,
  };
}

/**
 * Seconds above the highest fault are proved. Below it, a branch may have no link that names it, or be reached only
 * from a block that should not exist. So nothing is said about it until the fault is repaired.
 */
function closureOf(
  { stretch, covered }: CoveredStretch,
  around: BlocksAround,
  { missing, unreached, findings: links }: Pick<SeenBlocks, 'missing' | 'unreached' | 'findings'>,
): Finding[] {
  // A parent that only a surplus block names is not missing.
  const loose = spansOf(unreached);
  const named = missing.filter(({ child_at }) => common([spanOfSecond(child_at)], loose).length === 0);
  // If the source no longer has the parent, it is unknown whether it lies within the stretch.
  const gaps = named
    .filter(({ registered }) => registered !== 'earlier')
    .map((row): Finding => {
      const hole = { from: row.lower ?? stretch.from, to: row.child_at + 1 };
      return {
        ...FACTS,
        scope: '',
        kind: 'missing_block',
        count: 1,
        spans: common([hole], [{ from: covered.from, to: covered.to }]),
        example: `${blockKey(row)}, the parent of ${row.child} of ${formatTime(row.child_at)}`,
        outcome: row.known ? 'known' : 'hole',
        rows: common([hole], [covered]).map((span) => ({ key: blockKey(row), span })),
      };
    });
  const closed = Math.min(stretch.to, around.closesAt);
  const linked = Math.max(stretch.from, ...named.map(({ child_at }) => child_at + 1));
  // The other copy of a doubled block may lie beyond the stretch, and it is unknown which one is wrong.
  const surplus = unreached.flatMap((finding) =>
    finding.kind === DOUBLED ? [finding] : partOf(finding, { from: linked, to: closed }),
  );
  const faults = [...links, ...surplus].flatMap(({ spans }) => spans.map(({ to }) => to));
  const proved = { from: Math.min(Math.max(linked, ...faults), closed), to: closed };
  return [...sumUp(gaps), ...surplus, ...without([stretch], [proved]).map(open)];
}

/** The part of a finding that lies within a span. */
function partOf(finding: Finding, span: Range): Finding[] {
  const spans = common(finding.spans, [span]);
  const rows = finding.rows.filter((row) => common([row.span], spans).length > 0);
  const count = finding.rows.length < finding.count ? finding.count : rows.length;
  return spans.length === 0 ? [] : [{ ...finding, spans, rows, count }];
}

/** Merges the findings of each outcome into one. */
function sumUp(findings: readonly Finding[]): Finding[] {
  return [...new Set(findings.map(({ outcome }) => outcome))].flatMap((outcome) => {
    const same = findings.filter((finding) => finding.outcome === outcome);
    const [spans, rows] = [same.flatMap((one) => one.spans), same.flatMap((one) => one.rows)];
    return same.slice(0, 1).map((first) => ({ ...first, count: same.length, spans, rows }));
  });
}

function open(span: Range): Finding {
  return {
    ...FACTS,
    ...{ scope: '', kind: 'not_closed', count: 1, outcome: 'open', rows: [] },
    spans: span.from < span.to ? [span] : [],
    example: `no unbroken chain of blocks leads to ${formatTime(span.from)} .. ${formatTime(span.to)} from above`,
  };
}

const blocksOf = (stretch: Range) => sql`(select * from ton.blocks b where ${during('b', stretch)}) b`;

const linksWithin = (stretch: Range) =>
  sql`(select * from ton.block_parents p where ${during('p', stretch)}) p`;

/**
 * A block without its links ends every chain that reaches it, and the blocks below it would not be missed. A surplus
 * link leads to a block of another chain, or to the same parent twice.
 */
function findMiscounted(session: Session, stretch: Range): Promise<Finding[]> {
  return findingsOf(session, {
    ...FACTS,
    query: sql`
      select case when s.surplus > 0 then 'surplus_link' else 'missing_link' end as kind,
        case when s.surplus > 0 then 'surplus' else 'hole' end as outcome, ${blockKeyOf('b')} as id,
        ${secondOf('b')} as span
      from ${blocksOf(stretch)}
      left join (select utime, workchain, shard, seqno, count(*) as links from ${linksWithin(stretch)}
        group by 1, 2, 3, 4) p using (utime, workchain, shard, seqno)
      cross join lateral (select coalesce(p.links, 0) - case when b.after_merge then 2 else 1 end as surplus) s
      where s.surplus <> 0`,
  });
}

/** How far beyond the stretch copies of its blocks are searched for: adjacent ranges are verified one by one. */
const COPIES_WITHIN = HOUR;

/** Kind of the finding that names all copies of a block. */
const DOUBLED = 'doubled_block';

/**
 * The other side of the closure: every stored block of the stretch is a top or the parent of a stored block, and is
 * stored once. Of a made-up chain of blocks, each round of repair removes the newest one.
 */
function unreachedBlocks(session: Session, stretch: Range, around: BlocksAround): Promise<Finding[]> {
  const last = blocksBeyond(around).map(({ workchain, shard, seqno }) => ({ workchain, shard, seqno }));
  const closed = { from: stretch.from, to: Math.min(stretch.to, around.closesAt) };
  const near = { from: closed.from - COPIES_WITHIN, to: closed.to + COPIES_WITHIN };
  return findingsOf(session, {
    ...FACTS,
    query: sql`
      with links as materialized (
        select workchain, shard, seqno from (${linksOf(stretch.from, around)}) l
        union all
        select * from jsonb_to_recordset(${JSON.stringify(last)}::jsonb) as n (workchain int, shard text, seqno int)),
      doubled as materialized (
        select workchain, shard, seqno from ton.blocks b where ${during('b', near)} group by 1, 2, 3
        having count(*) > 1 and bool_or(${during('b', closed)}))
      select 'unreached_block' as kind, 'surplus' as outcome, ${blockKeyOf('b')} as id,
        ${secondOf('b')} as span
      from ton.blocks b
      where ${during('b', closed)} and not exists (
        select 1 from links l where l.workchain = b.workchain and l.shard = b.shard and l.seqno = b.seqno)
      union all
      select ${DOUBLED}, 'surplus', ${blockKeyOf('b')}, ${secondOf('b')}
      from ton.blocks b join doubled using (workchain, shard, seqno) where ${during('b', near)}`,
  });
}

/**
 * Links that no chain has. The parent lies in another workchain, or is not the block before: of a shard that was merged,
 * not its last one. Or its shard is neither the child's own nor one that was split or merged into it. Also links of
 * blocks that are not stored.
 */
function unfitLinks(session: Session, stretch: Range): Promise<Finding[]> {
  const [child, parent] = [prefix(sql`p.shard`), prefix(sql`p.parent_shard`)];
  return findingsOf(session, {
    ...FACTS,
    query: sql`
      select 'unfit_link' as kind, 'doubt' as outcome, ${blockKeyOf('p')} as id,
        ${secondOf('p')} as span
      from ${linksWithin(stretch)}
      where (p.parent_workchain <> p.workchain or p.parent_seqno >= p.seqno
        or case when p.parent_shard = p.shard then p.parent_seqno <> p.seqno - 1
          when length(${parent}) = length(${child}) - 1 then not starts_with(${child}, ${parent}) or p.parent_seqno <> p.seqno - 1
          else length(${parent}) <> length(${child}) + 1 or not starts_with(${parent}, ${child}) or exists (
            select 1 from ton.blocks b where b.workchain = p.parent_workchain and b.shard = p.parent_shard
              and b.seqno > p.parent_seqno and b.seqno < p.seqno and ${during('b', stretch)}) end)
      union all
      select 'stray_link', 'surplus', ${blockKeyOf('p')}, ${secondOf('p')}
      from ${linksWithin(stretch)}
      where not exists (
        select 1 from ton.blocks b where b.utime = p.utime and b.workchain = p.workchain and b.shard = p.shard
          and b.seqno = p.seqno and ${during('b', stretch)})`,
  });
}

type FoundBlock = Pick<LinkedBlock, 'gen_utime'>;

/** How many blocks are looked up by name if the stored ones do not tell in which second they lie. */
const MOST_LOOK_UPS = 32;

/**
 * A missing block may lie before the stretch if no block of its chain is stored below it: the source can tell. At its
 * own beginning the source has no such block, and nothing is missing. It cannot tell anything about blocks that were
 * read before its beginning moved there.
 */
async function locateFirst(
  source: BlocksOfSource,
  stretch: Range,
  rows: readonly Missing[],
): Promise<Missing[]> {
  const located: Missing[] = [];
  let lookUps = 0;
  for (const row of rows) {
    if (isOfNoIndex(row)) continue;
    if (!isAtStart(row, stretch) || lookUps >= MOST_LOOK_UPS) {
      located.push(row);
      continue;
    }
    lookUps += 1;
    const found = await source.named(row);
    // No block of its chain is stored below it, so the blocks before it in the stretch are missing as well.
    if (liesWithin(row, found, stretch)) located.push({ ...row, lower: stretch.from });
  }
  return located;
}

/** True of the parent of the index's first masterchain block. */
function isOfNoIndex({ registered, workchain, known }: Missing): boolean {
  return registered === 'first' && workchain === MASTERCHAIN && !known;
}

/** True if the source may tell more about it. */
function isAtStart({ lower, known, registered }: Missing, { from }: Range): boolean {
  return !known && registered !== 'earlier' && (lower === null || lower < from);
}

/** A block that the source does not have lies in the stretch, unless the source begins there. */
function liesWithin({ registered }: Missing, found: FoundBlock | undefined, { from }: Range): boolean {
  return found === undefined ? registered !== 'first' : found.gen_utime >= from;
}

/**
 * A broken link after the stretch leads to a block that may lie in it, so the source is asked. Undefined if that block
 * lies after the stretch, too: then the blocks known there are incomplete.
 */
async function locateLast(
  source: BlocksOfSource,
  end: number,
  rows: readonly Missing[],
): Promise<Missing[] | undefined> {
  const located: Missing[] = [];
  for (const [index, row] of rows.entries()) {
    if (row.child_at < end) {
      located.push(row);
      continue;
    }
    const found = index < MOST_LOOK_UPS ? await source.named(row) : undefined;
    if (found === undefined || found.gen_utime >= end) return undefined;
    located.push({ ...row, child_at: found.gen_utime });
  }
  return located;
}

/** How many broken links are reported one by one, from the highest down. Below them nothing is proved anyway. */
const MOST = 5000;

const Missing = z.object({
  workchain: z.number(),
  shard: z.string(),
  seqno: z.number(),
  child: z.string(),
  child_at: z.coerce.number(),
  lower: z.coerce.number().nullable(),
  known: z.boolean(),
  /** Set if the index begins here and has no block of the chain below: which masterchain block registered the child. */
  registered: z.enum(['first', 'earlier']).nullable(),
});

/** A parent that a stored block names but that is not stored. */
type Missing = z.infer<typeof Missing>;

interface Around extends BlocksAround {
  readonly before: readonly LinkedBlock[];
  /** The masterchain block with which the source begins. */
  readonly first: { readonly seqno: number; readonly utime: number };
}

/**
 * Parents of the stored blocks of a stretch, and tops after it, that are not stored. Few of them are far away: each of
 * those is looked up in the index of all blocks, which a hash join would read whole.
 */
function missingParents(
  session: Session,
  { stretch, covered }: CoveredStretch,
  around: Around,
): Promise<Missing[]> {
  const beyond = blocksBeyond(around);
  const near = [...around.before, ...beyond];
  return session.rows(
    sql`
      with near as (${asTable(near)}), links as (${linksOf(stretch.from, around)}),
      unseen as materialized (
        select l.* from links l
        where l.seqno > 0 and not exists (select 1 from near n where (n.workchain, n.shard, n.seqno) = (l.workchain, l.shard, l.seqno))
          and not exists (select 1 from ton.blocks b where (b.workchain, b.shard, b.seqno) = (l.workchain, l.shard, l.seqno)
            and ${during('b', { from: stretch.from - NEAR, to: around.storedUntil })})),
      missing as materialized (
        select u.* from unseen u
        where (select true from ton.blocks b where b.workchain = u.workchain and b.shard = u.shard and b.seqno = u.seqno limit 1) is null
        order by child_at desc limit ${MOST}::int)
      select m.workchain, m.shard, m.seqno, ${blockKeyOf('child')} as child, child_at, lower,
        exists (select 1 from ${quarantine} where ${quarantine.dataset} = 'blocks'
          and ${quarantine.record_id} = ${blockKeyOf('m')}) as known,
        case when lower is null and m.child_at <= ${around.first.utime}::int8 then ${registeredBy(around.first)} end as registered
      from missing m cross join lateral (${newestBelow(covered.from, near)}) b (lower)
        cross join lateral (select m.workchain, m.child_shard, m.child_seqno) child (workchain, shard, seqno)`,
    Missing,
  );
}

/**
 * Tells which masterchain block registered the child: the first one of the index, or one that the index no longer has.
 */
const registeredBy = ({ seqno }: Around['first']): SQL => sql`(
  select case when r.seqno = ${seqno}::int then 'first' when r.seqno < ${seqno}::int then 'earlier' end
  from ton.blocks c cross join lateral (
    select case when c.workchain = ${MASTERCHAIN} then c.seqno else c.masterchain_block_ref_seqno end as seqno) r
  where c.workchain = m.workchain and c.shard = m.child_shard and c.seqno = m.child_seqno limit 1)`;

function asTable(blocks: readonly LinkedBlock[]): SQL {
  const rows = blocks.map(({ workchain, shard, seqno, gen_utime: at }) => ({ workchain, shard, seqno, at }));
  return sql`select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as n (workchain int, shard text, seqno int, at int8)`;
}

/** The time of the newest known block of the missing block's own chain: the missing one is not older. */
function newestBelow(from: number, near: readonly LinkedBlock[]): SQL {
  const [own, stored, other] = [prefix(sql`m.shard`), prefix(sql`b.shard`), prefix(sql`n.shard`)];
  const overlaps = (shard: SQL) => sql`(starts_with(${own}, ${shard}) or starts_with(${shard}, ${own}))`;
  const fromNear =
    near.length === 0
      ? sql`null`
      : sql`(select max(n.at) from near n
      where n.workchain = m.workchain and n.seqno < m.seqno and n.at <= m.child_at and ${overlaps(other)})`;
  return sql`
    select greatest(
      (select extract(epoch from b.utime)::int8 from ton.blocks b
        where b.workchain = m.workchain and b.seqno < m.seqno and b.utime <= to_timestamp(m.child_at)
          and b.utime >= to_timestamp(${from}::float8) and ${overlaps(stored)}
        order by b.utime desc limit 1),
      ${fromNear})`;
}

/** Blocks after the stored ones: those that were requested, and the tops. */
function blocksBeyond(around: BlocksAround): LinkedBlock[] {
  const beyond = [...around.after, ...around.tops.filter((top) => top.gen_utime >= around.storedUntil)];
  return [...new Map(beyond.map((block) => [blockKey(block), block])).values()];
}

/**
 * Links to parents, from the stored blocks of a stretch and from the blocks after it; and links to the tops themselves.
 */
function linksOf(from: number, around: BlocksAround): SQL {
  const links = blocksBeyond(around).flatMap((child) =>
    (child.prev_blocks ?? []).map((parent) => linkOf(child, parent, child.gen_utime)),
  );
  const tops = around.tops
    .filter((top) => top.gen_utime < around.storedUntil)
    .map((top) => linkOf(top, top, top.gen_utime));
  return sql`
    select p.parent_workchain as workchain, p.parent_shard as shard, p.parent_seqno as seqno,
      p.shard as child_shard, p.seqno as child_seqno, extract(epoch from p.utime)::int8 as child_at
    from ton.block_parents p where ${during('p', { from, to: around.storedUntil })}
    union all
    select * from jsonb_to_recordset(${JSON.stringify([...links, ...tops])}::jsonb)
      as l (workchain int, shard text, seqno int, child_shard text, child_seqno int, child_at int8)`;
}

type Id = Pick<LinkedBlock, 'workchain' | 'shard' | 'seqno'>;

function linkOf(child: Id, { workchain, shard, seqno }: Id, at: number) {
  return { workchain, shard, seqno, child_shard: child.shard, child_seqno: child.seqno, child_at: at };
}

/** The key of a block in a statement, as `blockKey` writes it, from the columns workchain, shard and seqno. */
export function blockKeyOf(alias: string): SQL {
  const of = (column: string) => sql`${sql.identifier(alias)}.${sql.identifier(column)}`;
  return sql`${of('workchain')} || ':' || ${of('shard')} || ':' || ${of('seqno')}`;
}
