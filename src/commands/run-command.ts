import { openStore, type Store } from '../app/open-store.ts';
import { systemClock, unixSeconds, outlastDatabase } from '../clock.ts';
import { faultOfName } from '../dataset/dataset.ts';
import { datasetNames } from '../dataset/load-jobs.ts';
import {
  codeOf,
  EtlError,
  EXIT,
  type ExitCode,
  IncompleteError,
  isAbort,
  RAISE_FILE_LIMIT,
  UsageError,
} from '../errors.ts';
import { createLogger, type Logger } from '../logger.ts';
import { formatDuration } from '../range.ts';
import { type Config, readConfig } from '../settings/config.ts';
import { withCommands } from '../terminal/program-name.ts';
import { endedAfter, FINISHING_MS, ignoreOtherSignals, type Stop, stopOnSignals } from '../stop.ts';

/** The arguments of every command. */
export interface Invocation {
  readonly config: Config;
  readonly logger: Logger;
  /** Unix seconds at the start. */
  readonly now: number;
}

/**
 * Runs a command and sets the process' exit code: the command's, or its error's. Errors are reported only here: one
 * sentence, and what to do next.
 */
export async function runCommand(command: (invocation: Invocation) => Promise<ExitCode>): Promise<void> {
  try {
    const names = await datasetNames();
    const faultOfDataset = (name: string) => faultOfName(name, names)?.message;
    const config = readConfig(undefined, undefined, { faultOfDataset });
    const logger = createLogger({ level: config.logLevel, format: config.logFormat });
    logWarnings(logger);
    for (const { what, remedy } of config.warnings)
      logger.warn({ what, hint: remedy }, 'a setting has no effect');
    ignoreOtherSignals(logger);
    process.exitCode = await command({ config, logger, now: unixSeconds(systemClock) });
  } catch (thrown) {
    const error = explained(thrown);
    reportError(error);
    process.exitCode = error instanceof EtlError ? error.exitCode : EXIT.failed;
  }
}

function logWarnings(logger: Logger): void {
  process.removeAllListeners('warning').on('warning', ({ name, message }) => {
    logger.warn({ code: name, reason: message }, 'Node.js warning');
  });
}

function explained(thrown: unknown): unknown {
  // A signal or a deadline ended a wait before anything was done. Commands abort nothing else.
  if (isAbort(thrown))
    return new IncompleteError('stopped before it was done', {
      hint: 'What was committed is kept. Run it again, with a longer --deadline if you gave one.',
    });
  // Happens mostly while a command is loaded, which consists of many files.
  if (/^E[MN]FILE$/.test(codeOf(thrown) ?? ''))
    return new UsageError('too many open files: this process needs more than it may open', {
      hint: RAISE_FILE_LIMIT,
    });
  return thrown;
}

/**
 * Prints an error and what to do about it. An unexpected error is a bug, and keeps its stack for the report, unless the
 * system refused to read or write a file.
 */
export function reportError(error: unknown): void {
  if (!(error instanceof EtlError)) {
    const isOfSystem = error instanceof Error && 'syscall' in error;
    console.error(isOfSystem ? `error: ${error.message}\nhint: ${FILE_HINT}` : error);
    return;
  }
  console.error(`error: ${withCommands(error.message)}`);
  if (error.hint !== undefined) console.error(`hint: ${withCommands(error.hint)}`);
}

/** The system's message names the file. */
const FILE_HINT = 'Look at the free space, and at the rights of this user. What was committed is kept.';

