import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { lengthOf, common, type Range } from '../range.ts';
import { MASTERCHAIN } from '../ton/shard.ts';
import type { Session } from '../postgres/database.ts';
import { during } from '../postgres/seconds.ts';
import { readVerified } from '../write/verifications.ts';

/** A shard block is registered in the masterchain within seconds; if the shard lags, it may take this many. */
const LATEST = 60;

const Registering = z.object({ index: z.coerce.number(), seqno: z.number().nullable() });

/**
 * The masterchain blocks, ascending, that register the content of each range, as far as blocks are stored.
 * The blocks of the range name them. If one of these names none, or may be missing, the masterchain blocks of
 * the minute after the range are added.
 */
export async function registeringBlocks(session: Session, ranges: readonly Range[]): Promise<number[][]> {
  if (ranges.length === 0) return [];
  const proved = await readVerified(session, { dataset: 'blocks', scope: '', pass: 0 });
  const named = await seqnosOf(session, ranges, 'all');
  const behind = await seqnosOf(
    session,
    ranges.map(({ to }, index) => {
      const range = ranges.slice(index, index + 1);
      const isSure =
        named[index]?.includes(null) === false && lengthOf(common(range, proved)) === lengthOf(range);
      return { from: to, to: isSure ? to : to + LATEST };
    }),
    'masterchain',
  );
  return ranges.map((_, index) => {
    const seqnos = [...(named[index] ?? []), ...(behind[index] ?? [])].filter((seqno) => seqno !== null);
    return [...new Set(seqnos)].sort((a, b) => a - b);
  });
}

/** The masterchain blocks that the stored blocks of each range name; null for a block that names none. */
async function seqnosOf(
  session: Session,
  ranges: readonly Range[],
  which: 'all' | 'masterchain',
): Promise<(number | null)[][]> {
  const [from, to] = [
    Math.min(...ranges.map((range) => range.from)),
    Math.max(...ranges.map((range) => range.to)),
  ];
  const rows = await session.rows(
    sql`
      with r as (
        select ordinality - 1 as index, (j->>'from')::int8 as "from", (j->>'to')::int8 as "to"
        from json_array_elements(${JSON.stringify(ranges)}::json) with ordinality as a (j, ordinality))
      select distinct index, case workchain when ${MASTERCHAIN} then seqno else masterchain_block_ref_seqno end as seqno
      from r join ton.blocks b on b.utime >= to_timestamp(r."from") and b.utime < to_timestamp(r."to")
      where ${during('b', { from, to })} and (${which === 'all'} or workchain = ${MASTERCHAIN})`,
    Registering,
  );
  const seqnos: (number | null)[][] = ranges.map(() => []);
  for (const { index, seqno } of rows) seqnos[index]?.push(seqno);
  return seqnos;
}
