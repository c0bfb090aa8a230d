import { sql } from 'drizzle-orm';
import type { Session } from '../../db/connection/database.ts';
import { HOUR, type Range } from '../../range.ts';
import { findingsOf, type Finding } from '../finding.ts';
import { blocksBeyond, linksOf } from './links.ts';
import { prefix } from './prefix.ts';
import type { Surroundings } from './surroundings.ts';
import { blockKeyOf } from '../block-key-of.ts';
import { during, secondOf } from '../../db/connection/seconds.ts';

/** So far beyond the stretch another copy of one of its blocks is looked for: ranges that touch are verified one by one. */
const COPIES_WITHIN = HOUR;

/** Kind of the finding that names all copies of a block. */
export const DOUBLED = 'doubled_block';

const FACTS = { check: 'blocks', dataset: 'blocks' };

/**
 * The other side of the closure: every stored block of the stretch is a parent of a stored block, or a top, and is
 * stored once. A made-up block that names made-up parents loses its last one with each round of repair.
 */
export function unreachedBlocks(session: Session, stretch: Range, around: Surroundings): Promise<Finding[]> {
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
 * Links that no chain has: the parent lies in another workchain, is not the block before, or its shard is neither the
 * child's own nor the one that was split or merged into it. And links of blocks that are not stored.
 */
export function unfitLinks(session: Session, stretch: Range): Promise<Finding[]> {
  const [child, parent] = [prefix(sql`p.shard`), prefix(sql`p.parent_shard`)];
  return findingsOf(session, {
    ...FACTS,
    query: sql`
      select 'unfit_link' as kind, 'doubt' as outcome, ${blockKeyOf('p')} as id,
        ${secondOf('p')} as span
      from ton.block_parents p
      where ${during('p', stretch)} and (p.parent_workchain <> p.workchain or p.parent_seqno >= p.seqno
        or case when p.parent_shard = p.shard then p.parent_seqno <> p.seqno - 1
          when length(${parent}) = length(${child}) - 1 then not starts_with(${child}, ${parent}) or p.parent_seqno <> p.seqno - 1
          else length(${parent}) <> length(${child}) + 1 or not starts_with(${parent}, ${child}) end)
      union all
      select 'stray_link', 'surplus', ${blockKeyOf('p')}, ${secondOf('p')}
      from ton.block_parents p
      where ${during('p', stretch)} and not exists (
        select 1 from ton.blocks b where b.utime = p.utime and b.workchain = p.workchain and b.shard = p.shard
          and b.seqno = p.seqno and ${during('b', stretch)})`,
  });
}
