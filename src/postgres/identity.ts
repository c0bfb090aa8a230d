import * as z from 'zod';
import { ServerChangedError } from '../errors.ts';

/** Which server answers: the cluster that it belongs to, and how often that has been promoted; null of a standby. */
const Server = z.object({ system: z.string(), timeline: z.number().nullable() });

type ServerFacts = z.infer<typeof Server>;

/** What a server says of itself, as columns of a select: any role may ask. */
const COLUMNS = `(select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery()
    then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`;
/** Of a server that does not let itself be asked. */
const UNKNOWN = `'' as system, null as timeline`;

/**
 * The one server that a run writes to. A promoted standby may lack what its primary has acknowledged, so what a run
 * remembers is not true of it.
 */
export interface Identity {
  /** Columns of a select, for `check`. */
  readonly columns: () => string;
  /** The server does not let itself be asked: from now on nothing is compared. False where that was known. */
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
      ? `its timeline is ${String(seen.timeline)}, and not ${String(own.timeline)}, because a standby was promoted`
      : `its system identifier is ${seen.system}, and not ${own.system}`;
  throw new ServerChangedError(`a different server answers than at the start: ${difference}`, {
    hint: 'It may lack what was committed last; that is read again from the API. Stop the old server if it still runs. Run `toncenter-etl verify` over the time of the failover.',
  });
}
