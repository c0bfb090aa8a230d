import { systemClock, unixSeconds } from '../clock.ts';
import { readConfig, type Config } from '../settings/config.ts';
import {
  codeOf,
  EtlError,
  EXIT,
  IncompleteError,
  isAbort,
  RAISE_FILE_LIMIT,
  UsageError,
  type ExitCode,
} from '../errors.ts';
import { faultOfName } from '../dataset/dataset.ts';
import { datasetNames } from '../dataset/load-jobs.ts';
import { createLogger, type Logger } from '../logger.ts';
import { ignoreOtherSignals } from '../stop.ts';
import { reportError } from './output/report-error.ts';

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
