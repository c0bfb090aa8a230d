import { openStore, type Store } from '../app/open-store.ts';
import { systemClock, unixSeconds } from '../clock.ts';
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
import { outlastDatabase } from '../retry.ts';
import { type Config, readConfig } from '../settings/config.ts';
import { endedAfter, FINISHING_MS, ignoreOtherSignals, type Stop, stopOnSignals } from '../stop.ts';

/** What every command is given. */
export interface Invocation {
  readonly config: Config;
  readonly logger: Logger;
  /** Unix seconds at the start. */
  readonly now: number;
}

/**
 * Runs a command and sets the process' exit code: its own, or its error's. The error is reported here and nowhere else:
 * one sentence, and what to do next.
 */
export async function runCommand(command: (invocation: Invocation) => Promise<ExitCode>): Promise<void> {
  try {
    const names = await datasetNames();
    const config = readConfig(undefined, undefined, {
      faultOfDataset: (name) => faultOfName(name, names)?.message,
    });
    const logger = createLogger({ level: config.logLevel, format: config.logFormat });
    logWarnings(logger);
    for (const { what, remedy } of config.warnings)
      logger.warn({ what, hint: remedy }, 'a setting has no effect');
    ignoreOtherSignals(logger);
    process.exitCode = await command({ config, logger, now: unixSeconds(systemClock) });
  } catch (thrown) {
    const error = isAbort(thrown) ? stoppedEarly() : isOutOfFiles(thrown) ? outOfFiles() : thrown;
    reportError(error);
    process.exitCode = error instanceof EtlError ? error.exitCode : EXIT.failed;
  }
}

/** Warnings of Node and of packages are records of the log as any other, not text between them. */
function logWarnings(logger: Logger): void {
  process.removeAllListeners('warning').on('warning', ({ name, message }) => {
    logger.warn({ code: name, reason: message }, 'Node warns');
  });
}

function isOutOfFiles(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === 'EMFILE' || code === 'ENFILE';
}

/** Mostly while a command is loaded: it is in many files. */
function outOfFiles(): UsageError {
  return new UsageError('this process may not open as many files as it needs', {
    hint: RAISE_FILE_LIMIT,
  });
}

/** What a signal or a deadline ends is a wait of which nothing could be kept: no command aborts anything else. */
function stoppedEarly(): IncompleteError {
  return new IncompleteError('stopped before it was done', {
    hint: 'What was committed is kept. Run it again, with a later --deadline where there was one.',
  });
}

/** Prints an error and what to do about it. One that nobody foresaw keeps its stack: it is a bug, and its report needs the stack. */
export function reportError(error: unknown): void {
  if (!(error instanceof EtlError)) {
    console.error(error);
    return;
  }
  console.error(`error: ${error.message}`);
  if (error.hint !== undefined) console.error(`hint: ${error.hint}`);
}

/** Works with something that was opened, and closes it however that ends. */
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

/** Lets a command work until a signal or the deadline tells it to stop, and listens no longer once it has ended. */
export async function withStop<T>(
  logger: Logger,
  work: (stop: Stop) => Promise<T>,
  deadlineMs?: number,
): Promise<T> {
  const signals = stopOnSignals(logger);
  let hasEnded = false;
  const onDeadline = () => {
    if (!hasEnded && !signals.finishing.aborted) reportDeadline(deadlineMs ?? 0);
  };
  try {
    return await work(withDeadline(signals, deadlineMs, onDeadline));
  } finally {
    hasEnded = true;
    signals.dispose();
  }
}

function reportDeadline(ms: number): void {
  const hint = 'What was read is kept; the same command goes on from there.';
  reportError(new IncompleteError(`the ${formatDuration(ms / 1000)} of --deadline are over`, { hint }));
}

/** At the deadline the page in hand may be finished, as at a first Ctrl-C; an API that is away would hold it for long. */
function withDeadline(stop: Stop, ms: number | undefined, onDeadline: () => void): Stop {
  if (ms === undefined) return stop;
  return {
    finishing: endedAfter(stop.finishing, ms, onDeadline),
    leaving: endedAfter(stop.leaving, ms + FINISHING_MS),
  };
}

