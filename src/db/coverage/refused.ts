import { sql } from 'drizzle-orm';
import type { Range } from '../../range.ts';
import type { Stream } from './coverage.ts';
import type { Session } from '../connection/database.ts';
import { rangeParam } from '../connection/sql.ts';
import { growingPause } from './growing-pause.ts';

/** Why a range cannot be had for now. */
export type Refusal = 'saturated' | 'beyond_reach' | 'source_gap' | 'quarantined' | 'failing';

/** Sets a range aside: it is not asked for before its pause is over. */
export async function refuse(
  session: Session,
  { dataset, scope, pass }: Stream,
  span: Range,
  reason: Refusal,
  detail: string,
): Promise<void> {
  await session.run(sql`
    insert into etl.refused as r (dataset, scope, pass, span, reason, detail, retry_at)
    values (${dataset}, ${scope}, ${pass}, ${rangeParam(span)}, ${reason}, ${detail},
      clock_timestamp() + ${growingPause(sql`0`)})
    on conflict (dataset, scope, pass, span) do update set
      reason = excluded.reason, detail = excluded.detail, attempts = r.attempts + 1,
      retry_at = clock_timestamp() + ${growingPause(sql`r.attempts`)}`);
}

/** What was refused once and has been read now is no longer refused. */
export async function forgetRefusals(
  session: Session,
  { dataset, scope, pass }: Stream,
  span: Range,
): Promise<void> {
  await session.run(sql`
    delete from etl.refused
    where dataset = ${dataset} and scope = ${scope} and pass = ${pass}
      and (span <@ ${rangeParam(span)} or (reason = 'failing' and span && ${rangeParam(span)}))`);
}
