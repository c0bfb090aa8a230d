import * as z from 'zod';
import { DatabaseUnavailableError, ServerChangedError } from '../../errors.ts';

/** Which server answers: the cluster that it belongs to, and how often that has been promoted; null of a standby. */
const Server = z.object({ system: z.string(), timeline: z.number().nullable() });

type ServerFacts = z.infer<typeof Server>;

/** What a server says of itself, as columns of a select: any role may ask. */
const COLUMNS = `(select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery()
    then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`;
/** Of a server that does not let itself be asked. */
const UNKNOWN = `'' as system, null as timeline`;

const HINT =
  'Run it again: it goes on from what the new server holds. Stop the old server first, or block access to it; what only that one holds is read again.';

/**
 * The one server that a run writes to. A promoted standby may lack what its primary has acknowledged, so nothing that was
 * learned from one of them is said to the other.
 */
export interface Identity {
  /** Columns of a select, for `check`. */
  readonly columns: () => string;
  /** The server does not let itself be asked: from now on nothing is compared. False where that was known. */
  readonly giveUp: () => boolean;
  /**
   * Remembers the first server that answers, and compares every later answer with it.
   * @throws ServerChangedError where it is another one
   * @throws DatabaseUnavailableError where a server has taken its place already
   */
  readonly check: (row: unknown) => void;
  /** Takes notice of what another address leads to. */
  readonly notice: (row: unknown) => void;
  /** @throws ServerChangedError where a server was noticed that has taken this one's place */
  readonly confirm: () => void;
}

export function createIdentity(): Identity {
  let isKnown = true;
  let own: ServerFacts | undefined;
  /** The newest timeline of each cluster that an address led to. */
  const newest = new Map<string, number>();
  const successorOf = ({ system, timeline }: ServerFacts) => {
    const other = newest.get(system) ?? 0;
    return timeline !== null && other > timeline ? other : undefined;
  };
  const confirm = () => {
    const successor = own && successorOf(own);
    if (own === undefined || successor === undefined) return;
    throw new ServerChangedError(`the server of this run was replaced: ${timelines(own, successor)}`, {
      hint: HINT,
    });
  };
  return {
    columns: () => (isKnown ? COLUMNS : UNKNOWN),
    giveUp: () => {
      const wasKnown = isKnown;
      isKnown = false;
      return wasKnown;
    },
    notice: (row) => {
      const { system, timeline } = Server.parse(row);
      newest.set(system, Math.max(newest.get(system) ?? 0, timeline ?? 0));
    },
    confirm,
    check: (row) => {
      const seen = Server.parse(row);
      if (!isKnown) return;
      const successor = successorOf(seen);
      if (own === undefined && successor !== undefined) throw leftBehind(seen, successor);
      own = { system: own?.system ?? seen.system, timeline: own?.timeline ?? seen.timeline };
      requireSame(own, seen);
      confirm();
    },
  };
}

function timelines({ timeline }: ServerFacts, successor: number): string {
  return `it is on timeline ${String(timeline)}, and a promoted one is on ${successor}`;
}

function requireSame(own: ServerFacts, seen: ServerFacts): void {
  if (own.system === seen.system && (seen.timeline ?? own.timeline) === own.timeline) return;
  const difference =
    own.system === seen.system
      ? `its timeline is ${String(seen.timeline)}, and not ${String(own.timeline)}, because a standby was promoted`
      : `its system identifier is ${seen.system}, and not ${own.system}`;
  throw new ServerChangedError(`a different server answers than at the start: ${difference}`, { hint: HINT });
}

function leftBehind(seen: ServerFacts, successor: number): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`the server has been replaced already: ${timelines(seen, successor)}`, {
    hint: 'Stop the old server, or make it a standby of the new one.',
  });
}
