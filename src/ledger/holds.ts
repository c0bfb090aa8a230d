import { sql, type SQL, type SQLWrapper } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto, setExcluded, texts } from '../postgres/sql.ts';
import { workers } from '../tables/etl/budget.ts';
import { leases } from '../tables/etl/coverage.ts';
import { cursors } from '../tables/etl/cursors.ts';
import { settings } from '../tables/etl/pages.ts';
import { every, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';

/*
 * A worker holds a thing for a time: the lease of a range, the claim on the cursor of a walk, a duty. It renews what it
 * holds while it works. A hold that is not renewed expires.
 */

/** Leases and claims that no commit renews expire after this many seconds. */
export const HOLD_SECONDS = 30;

/** The expiry of a hold that is taken or renewed now, within a statement. */
export function heldFor(seconds: number): SQL {
  return sql`clock_timestamp() + make_interval(secs => ${seconds})`;
}

/**
 * True while a hold of this duration is live. A hold that ends much later was written before the server's clock was set
 * back: a live owner renews it, and a dead owner's hold must not block others.
 */
export function isHeldUntil(moment: SQLWrapper, seconds: number): SQL {
  return sql`coalesce(${moment} > clock_timestamp()
    and ${moment} <= clock_timestamp() + make_interval(secs => ${2 * seconds}), false)`;
}

/** Duties that one process at a time has, and the names under which the database stores them. */
const DUTIES = { watermark: 'lookout', verification: 'guard', lake: 'lake writer' } as const;
const isDuty = sql`${settings.name} in (${texts(Object.values(DUTIES))})`;
const dutyOwner = sql`${settings.value}->>'owner'`;

/**
 * Gives a process a duty for this many seconds from now; true if it has it. Of several processes that share a database,
 * one keeps the duty as long as it renews it in time.
 */
export async function takeDuty(
  session: Session,
  duty: keyof typeof DUTIES,
  owner: string,
  forSeconds: number,
): Promise<boolean> {
  const value = sql`jsonb_build_object('owner', ${owner}::text, 'until', ${heldFor(forSeconds)})`;
  const until = sql`(${settings.value}->>'until')::timestamptz`;
  const taken = await session.run(sql`
    ${insertInto(settings, { name: DUTIES[duty], value })}
    on conflict (${bare(settings.name)}) do update
      set ${setExcluded(settings.value)}, ${bare(settings.updated_at)} = default
    where ${dutyOwner} = ${owner} or not ${isHeldUntil(until, forSeconds)}`);
  return taken > 0;
}

/** The last owner of a duty, and the seconds since it last wrote, heartbeats included. Undefined if there was none. */
export async function readOwner(
  session: Session,
  duty: keyof typeof DUTIES,
): Promise<{ owner: string; silence: number } | undefined> {
  const [row] = await session.rows(
    sql`select ${dutyOwner} as owner, extract(epoch from clock_timestamp() - greatest(${settings.updated_at},
          (select max(${workers.seen_at}) from ${workers} where ${workers.worker} = ${dutyOwner})))::float8 as seconds
        from ${settings} where ${settings.name} = ${DUTIES[duty]}`,
    z.object({ owner: z.string(), seconds: z.number() }),
  );
  return row && { owner: row.owner, silence: Math.max(0, Math.round(row.seconds)) };
}

/** Frees everything that is held by owners that are known to be gone, before it expires. */
export async function releaseHeldBy(session: Session, isGone: (owner: string) => boolean): Promise<void> {
  const rows = await session.rows(
    sql`
      select ${leases.owner} from ${leases}
      union select ${cursors.owner} from ${cursors} where ${cursors.owner} is not null
      union select ${dutyOwner} from ${settings} where ${isDuty}`,
    z.object({ owner: z.string() }),
  );
  const gone = sql`in (${texts(rows.map(({ owner }) => owner).filter(isGone))})`;
  await session.run(sql`delete from ${leases} where ${leases.owner} ${gone}`);
  await session.run(sql`
    update ${cursors} set ${bare(cursors.owner)} = null, ${bare(cursors.expires_at)} = null where ${cursors.owner} ${gone}`);
  // The last owner of a duty stays known.
  await session.run(sql`
    update ${settings} set ${bare(settings.value)} = ${settings.value} || jsonb_build_object('until', clock_timestamp())
    where ${isDuty} and ${dutyOwner} ${gone}`);
}

interface Held {
  /** What is held, for the log. */
  readonly what: string;
  /** Seconds after which it expires if it is not renewed. */
  readonly heldSeconds: number;
  readonly renew: () => Promise<unknown>;
}

/**
 * Renews a lease, a claim or a duty until the returned function is called, so that long work does not lose
 * it. A frozen process renews nothing, so what it holds expires.
 */
export function keepAlive(
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  { what, heldSeconds, renew }: Held,
): () => void {
  const ended = new AbortController();
  const rhythm = { pauseMs: (heldSeconds * 1000) / 3, signal: ended.signal, isLater: true };
  // If the database is down, the work itself reports it.
  const tryToRenew = () =>
    renew().catch((error: unknown) => {
      logger.debug({ what, reason: String(error) }, 'could not renew lease');
    });
  void every(clock, rhythm, tryToRenew);
  return () => ended.abort();
}
