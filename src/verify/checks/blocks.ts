import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { blockKey } from '../../ton/block-key.ts';
import type { LinkedBlock } from '../../crawl/watermark/block-links.ts';
import type { Session } from '../../db/connection/database.ts';
import { common, formatTime, type Range, without } from '../../range.ts';
import { countOf, during, findingsOf, secondOf, type Finding } from '../finding.ts';
import type { BlockSource } from '../block-source.ts';
import {
  blocksBefore,
  surroundingsOf,
  surroundingsWithin,
  type Place,
  type Surroundings,
} from './surroundings.ts';
import { quarantine } from '../../db/schema/quarantine.ts';

const CHECK = 'blocks';
/** Parents of blocks this much older are looked for one by one, not all at once. */
const NEAR = 3600;
/** Broken links that are told one by one; the next round sees what is left. */
const MOST = 5000;
/** Parents of a stretch's first blocks that are looked up by name, where the page before it does not hold them. */
const MOST_LOOK_UPS = 32;
const ATTEMPTS = 3;

/**
 * The closure: from tops at or after the stretch's end everything down by `prev_blocks` is stored, and every chain ends
 * in a block before the stretch, in seqno 0 or below the index' first block. Not walked but joined: if every top is
 * stored and every parent of every stored block is, then so is all that can be reached, by induction.
 */
export async function checkBlocks(
  session: Session,
  source: BlockSource,
  place: Place,
): Promise<{ findings: Finding[]; rows: number }> {
  const { stretch } = place;
  const around = { before: await blocksBefore(source, place) };
  const closure = await closeAt(session, source, place, around.before);
  const parentless = await findParentless(session, stretch);
  const rows = await countOf(
    session,
    sql`select count(*) as count from ton.block_parents p where ${during('p', stretch)}`,
  );
  return { findings: [...closure, ...parentless], rows };
}

/** What is known of the blocks after a stretch may itself be cut short: then it is asked for again. */
async function closeAt(
  session: Session,
  source: BlockSource,
  place: Place,
  before: readonly LinkedBlock[],
): Promise<Finding[]> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const around = await surroundingsOf(session, source, place);
    if (around === undefined) continue;
    const broken = await missingParents(session, source, place, around, before);
    const missing = await placeLast(source, Math.max(place.stretch.to, around.storedUntil), broken);
    if (missing !== undefined) return toFindings(place, around, missing);
  }
  const within = await surroundingsWithin(session, source, place.stretch);
  if (within === undefined) return [open(place.stretch)];
  const closed = { ...place, stretch: { ...place.stretch, to: within.closesAt } };
  const missing = await missingParents(session, source, closed, within, before);
  return [...toFindings(closed, within, missing), open({ from: within.closesAt, to: place.stretch.to })];
}

const Missing = z.object({
  workchain: z.number(),
  shard: z.string(),
  seqno: z.number(),
  child: z.string(),
  child_at: z.coerce.number(),
  lower: z.coerce.number().nullable(),
  known: z.boolean(),
});

type Missing = z.infer<typeof Missing>;

async function missingParents(
  session: Session,
  source: BlockSource,
  { stretch, covered }: Place,
  around: Surroundings,
  before: readonly LinkedBlock[],
): Promise<Missing[]> {
  const beyond = distinct([
    ...around.after,
    ...around.tops.filter((top) => top.gen_utime >= around.storedUntil),
  ]);
  const near = [...before, ...beyond];
  const rows = await session.rows(
    sql`
      with near as (${asTable(near)}), links as (${linksOf(stretch.from, around, beyond)}),
      unseen as materialized (
        select l.* from links l
        where l.seqno > 0 and not exists (select 1 from near n where (n.workchain, n.shard, n.seqno) = (l.workchain, l.shard, l.seqno))
          and not exists (select 1 from ton.blocks b where (b.workchain, b.shard, b.seqno) = (l.workchain, l.shard, l.seqno)
            and ${during('b', { from: stretch.from - NEAR, to: around.storedUntil })})),
      missing as materialized (
        select u.* from unseen u
        where not exists (select 1 from ton.blocks b where b.workchain = u.workchain and b.shard = u.shard and b.seqno = u.seqno)
          and not (u.workchain = -1 and u.seqno < ${source.chain.first.seqno}::int)
          and not exists (select 1 from ton.blocks c where c.workchain = u.workchain and c.shard = u.child_shard
            and c.seqno = u.child_seqno and c.masterchain_block_ref_seqno <= ${source.chain.first.seqno}::int)
        order by child_at limit ${MOST}::int)
      select workchain, shard, seqno, workchain || ':' || child_shard || ':' || child_seqno as child, child_at,
        (${newestBelow(covered.from, near)}) as lower,
        exists (select 1 from ${quarantine} where ${quarantine.dataset} = ${CHECK}
          and ${quarantine.record_id} = m.workchain || ':' || m.shard || ':' || m.seqno) as known
      from missing m`,
    Missing,
  );
  return placeFirst(source, stretch, rows);
}

