import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { LinkedBlock } from '../../crawl/watermark/block-links.ts';
import { MASTERCHAIN } from '../../ton/shard.ts';
import type { Session } from '../../db/connection/database.ts';
import { blocksBeyond, linksOf } from './links.ts';
import { prefix } from './prefix.ts';
import type { CoveredStretch, Surroundings } from './surroundings.ts';
import { quarantine } from '../../db/schema/etl/quarantine.ts';
import { blockKeyOf } from '../block-key-of.ts';
import { NEAR } from '../near.ts';
import { during } from '../../db/connection/seconds.ts';

/** Broken links that are reported one by one, from the highest down: below them nothing is proved anyway. */
const MOST = 5000;

const Missing = z.object({
  workchain: z.number(),
  shard: z.string(),
  seqno: z.number(),
  child: z.string(),
  child_at: z.coerce.number(),
  lower: z.coerce.number().nullable(),
  known: z.boolean(),
  /** Where the index begins, with nothing of the chain below: the masterchain block by which the child was registered. */
  registered: z.enum(['first', 'earlier']).nullable(),
});

/** A parent that a stored block names and that is not stored. */
export type Missing = z.infer<typeof Missing>;

export interface Around extends Surroundings {
  /** The last blocks before the stretch. */
  readonly before: readonly LinkedBlock[];
  /** The masterchain block with which the source begins. */
  readonly first: { readonly seqno: number; readonly utime: number };
}

/**
 * Parents of the stored blocks of a stretch, and tops behind it, that are not stored. Those that are not near are few: each
 * is looked up in the index of all blocks, which a join by hash would read whole.
 */
export function missingParents(
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

/** Whether the first masterchain block of the index has registered the child, or one that the index no longer has. */
const registeredBy = ({ seqno }: Around['first']): SQL => sql`(
  select case when r.seqno = ${seqno}::int then 'first' when r.seqno < ${seqno}::int then 'earlier' end
  from ton.blocks c cross join lateral (
    select case when c.workchain = ${MASTERCHAIN} then c.seqno else c.masterchain_block_ref_seqno end as seqno) r
  where c.workchain = m.workchain and c.shard = m.child_shard and c.seqno = m.child_seqno limit 1)`;

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
