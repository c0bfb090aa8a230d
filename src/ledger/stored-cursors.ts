import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { LeaseLostError } from '../errors.ts';
import type { Session } from '../postgres/database.ts';
import { bare, excluded, insertInto, jsonParam, setExcluded } from '../postgres/sql.ts';
import { cursors } from '../tables/etl/cursors.ts';
import { heldFor, HOLD_SECONDS, isHeldUntil } from './leases.ts';

/** A claim on the cursor of one walk: no other worker moves it while it lasts. */
export interface CursorClaim {
  readonly dataset: string;
  readonly scope: string;
  readonly owner: string;
}

const expiry = heldFor(HOLD_SECONDS);
/** True of a claim that other workers must respect. */
const isClaimed = isHeldUntil(cursors.expires_at, HOLD_SECONDS);

const Claimed = z.object({ cursor: z.unknown() });

/** Claims a walk's cursor; undefined if another worker has it. Its value is null before the first commit. */
export async function claimCursor(
  session: Session,
  { dataset, scope, owner }: CursorClaim,
): Promise<{ readonly cursor: unknown } | undefined> {
  const [row] = await session.rows(
    sql`
      ${insertInto(cursors, { dataset, scope, owner, expires_at: expiry })}
      on conflict (${bare(cursors.dataset, cursors.scope)}) do update
        set ${setExcluded(cursors.owner, cursors.expires_at)}
        where ${cursors.owner} is null or ${cursors.owner} = ${excluded(cursors.owner)}
          or not ${isClaimed}
      returning ${cursors.cursor}`,
    Claimed,
  );
  return row;
}

/**
 * Locks the claim until the transaction ends, and checks that it is still ours.
 * @throws LeaseLostError if it expired or was taken
 */
export async function holdCursor(session: Session, claim: CursorClaim): Promise<void> {
  const { dataset, scope } = claim;
  const held = await session.run(sql`
    select 1 from ${cursors} where ${isOwn(claim)} and ${cursors.expires_at} > clock_timestamp() for update`);
  if (held === 0) {
    throw new LeaseLostError(
      `claim of ${dataset} (${scope}) lost: another worker reads it now, and this page was not committed`,
    );
  }
}

/** Moves the cursor and renews the claim, within the commit that holds it. */
export async function moveCursor(
  session: Session,
  { dataset, scope }: CursorClaim,
  cursor: object,
): Promise<void> {
  await session.run(sql`
    update ${cursors} set ${bare(cursors.cursor)} = ${jsonParam(cursor)}, ${bare(cursors.expires_at)} = ${expiry},
      ${bare(cursors.updated_at)} = default
    where ${cursors.dataset} = ${dataset} and ${cursors.scope} = ${scope}`);
}

export async function renewClaim(session: Session, claim: CursorClaim): Promise<void> {
  await session.run(sql`
    update ${cursors} set ${bare(cursors.expires_at)} = ${expiry}
    where ${isOwn(claim)} and ${cursors.expires_at} > clock_timestamp()`);
}

export async function releaseClaim(session: Session, claim: CursorClaim): Promise<void> {
  await session.run(sql`
    update ${cursors} set ${bare(cursors.owner)} = null, ${bare(cursors.expires_at)} = null where ${isOwn(claim)}`);
}

function isOwn({ dataset, scope, owner }: CursorClaim): SQL {
  return sql`${cursors.dataset} = ${dataset} and ${cursors.scope} = ${scope} and ${cursors.owner} = ${owner}`;
}

const State = z.object({
  dataset: z.string(),
  scope: z.string(),
  cursor: z.unknown(),
  owner: z.string().nullable(),
  updatedAt: z.coerce.number(),
});

/** The state of one walk; `updatedAt` in unix seconds. */
export type CursorState = z.infer<typeof State>;

/** The cursor of every walk, except walks over single accounts, which are only counted. */
export async function readCursors(session: Session): Promise<CursorState[]> {
  const { dataset, scope } = cursors;
  return session.rows(
    sql`
      select ${dataset}, ${scope}, ${cursors.cursor},
        case when ${isClaimed} then ${cursors.owner} end as owner,
        extract(epoch from ${cursors.updated_at})::int8 as "updatedAt"
      from ${cursors} where position(':' in ${scope}) = 0 order by ${dataset}, ${scope}`,
    State,
  );
}