interface Surroundings extends Pick<Invocation, 'config' | 'logger'> {
  /** True: the command brings the schema up to date. Default: the database must have it. */
  readonly migrates?: boolean;
  /** Ends the waits for a database that is away. */
  readonly signal?: AbortSignal;
}

/**
 * Opens the database, lets a command work with it, and closes it however that ends. Where the database goes away in the
 * middle, it is waited for and the work begins anew: it is to end in the same state however often it is done. `name` is
 * the one that Postgres shows for the connection.
 */
export function withStore<T>(
  around: Surroundings,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  return withStoreOnce(around, name, (store) => doAgain(around, () => work(store)));
}

/** As `withStore`, for what must not be done twice: a user's statement, or lines that somebody has read already. */
export async function withStoreOnce<T>(
  { config, logger, migrates = false }: Surroundings,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, logger, name, { migrates });
  const stopListening = endByItself(store);
  return closeAfter(store, () => work(store)).finally(stopListening);
}

/** Does a command's work, and does it anew where the database went away in its middle, within `ETL_ATTEMPTS`. */
function doAgain<T>(
  { config, logger, signal = new AbortController().signal }: Surroundings,
  work: () => Promise<T>,
): Promise<T> {
  const { attempts } = config;
  return outlastDatabase({ clock: systemClock, random: Math.random, attempts, logger, signal }, work);
}

/** A command without a page in hand ends at once at a signal, but it leaves no embedded server behind. */
function endByItself(store: Store): () => void {
  const signals: readonly NodeJS.Signals[] =
    store.embedded === undefined ? [] : ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const stopListening = () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    // Others listen too where there is something to be finished, or where the signal means nothing.
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

/** What a command that asks the API is given to work with. */
export interface OpenedHost {
  readonly store: Store;
  /** The API's host, of which `demo` is a simulator in this process. */
  readonly baseUrl: string;
  readonly stop: Stop;
}

/** Opens the API's host for a command that has its database, and finds out only late that it must ask. */
export function withHost<T>(
  invocation: Invocation,
  store: Store,
  work: (opened: OpenedHost) => Promise<T>,
): Promise<T> {
  return withStop(invocation.logger, (stop) => askHost(invocation, { store, stop, demo: 'still' }, work));
}

/** Opens the API's host, works, and closes it however that ends. `demo` says which network that means. */
export async function askHost<T>(
  { config }: Invocation,
  { store, stop, demo }: Omit<OpenedHost, 'baseUrl'> & { readonly demo: 'still' | 'live' },
  work: (opened: OpenedHost) => Promise<T>,
): Promise<T> {
  // Most of the program: commands that read the database alone do without it.
  const { openSource } = await import('../app/open-crawl.ts');
  return closeAfter(await openSource(config, store, demo), ({ baseUrl }) => work({ store, stop, baseUrl }));
}

interface Needs {
  readonly applicationName?: string;
  /** True: the schema is brought up to date. Default: the database must have it. */
  readonly migrates?: boolean;
  /** Called while the server migrates, if something is pending. */
  readonly meanwhile?: () => void;
  readonly deadlineMs?: number | undefined;
  /** True: if the database goes away in the middle, the work is done again, which must end in the same state. */
  readonly isRepeatable?: boolean;
}

/** Opens the database and the API's host, lets a command work with them, and closes both however it ends. */
export function withSource(
  invocation: Invocation,
  { applicationName, migrates = false, meanwhile, deadlineMs, isRepeatable = false }: Needs,
  work: (opened: OpenedHost) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { config, logger } = invocation;
  const run = async (stop: Stop) => {
    const store = await openStore(config, logger, applicationName, { migrates, meanwhile });
    const ask = () => askHost(invocation, { store, stop, demo: 'still' }, work);
    const around = { config, logger, signal: stop.finishing };
    return closeAfter(store, isRepeatable ? () => doAgain(around, ask) : ask);
  };
  return withStop(logger, run, deadlineMs);
}
