import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { DatabaseError } from '../../../errors.ts';
import type { Session } from '../../connection/database.ts';
import { isCurrent, same } from './supersede.ts';
import type { Target } from './target.ts';

const Dropped = z.object({ rows: z.coerce.number() });

/**
 * Holds what was sent against what is stored: a trigger or a rule of somebody's may take rows away without a word.
 * @throws DatabaseError where a row that was sent is not there
 */
export async function requireKept(session: Session, target: Target): Promise<void> {
  const [dropped] = await session.rows(
    sql`select count(*) as rows from ${target.staging.name} n where ${isCurrent(target)}
        and not exists (select 1 from ${target.into} t where ${same('t', 'n', target.facts.key)})`,
    Dropped,
  );
  if (dropped === undefined || dropped.rows === 0) return;
  throw new DatabaseError(
    `the database dropped ${dropped.rows} of the rows that were written to ton.${target.name}`,
    {
      hint: 'Somebody has added a trigger or a rule to the table: `doctor` names it. Nothing of the page was stored.',
    },
  );
}
