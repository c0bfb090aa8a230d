import { keepAlive, takeDuty } from '../ledger/leases.ts';
import { keepSetting, readSetting, type Settings } from '../ledger/stored-settings.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { concernsRun, EtlError, LakeBusyError, LakeError, messageOf } from '../errors.ts';
import { tablesOf } from '../export/write-rows.ts';
import { withLake } from '../lake/open-lake.ts';
import { exportLake } from '../lake/export-lake.ts';
import { untilAborted } from '../stop.ts';
import { type DaemonContext, runRounds } from './daemon-context.ts';
import { unixSeconds } from '../clock.ts';
import { DAY } from '../range.ts';

/** Milliseconds between two rounds. */
const PERIOD_MS = 120_000;
/**
 * If the writing process does not renew its duty for this long, another one takes over. It must be longer than the
 * pause between two rounds.
 */
const ABSENT_SECONDS = 240;
/** Seconds between two searches for changed rows, each of which reads all rows. */
const RENEWAL_SECONDS = DAY;

/** Keeps a lake a few minutes behind the covered ranges. One of several daemons does it. */
export async function runLakeLoop(daemon: DaemonContext): Promise<void> {
  const { lake: location } = daemon.config;
  if (location === undefined) return untilAborted(daemon.stop.finishing);
  await runRounds(daemon, { what: 'the lake', periodMs: PERIOD_MS }, (_, onAnswer) =>
    keepUp(daemon, location, onAnswer),
  );
}

/** An error of the lake itself never ends the daemon. */
function endsDaemon(error: unknown): boolean {
  return error instanceof EtlError && !(error instanceof LakeError) && concernsRun(error);
}

/** Exports what the lake lacks, and stores the outcome for status. */
export async function keepUp(
  daemon: DaemonContext,
  location: string,
  onAnswer: () => void = () => undefined,
): Promise<void> {
  const { context, owner } = daemon;
  const { database, clock, logger } = context;
  const take = () => takeDuty(database, 'lake', owner, ABSENT_SECONDS);
  if (!(await take())) return;
  const now = unixSeconds(clock);
  const before = await stateOf(context, location, now);
  const isQuick = before.renewedAt !== null && now - before.renewedAt < RENEWAL_SECONDS;
  const withLists = !isQuick || areListsDue(before, now);
  // A round over many days takes longer than its process may be absent.
  const stopRenewing = keepAlive(context, { what: 'the lake', heldSeconds: ABSENT_SECONDS, renew: take });
  try {
    const faults: LakeError[] = [];
    const onFault = (fault: LakeError) => {
      faults.push(fault);
      logger.error({ lake: location, reason: fault.message }, 'a table of the lake cannot be written');
    };
    if (!(await updateLake(daemon, { location, now, isQuick, withLists, onFault, onAnswer }))) return;
    const done = { renewedAt: isQuick ? before.renewedAt : now, listedAt: withLists ? now : before.listedAt };
    // The lake is complete up to now if every table was written.
    const [fault] = faults;
    const outcome = fault === undefined ? { upTo: now, error: null } : { error: fault.message };
    await keepSetting(database, 'lake', { ...before, ...done, ...outcome });
  } catch (error) {
    if (error instanceof LakeBusyError) return;
    if (endsDaemon(error)) throw error;
    const message = messageOf(error);
    await keepSetting(database, 'lake', { ...before, error: message });
    logger.error({ lake: location, reason: message }, 'the lake cannot be written, retrying');
  } finally {
    stopRenewing();
  }
}

interface LakeRound {
  readonly location: string;
  readonly now: number;
  readonly isQuick: boolean;
  readonly withLists: boolean;
  readonly onFault: (fault: LakeError) => void;
  /** Called with each part: the database answers, although the round may take long. */
  readonly onAnswer: () => void;
}

/**
 * Lists are exported as a whole: in a young lake each time that its age has doubled, because they grow fast
 * then; later once a day.
 */
function areListsDue({ begunAt, listedAt }: Settings['lake'], now: number): boolean {
  return listedAt === undefined || now - listedAt >= Math.min(RENEWAL_SECONDS, listedAt - begunAt);
}

/** False if it was stopped before the end. */
async function updateLake(
  { context: { database, logger }, stop }: DaemonContext,
  { location, onAnswer, ...round }: LakeRound,
): Promise<boolean> {
  const available = await loadDatasets();
  const tables = tablesOf(available, available);
  const range = { from: 0, to: round.now };
  let parts = 0;
  const onPart = (_: string, __: unknown, isWritten: boolean) => {
    onAnswer();
    parts += isWritten ? 1 : 0;
  };
  const isWhole = await withLake({ location, signal: stop.leaving }, (lake) =>
    exportLake({ lake, database, tables, range, stop, ...round, onPart }),
  );
  logger.debug({ lake: location, parts }, 'lake brought up to date');
  return isWhole;
}

/**
 * The stored outcome of the last round. It is stored from the first round on, so that a round that never ends
 * is visible.
 */
async function stateOf(
  { database }: DaemonContext['context'],
  location: string,
  now: number,
): Promise<Settings['lake']> {
  const state = await readSetting(database, 'lake');
  if (state?.location === location) return state;
  const first = { location, begunAt: now, upTo: null, renewedAt: null, error: null };
  await keepSetting(database, 'lake', first);
  return first;
}