/** Runs `work` with something that was opened, and closes it in any case. */
export async function closeAfter<O extends { close(): Promise<unknown> }, T>(
  opened: O,
  work: (opened: O) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Runs a command that a signal or the deadline can stop, and removes the listeners when it has ended. */
export async function withStop<T>(
  logger: Logger,
  work: (stop: Stop) => Promise<T>,
  deadlineMs?: number,
): Promise<T> {
  const signals = stopOnSignals(logger);
  let hasEnded = false;
  /**
   * At the deadline the current page may be finished, as after a first Ctrl-C. But if the API does not answer, that is
   * limited to FINISHING_MS.
   */
  const until = (ms: number): Stop => ({
    finishing: endedAfter(signals.finishing, ms, () => {
      if (hasEnded || signals.finishing.aborted) return;
      const hint = 'What was read is kept. The same command continues from there.';
      reportError(new IncompleteError(`--deadline of ${formatDuration(ms / 1000)} reached`, { hint }));
    }),
    leaving: endedAfter(signals.leaving, ms + FINISHING_MS),
  });
  try {
    return await work(deadlineMs === undefined ? signals : until(deadlineMs));
  } finally {
    hasEnded = true;
    signals.dispose();
  }
}

interface StoreNeeds extends Pick<Invocation, 'config' | 'logger'> {
  /** True: the schema is brought up to date. Default: it must be up to date. */
  readonly migrates?: boolean;
  /** Ends waits for a database that cannot be reached. */
  readonly signal?: AbortSignal;
}

/**
 * Opens the database, runs `work` with it, and closes it in any case. If the database becomes unreachable, it waits
 * and repeats the work, which must lead to the same state however often it is repeated. `name` is the connection's
 * name in pg_stat_activity.
 */
export function withStore<T>(
  needs: StoreNeeds,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  return withStoreOnce(needs, name, (store) => doAgain(needs, () => work(store)));
}

/** Like `withStore`, for work that must not be repeated: a user's statement, or output that was read already. */
export async function withStoreOnce<T>(
  { config, logger, migrates = false }: StoreNeeds,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, logger, name, { migrates });
  const stopListening = endByItself(store);
  return closeAfter(store, () => work(store)).finally(stopListening);
}

/** Repeats a command's work if the database became unreachable meanwhile, within `ETL_ATTEMPTS`. */
function doAgain<T>(
  { config, logger, signal = new AbortController().signal }: StoreNeeds,
  work: () => Promise<T>,
): Promise<T> {
  const { attempts } = config;
  return outlastDatabase({ clock: systemClock, random: Math.random, attempts, logger, signal }, work);
}

/** On a signal, a command that has nothing to finish ends at once, after it has closed the embedded server. */
function endByItself(store: Store): () => void {
  const signals: readonly NodeJS.Signals[] =
    store.embedded === undefined ? [] : ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const stopListening = () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    // Other listeners exist if there is something to finish, or if the signal has no meaning.
    if (process.listenerCount(signal) > 1) return;
    const end = () => {
      stopListening();
      process.kill(process.pid, signal);
    };
    store.abandon().then(end, end);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return stopListening;
}

/** What a command that uses the API works with. */
export interface OpenedHost {
  readonly store: Store;
  /** The API's base URL. For `demo` it is a simulator in this process. */
  readonly baseUrl: string;
  readonly stop: Stop;
}

/** Opens the API for a command that has opened its database already. */
export function withHost<T>(
  invocation: Invocation,
  store: Store,
  work: (opened: OpenedHost) => Promise<T>,
): Promise<T> {
  return withStop(invocation.logger, (stop) => askHost(invocation, { store, stop, demo: 'still' }, work));
}

/** Opens the API, runs `work` with it, and closes it in any case. `demo` chooses the simulated network. */
export async function askHost<T>(
  { config }: Invocation,
  { store, stop, demo }: Omit<OpenedHost, 'baseUrl'> & { readonly demo: 'still' | 'live' },
  work: (opened: OpenedHost) => Promise<T>,
): Promise<T> {
  // Loaded only here: it is most of the program, and commands that only read the database do not need it.
  const { openSource } = await import('../app/open-crawl.ts');
  return closeAfter(await openSource(config, store, demo), ({ baseUrl }) => work({ store, stop, baseUrl }));
}

interface Needs {
  readonly applicationName?: string;
  /** True: the schema is brought up to date. `if new`: it is created if there is none. Default: it must be up to date. */
  readonly migrates?: boolean | 'if new';
  /** Called while the server migrates, if something is pending. */
  readonly meanwhile?: () => void;
  readonly deadlineMs?: number | undefined;
  /** True: if the database becomes unreachable, the work is repeated, which must lead to the same state. */
  readonly isRepeatable?: boolean;
}

/** Opens the database and the API, runs `work` with them, and closes both in any case. */
export function withSource(
  invocation: Invocation,
  { applicationName, migrates = false, meanwhile, deadlineMs, isRepeatable = false }: Needs,
  work: (opened: OpenedHost) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { config, logger } = invocation;
  const run = async (stop: Stop) => {
    const store = await openStore(config, logger, applicationName, { migrates, meanwhile });
    const ask = () => askHost(invocation, { store, stop, demo: 'still' }, work);
    const repeating = { config, logger, signal: stop.finishing };
    return closeAfter(store, isRepeatable ? () => doAgain(repeating, ask) : ask);
  };
  return withStop(logger, run, deadlineMs);
}
