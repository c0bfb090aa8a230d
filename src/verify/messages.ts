import { sql } from 'drizzle-orm';
import type { Session } from '../db/database.ts';
import type { Range } from '../range.ts';
import { countOf, during, findingsOf, secondOf, type Finding } from './finding.ts';
import { transactionsWithMessages } from './with-messages.ts';

/** Each transaction's in message is stored, and as many out messages as it says that it sent. */
export async function checkMessages(
  session: Session,
  stretch: Range,
): Promise<{ findings: Finding[]; rows: number }> {
  const findings = await findingsOf(session, {
    check: 'messages',
    dataset: 'transactions',
    query: sql`
      with x as (${transactionsWithMessages(stretch, sql`t.lt`)})
      select 'missing_in_message' as kind, 'hole' as outcome, hash as id, ${secondOf('x')} as span
      from x where in_msg_hash is not null and not received
      union all
      select case when sent < out_msg_count then 'missing_out_messages' else 'surplus_out_messages' end,
        case when sent < out_msg_count then 'hole' else 'doubt' end, hash, ${secondOf('x')}
      from x where sent <> out_msg_count`,
  });
  const rows = await countOf(
    session,
    sql`select count(*) as count from ton.messages m where ${during('m', stretch)}`,
  );
  return { findings, rows };
}
