import { openStore, type Store } from '../app/store.ts';
import { systemClock } from '../clock.ts';
import { EXIT, isAbort, messageOf, ServerChangedError, type ExitCode } from '../errors.ts';
import { outlast, OUTAGE, retry } from '../retry.ts';
import type { Stop } from '../stop.ts';
import type { Invocation } from './command.ts';
import { askHost, type OpenedHost } from './with-host.ts';
import { doAgain } from './with-store.ts';
import { withStop } from './with-stop.ts';
import { closeAfter } from './close-after.ts';

interface Needs {
  /** Which network `demo` means. */
  readonly demo: 'still' | 'live';
  readonly applicationName?: string;
  /** True: the schema is brought up to date. Default: the database must have it. */
  readonly migrates?: boolean;
  /** Called while the server migrates, where something is pending. */
  readonly meanwhile?: () => void;
  readonly deadlineMs?: number | undefined;
  /** True: the work ends in the same state however often it is done, and is done anew where the database went away in its middle. */
  readonly isRepeatable?: boolean;
  /**
   * True: a database that is away is waited for, however long, and work that ended because another server had taken its
   * place begins anew; stopped meanwhile, the command has done its work.
   */
  readonly isPatient?: boolean;
}

/** Opens the database and the API's host, lets a command work with them, and closes both however it ends. */
export async function withSource(
  invocation: Invocation,
  needs: Needs,
  work: (opened: OpenedHost) => Promise<ExitCode>,
): Promise<ExitCode> {
  const run = async (stop: Stop) => {
    const store = await openOrWait(invocation, needs, stop.finishing);
    if (store === undefined) return EXIT.done;
    const ask = () => askHost(invocation, { store, stop, demo: needs.demo }, work);
    const around = { ...invocation, signal: stop.finishing };
    return closeAfter(store, needs.isRepeatable === true ? () => doAgain(around, ask) : ask);
  };
  const runOnEach = needs.isPatient === true ? (stop: Stop) => onEachServer(invocation, stop, run) : run;
  return withStop(invocation.logger, runOnEach, needs.deadlineMs);
}

/** Runs, and runs anew each time that another server has taken the place of the one that it wrote to. */
async function onEachServer(
  { logger }: Invocation,
  stop: Stop,
  run: (stop: Stop) => Promise<ExitCode>,
): Promise<ExitCode> {
  const context = { clock: systemClock, random: Math.random, attempts: Infinity, signal: stop.finishing };
  const when = (error: unknown) => error instanceof ServerChangedError;
  const onRetry = ({ error }: { readonly error: unknown }) =>
    logger.warn({ reason: messageOf(error) }, 'another server: all is read from it, and work begins anew');
  try {
    return await retry({ ...OUTAGE, ...context, when, onRetry }, () => run(stop));
  } catch (error) {
    if (stop.finishing.aborted && isAbort(error)) return EXIT.done;
    throw error;
  }
}

/** Opens the database, or waits until it is there; undefined where the command is stopped meanwhile. */
async function openOrWait(
  { config, logger }: Invocation,
  { applicationName, migrates = false, meanwhile, isPatient = false }: Needs,
  signal: AbortSignal,
): Promise<Store | undefined> {
  const open = (attempts: number) =>
    openStore({ ...config, attempts }, logger, applicationName, { migrates, meanwhile });
  if (!isPatient) return open(config.attempts);
  const waiting = { clock: systemClock, random: Math.random, attempts: Infinity, logger, signal };
  return outlast(waiting, 'the database', () => open(1));
}
