import { sql, type SQL, type SQLWrapper } from 'drizzle-orm';

/**
 * True while something is held that is held for so many seconds at a time. What would end much later was written before
 * the server's clock was set back: whoever lives writes it anew, and nobody waits for one who does not.
 */
export function isHeldUntil(moment: SQLWrapper, seconds: number): SQL {
  return sql`coalesce(${moment} > clock_timestamp()
    and ${moment} <= clock_timestamp() + make_interval(secs => ${2 * seconds}), false)`;
}
