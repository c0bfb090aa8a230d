import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../../connection/database.ts';
import type { Range } from '../../../range.ts';
import { bare, multirangeParam } from '../../connection/sql.ts';
import { coverage } from '../../schema/etl/coverage.ts';
import { secondOfRow } from '../receipts.ts';
import type { Target } from './target.ts';

const { dataset, scope, pass, covered, verified } = coverage;

/** Seconds of a table's rows that were written or removed, where some of them were verified. */
export interface Unverified {
  readonly target: Pick<Target, 'name'>;
  /** Text of a multirange; null for none. */
  readonly seconds: string | null;
}

/** A row with seconds of `Unverified`. */
export const Seconds = z.object({ seconds: z.string().nullable() });

/**
 * A statement that takes the verified state from the seconds of `rows` (the name of a query with `utime`) that were
 * written or removed, for the dataset whose table it is: its checks have not seen what another dataset's pages, or a
 * record out of quarantine, bring later. Nor has a second reading that confirmed them before: another one has to. Of
 * pools each is confirmed by its own.
 */
export function unverify(target: Pick<Target, 'name'>, rows: SQL): SQL {
  return unverifySpans(target, spansOf(rows));
}

/**
 * A query for the seconds of `rows` that `unverifySeconds` takes, where there may be something to take from: of whichever
 * dataset. Which datasets have a table is a long list, that every page would plan anew.
 */
export function verifiedSeconds(rows: SQL): SQL {
  return sql`
    select n.spans::text as seconds from (${spansOf(rows)}) n
    where exists (select from ${coverage} where ${isChecked})`;
}

/** An expression: may any of these seconds have to be unverified? */
export function isVerified(seconds: readonly Range[]): SQL {
  return sql`exists (
    select from ${coverage}, (select ${multirangeParam(seconds)} as spans) n where ${isChecked})`;
}

/**
 * Does what `unverify` does, behind the rows of all tables: other commits wait for a row of coverage, so whoever holds one
 * must not wait for rows of theirs.
 */
export async function unverifySeconds(session: Session, changed: readonly Unverified[]): Promise<void> {
  for (const { target, seconds } of changed) {
    if (seconds === null) continue;
    await session.run(unverifySpans(target, sql`select ${seconds}::int8multirange as spans`));
  }
}

function unverifySpans(target: Pick<Target, 'name'>, spans: SQL): SQL {
  return sql`
    update ${coverage} set ${bare(verified)} = ${verified} - n.spans,
      ${bare(covered)} = case ${pass} when 0 then ${covered} else ${covered} - n.spans end
    from (${spans}) n where ${isVerifiedOf(target)}`;
}

function spansOf(rows: SQL): SQL {
  return sql`
    select range_agg(int8range(second, second + 1)) as spans
    from (select distinct ${secondOfRow(sql`r`)} as second from ${rows} r) s`;
}

/** True of the coverage that says of seconds among `n.spans` that they were checked. */
const isChecked = sql`
  case ${pass} when 0 then ${verified} else ${covered} end && n.spans and (${pass} = 0 or ${scope} = '')`;

/** The same for the dataset whose table it is. */
function isVerifiedOf({ name }: Pick<Target, 'name'>): SQL {
  return sql`
    ${isChecked}
    and ${dataset} in (select d.dataset from etl.datasets d where ${name}::text = any(d.tables))`;
}
