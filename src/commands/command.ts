import { systemClock } from '../clock.ts';
import { readConfig, type Config } from '../config.ts';
import { EtlError, EXIT, IncompleteError, isAbort, type ExitCode } from '../errors.ts';
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
    const config = readConfig();
    const logger = createLogger({ level: config.logLevel, format: config.logFormat });
    ignoreOtherSignals(logger);
    process.exitCode = await command({ config, logger, now: Math.floor(systemClock.now() / 1000) });
  } catch (thrown) {
    const error = isAbort(thrown) ? stoppedEarly() : thrown;
    reportError(error);
    process.exitCode = error instanceof EtlError ? error.exitCode : EXIT.failed;
  }
}

/** What a signal or a deadline ends is a wait of which nothing could be kept: no command aborts anything else. */
function stoppedEarly(): IncompleteError {
  return new IncompleteError('stopped before it was done', {
    hint: 'What was committed is kept. Run it again, with a later --deadline where there was one.',
  });
}