/** Links from the stored blocks of a stretch, and what lies after it, to their parents; and to the tops themselves. */
function linksOf(from: number, around: Surroundings, beyond: readonly LinkedBlock[]): SQL {
  const links = beyond.flatMap((child) =>
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

function asTable(blocks: readonly LinkedBlock[]): SQL {
  const rows = blocks.map(({ workchain, shard, seqno, gen_utime }) => ({
    workchain,
    shard,
    seqno,
    at: gen_utime,
  }));
  return sql`select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as n (workchain int, shard text, seqno int, at int8)`;
}

function distinct(blocks: readonly LinkedBlock[]): LinkedBlock[] {
  return [...new Map(blocks.map((block) => [blockKey(block), block])).values()];
}

/** The bits of a shard's prefix, as text: one shard lies in another where its prefix begins with the other's. */
const prefix = (shard: SQL) => sql`left(rtrim(('x' || lpad(${shard}, 16, '0'))::bit(64)::text, '0'), -1)`;

/** When the newest known block of the missing one's own chain was made: the missing one is not older. */
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

/** A missing block with nothing of its chain below it in the stretch may well lie before it: the source knows. */
async function placeFirst(source: BlockSource, stretch: Range, rows: readonly Missing[]): Promise<Missing[]> {
  const placed: Missing[] = [];
  let lookUps = 0;
  for (const row of rows) {
    const atStart = row.lower === null || row.lower < stretch.from;
    if (!atStart || row.known || lookUps >= MOST_LOOK_UPS) {
      placed.push(row);
      continue;
    }
    lookUps += 1;
    const found = await source.named(row);
    // Nothing of its chain is stored below it: what comes before it in the stretch is missing as well.
    if (found === undefined || found.gen_utime >= stretch.from) placed.push({ ...row, lower: stretch.from });
  }
  return placed;
}

/**
 * A link that is broken behind the stretch leads to a block that may lie in it, which the source knows; undefined where
 * it lies behind the stretch too, so that what is known of it is not whole.
 */
async function placeLast(
  source: BlockSource,
  end: number,
  rows: readonly Missing[],
): Promise<Missing[] | undefined> {
  const placed: Missing[] = [];
  for (const [index, row] of rows.entries()) {
    if (row.child_at < end) {
      placed.push(row);
      continue;
    }
    const found = index < MOST_LOOK_UPS ? await source.named(row) : undefined;
    if (found === undefined || found.gen_utime >= end) return undefined;
    placed.push({ ...row, child_at: found.gen_utime });
  }
  return placed;
}

/**
 * Every link above the highest broken one holds, so what lies there is proved; below it a branch may hang loose that no
 * link names, so nothing is said about it until the hole is filled.
 */
function toFindings(
  { stretch, covered }: Place,
  around: Surroundings,
  missing: readonly Missing[],
): Finding[] {
  if (missing.length === 0) return [];
  const findings = missing.map((row): Finding => {
    const hole = { from: row.lower ?? stretch.from, to: row.child_at + 1 };
    return {
      check: CHECK,
      dataset: CHECK,
      scope: '',
      kind: 'missing_block',
      count: 1,
      spans: common([hole], [{ from: covered.from, to: covered.to }]),
      example: `${blockKey(row)}, the parent of ${row.child} of ${formatTime(row.child_at)}`,
      outcome: row.known ? 'known' : 'hole',
    };
  });
  const highest = Math.max(...missing.map(({ child_at }) => child_at)) + 1;
  const proved = { from: Math.min(highest, stretch.to), to: Math.min(stretch.to, around.closesAt) };
  return [...sumUp(findings), ...without([stretch], [proved]).map(open)];
}

/** Findings of one outcome as one. */
function sumUp(findings: readonly Finding[]): Finding[] {
  const byOutcome = new Map<string, Finding>();
  for (const finding of findings) {
    const same = byOutcome.get(finding.outcome);
    byOutcome.set(
      finding.outcome,
      same === undefined
        ? finding
        : { ...same, count: same.count + 1, spans: [...same.spans, ...finding.spans] },
    );
  }
  return [...byOutcome.values()];
}

function open(span: Range): Finding {
  return {
    check: CHECK,
    dataset: CHECK,
    scope: '',
    kind: 'not_closed',
    count: 1,
    outcome: 'open',
    spans: span.from < span.to ? [span] : [],
    example: `no unbroken chain of blocks leads to ${formatTime(span.from)} .. ${formatTime(span.to)} from above`,
  };
}

/** A block whose links are gone ends every chain that comes to it, so that nothing below it would be missed. */
function findParentless(session: Session, stretch: Range): Promise<Finding[]> {
  return findingsOf(session, {
    check: CHECK,
    dataset: CHECK,
    query: sql`
      select 'missing_link' as kind, 'hole' as outcome, b.workchain || ':' || b.shard || ':' || b.seqno as id,
        ${secondOf('b')} as span
      from ton.blocks b
      left join (select utime, workchain, shard, seqno, count(*) as links from ton.block_parents p
        where ${during('p', stretch)} group by 1, 2, 3, 4) p using (utime, workchain, shard, seqno)
      where ${during('b', stretch)} and coalesce(p.links, 0) < case when b.after_merge then 2 else 1 end`,
  });
}
