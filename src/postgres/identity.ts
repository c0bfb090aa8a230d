import * as z from 'zod';
import { ServerChangedError } from '../errors.ts';

/** Identifies a server: its cluster, and its timeline, which grows with each promotion. A standby's timeline is null. */
const Server = z.object({ system: z.string(), timeline: z.number().nullable() });

type ServerFacts = z.infer<typeof Server>;

/** Columns that identify the server. Any role may query them. */
const COLUMNS = `(select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery()
    then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`;
/** Used if the role may not call these functions. */
const UNKNOWN = `'' as system, null as timeline`;

/**
 * The server that a run writes to. A promoted standby may lack what its primary has acknowledged, so what a run
 * remembers may not be true there.
 */
export interface Identity {
  /** Columns of a select, for `check`. */
  readonly columns: () => string;
  /**
   * Called if the server does not answer the query: from then on nothing is compared. Returns false if that was known
   * already.
   */
  readonly giveUp: () => boolean;
  /**
   * Remembers the first server that answers, and compares every later answer with it.
   * @throws ServerChangedError if it is another one
   */
  readonly check: (row: unknown) => void;
}

export function createIdentity(): Identity {
  let isKnown = true;
  let own: ServerFacts | undefined;
  return {
    columns: () => (isKnown ? COLUMNS : UNKNOWN),
    giveUp: () => {
      const wasKnown = isKnown;
      isKnown = false;
      return wasKnown;
    },
    check: (row) => {
      const seen = Server.parse(row);
      if (!isKnown) return;
      own = { system: own?.system ?? seen.system, timeline: own?.timeline ?? seen.timeline };
      requireSame(own, seen);
    },
  };
}

function requireSame(own: ServerFacts, seen: ServerFacts): void {
  if (own.system === seen.system && (seen.timeline ?? own.timeline) === own.timeline) return;
  const difference =
    own.system === seen.system
      ? `its timeline is ${String(seen.timeline)} instead of ${String(own.timeline)}, because a standby was promoted`
      : `its system identifier is ${seen.system} instead of ${own.system}`;
  throw new ServerChangedError(`the database server changed: ${difference}`, {
    hint: 'It may lack the last commits; these are read again from the API. If the old server still runs, stop it. Run `toncenter-etl verify` over the time of the failover.',
  });
}
