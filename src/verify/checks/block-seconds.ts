import { sql } from 'drizzle-orm';
import { blocks } from '../../tables/ton/blocks.ts';
import type { Session } from '../../postgres/database.ts';
import type { Stretch } from '../../range.ts';
import { type Check, type Result, joinByHash } from './check.ts';
import { type Finding, findingsOf } from './finding.ts';
import { countReadRows } from '../../write/seals.ts';
import { blockKeyOf } from './check-blocks.ts';
import { during, secondOf } from '../../postgres/sql.ts';

const NAME = 'block-seconds';
/** Kind of the finding that names the transactions. */
const OF_TRANSACTIONS = 'other_second_than_block';
/** How many seconds beyond the stretch the transactions, parents and children of a moved block are searched for. */
const NEAR = 60;

/**
 * If a block is moved to another second together with its links, the closure still holds. But no block is earlier than
 * its parent, and its stored transactions must lie in its second.
 */
export const blockSeconds: Check = {
  name: NAME,
  needs: [],
  reads: () => [blocks],
  steps: (_, { stretches }) =>
    stretches.map((stretch) => ({
      check: NAME,
      stretch,
      run: (look) => look((session) => checkSeconds(session, stretch)),
    })),
};

async function checkSeconds(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const near = { from: stretch.from - NEAR, to: stretch.to + NEAR };
  const read = sql`(select * from ton.blocks b where ${during('b', near)}) b`;
  const findings = await findingsOf(session, {
    check: NAME,
    dataset: 'blocks',
    // It is unknown which of the two is wrong.
    query: sql`
      select n.kind, 'doubt' as outcome, n.id, s.span
      from ${read} join ton.transactions t
        on t.block_workchain = b.workchain and t.block_shard = b.shard and t.block_seqno = b.seqno
      cross join lateral (values (${secondOf('b')}), (${secondOf('t')})) s (span)
      cross join lateral (values
        ('other_second_than_transactions', ${blockKeyOf('b')}), (${OF_TRANSACTIONS}::text, t.hash)) n (kind, id)
      where ${during('t', near)} and (${during('b', stretch)} or ${during('t', stretch)})
        and t.utime <> b.utime
      union all
      select 'earlier_than_parent', 'doubt', ${blockKeyOf('p')}, s.span
      from ton.block_parents p join ${read}
        on b.workchain = p.parent_workchain and b.shard = p.parent_shard and b.seqno = p.parent_seqno
      cross join lateral (values (${secondOf('p')}), (${secondOf('b')})) s (span)
      where ${during('p', near)} and (${during('p', stretch)} or ${during('b', stretch)})
        and b.utime > p.utime`,
  });
  const counted = await countReadRows(session, blocks, { read, stretch });
  return { findings: findings.map(withTable), rows: counted.rows, readRows: [counted] };
}

function withTable(finding: Finding): Finding {
  if (finding.kind !== OF_TRANSACTIONS) return finding;
  return { ...finding, rows: finding.rows.map((row) => ({ ...row, table: 'transactions' })) };
}
