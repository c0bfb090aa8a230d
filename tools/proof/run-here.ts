import type { Invocation } from '../../src/commands/run-command.ts';
import { readConfig } from '../../src/settings/config.ts';
import { EtlError, type ExitCode } from '../../src/errors.ts';
import { createLogger } from '../../src/logger.ts';

/** How a command ended. */
export interface CommandResult {
  /** Undefined if it threw an error that is not the program's own. */
  readonly code: ExitCode | undefined;
  /** What it printed, and the error that ended it, a line each. */
  readonly lines: readonly string[];
}

/** The database and the source of a command. */
export interface CommandTarget {
  readonly url: string;
  readonly source: string;
}

const level = process.env['PROOF_LOG'] ?? 'silent';
const logger = createLogger({ level, format: 'json' });

/** Runs a command of the program in this process: a separate one would take most of its time to load. */
export async function runHere(
  { url, source }: CommandTarget,
  command: (invocation: Invocation) => Promise<ExitCode>,
): Promise<CommandResult> {
  const config = readConfig(
    {
      DATABASE_URL: url,
      TONCENTER_NETWORK: source,
      TONCENTER_RPS: '1000',
      ETL_WATERMARK_DELAY: '0s',
      ETL_ATTEMPTS: '3',
      LOG_LEVEL: level,
      LOG_FORMAT: 'json',
    },
    '/nowhere',
  );
  const lines: string[] = [];
  const { log, error: complain } = console;
  console.log = (...words: unknown[]) => void lines.push(words.map(String).join(' '));
  console.error = console.log;
  try {
    const code = await command({ config, logger, now: Math.floor(Date.now() / 1000) });
    return { code, lines };
  } catch (error) {
    if (error instanceof EtlError) return { code: error.exitCode, lines: [...lines, error.message] };
    return {
      code: undefined,
      lines: [...lines, error instanceof Error ? (error.stack ?? error.message) : String(error)],
    };
  } finally {
    console.log = log;
    console.error = complain;
  }
}
