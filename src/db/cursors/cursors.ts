import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { LeaseLostError } from '../../errors.ts';
import type { Database, Session } from '../connection/database.ts';

/** A claim on the cursor of one walk: nobody else moves it while it lasts. */
export interface Claim {
  readonly dataset: string;
  readonly scope: string;
  readonly owner: string;
}

/** Seconds for which a claim lasts without a commit. */
export const CLAIM_SECONDS = 30;

const expiry = sql`clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS})`;
const Claimed = z.object({ cursor: z.unknown() });

/**
 * Takes the cursor of a walk; undefined where another worker has it. Its value is what the last commit left, null
 * before the first.
 */
export async function claimCursor(
  session: Session,
  { dataset, scope, owner }: Claim,
): Promise<{ readonly cursor: unknown } | undefined> {
  const [row] = await session.rows(
    sql`
      insert into etl.cursors as c (dataset, scope, owner, expires_at) values (${dataset}, ${scope}, ${owner}, ${expiry})
      on conflict (dataset, scope) do update set owner = excluded.owner, expires_at = excluded.expires_at
        where c.owner is null or c.owner = excluded.owner or c.expires_at <= clock_timestamp()
      returning cursor`,
    Claimed,
  );
  return row;
}

/**
 * Holds the claim until the transaction ends, and makes sure that it is still ours.
 * @throws LeaseLostError where it expired or was taken
 */
export async function holdCursor(session: Session, { dataset, scope, owner }: Claim): Promise<void> {
  const held = await session.run(sql`
    select 1 from etl.cursors
    where dataset = ${dataset} and scope = ${scope} and owner = ${owner} and expires_at > clock_timestamp() for update`);
  if (held === 0) {
    throw new LeaseLostError(`another worker reads ${dataset} (${scope}) now; this page is not written`);
  }
}

/** Moves the cursor and prolongs the claim, within the commit that holds it. */
export async function moveCursor(session: Session, { dataset, scope }: Claim, cursor: object): Promise<void> {
  await session.run(sql`
    update etl.cursors set cursor = ${JSON.stringify(cursor)}::jsonb, expires_at = ${expiry}, updated_at = default
    where dataset = ${dataset} and scope = ${scope}`);
}

/** Keeps a claim while a page is waited for. */
export async function prolongClaim(session: Session, { dataset, scope, owner }: Claim): Promise<void> {
  await session.run(sql`
    update etl.cursors set expires_at = ${expiry}
    where dataset = ${dataset} and scope = ${scope} and owner = ${owner} and expires_at > clock_timestamp()`);
}

export async function releaseClaim(session: Session, { dataset, scope, owner }: Claim): Promise<void> {
  await session.run(sql`
    update etl.cursors set owner = null, expires_at = null
    where dataset = ${dataset} and scope = ${scope} and owner = ${owner}`);
}

/** Frees what is held by owners of whom it is known that they are gone. */
export async function releaseClaimsOf(database: Database, isGone: (owner: string) => boolean): Promise<void> {
  const owners = await database.rows(
    sql`select distinct owner from etl.cursors where owner is not null`,
    z.object({ owner: z.string() }),
  );
  for (const { owner } of owners.filter((row) => isGone(row.owner)))
    await database.run(sql`update etl.cursors set owner = null, expires_at = null where owner = ${owner}`);
}
